//! What the operations on agent jobs do.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use store::{PromptError, Usage};
use wire::{
    AgentJob, CreateJob, FollowUp, JobCreator, JobEvent, JobList, JobMessage, Source, TranscriptLine,
};

use super::answer::Answer;
use super::operation::Operation;
use super::parameters::{header, pages, query};
use crate::error::ApiError;

const TAG: &str = "Agent jobs";
/// What can be done with a job whose id one has.
const WITH_A_JOB: [&str; 6] =
    ["getJob", "messageJob", "archiveJob", "listEvents", "getDiff", "getTranscript"];

pub(crate) fn create_job() -> Operation {
    let done = Answer::json::<AgentJob>(201, "The job, `active`; it is on disk.", job())
        .header("Location")
        .header("Idempotent-Replay")
        .counted()
        .leads_to(&WITH_A_JOB, "$response.body#/id");
    Operation::new(TAG, "createJob", "Start a job")
        .about("An agent edits the docs repository in the background and opens a pull request. Poll the job until it is no longer `active`.")
        .with_key()
        .writes()
        .idempotent()
        .body::<CreateJob>(json!({ "prompt": "Fix the broken links in the guides" }))
        .answers(done)
        .refuses([
            ApiError::BadPrompt(PromptError::Empty),
            ApiError::BadPrompt(PromptError::TooManyQuotations(21)),
            ApiError::invalid("invalid_branch", "branch: the branch name `a b` must have no spaces, control characters or any of ~^:?*[\\"),
            ApiError::invalid("invalid_model", "model must be one that the project allows: offline"),
            bad_key(),
            limit_reached(100),
        ])
}

pub(crate) fn get_job() -> Operation {
    about_a_job("getJob", "Poll a job")
        .parameter(header(
            "If-None-Match",
            json!({ "type": "string" }),
            "The `ETag` of the answer that one has.",
        ))
        .answers(Answer::json::<AgentJob>(200, "The job.", job()).header("ETag"))
        .answers(Answer::empty(304, "Nothing has changed.").header("ETag"))
}

pub(crate) fn list_jobs() -> Operation {
    let [limit, offset] = pages(100, 20);
    let status = json!({ "type": "string", "enum": ["active", "completed", "archived", "failed"] });
    let list = json!({ "jobs": [job()], "hasMore": false });
    let done = Answer::json::<JobList>(200, "The jobs, newest first.", list).header("Link");
    Operation::new(TAG, "listJobs", "List jobs")
        .with_key()
        .parameter(limit)
        .parameter(offset)
        .parameter(query("status", status, "Only those."))
        .answers(done)
        .refuses([bad_query(100)])
}

pub(crate) fn message_job() -> Operation {
    let again = json!({ "prompt": "Use British spelling there, too" });
    let done = Answer::json::<AgentJob>(200, "The job, `active` again.", job())
        .header("Idempotent-Replay")
        .counted();
    about_a_job("messageJob", "Follow up")
        .about("Goes on with the job, on the same branch and pull request. A message to a running job is read before it ends.")
        .writes()
        .idempotent()
        .body::<FollowUp>(again)
        .answers(done)
        .refuses([
            ApiError::BadPrompt(PromptError::Empty),
            ApiError::BadPrompt(PromptError::TooManyQuotations(21)),
            ApiError::Conflict("the job is archived; create a new job".into()),
            bad_key(),
            limit_reached(100),
        ])
}

pub(crate) fn archive_job() -> Operation {
    about_a_job("archiveJob", "Archive a job")
        .about("Stops the job for good, and answers when its worker has let go. No pull request is opened after that; one that is open stays.")
        .writes()
        .answers(Answer::json::<AgentJob>(200, "The job, `archived`.", job()))
}

pub(crate) fn list_events() -> Operation {
    let events =
        Answer::array::<JobEvent>(200, "The events; as a stream with `Accept: text/event-stream`.", event())
            .content(
                "text/event-stream",
                json!({ "type": "string" }),
                json!(format!("id: 1\nevent: created\ndata: {}\n\n", event())),
            );
    about_a_job("listEvents", "See what happens")
        .about("All events so far; or, with `Accept: text/event-stream`, events as they happen, until the job ends. The last one of a run is `ended`, with `reason`, `report`, `checks` and `usage`: tokens, and `cost` when the model was asked and has prices.")
        .parameter(header("Last-Event-ID", json!({ "type": "string" }), "Of a stream: go on after this number."))
        .answers(events)
}

pub(crate) fn get_diff() -> Operation {
    let diff = "--- a/guide.md\n+++ b/guide.md\n@@ -1 +1 @@\n-Colour\n+Color\n";
    about_a_job("getDiff", "See what was changed").answers(Answer::text(
        200,
        "The change as it stands; empty as long as there is none.",
        "text/x-diff",
        diff,
    ))
}

pub(crate) fn get_transcript() -> Operation {
    let said = JobMessage {
        number: 1,
        run: 1,
        at: Some("2026-11-15T12:00:00.200Z".into()),
        role: "user".into(),
        content: "<task>\nFix the broken links in the guides\n</task>\n".into(),
        ..JobMessage::default()
    };
    let mut event = event();
    event["kind"] = json!("event");
    let lines = format!("{event}\n{}\n", json!(TranscriptLine::Message(said)));
    about_a_job("getTranscript", "Read what was said")
        .about("Everything so far, a line of JSON each, in the order in which it was written down. `kind` is `event`, with the fields of an event; or `message`, with `number`, `run`, `at`, `role` (`user`, `assistant`, `tool`), and as there are `content`, `calls`, `results` and `usage`.")
        .answers(Answer::text(200, "The transcript.", "application/x-ndjson", &lines))
        .refuses([ApiError::Busy])
}

fn about_a_job(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(TAG, id, summary).with_key().refuses([ApiError::NoSuchJob])
}

fn job() -> Value {
    let project = "https://docwright.example.com/p/prj_2bXq7LmZ";
    json!(AgentJob {
        id: "01a1dd26-4199-70ce-9396-3df47d75158f".into(),
        status: "active".into(),
        source: Source {
            repository: project.into(),
            r#ref: "docwright/01a1dd26-4199-70ce-9396-3df47d75158f".into(),
        },
        model: "offline".into(),
        pr_link: None,
        created_at: "2026-11-15T12:00:00.000Z".into(),
        archived_at: None,
        created_by: Some(JobCreator {
            r#type: "apiKey".into(),
            name: "CI".into(),
            key_prefix: Some("dw_Xk2p".into()),
        }),
    })
}

fn event() -> Value {
    let message = json!({ "message": "The job waits for a worker" });
    json!(JobEvent {
        number: 1,
        at: "2026-11-15T12:00:00.000Z".into(),
        r#type: "created".into(),
        data: message.as_object().cloned().unwrap_or_default(),
    })
}

pub(super) fn bad_query(most: u32) -> ApiError {
    ApiError::invalid("invalid_query", format!("limit must be between 1 and {most}, got 0"))
}

fn bad_key() -> ApiError {
    ApiError::invalid("invalid_idempotency_key", "Idempotency-Key must be 1 to 255 printable characters")
}

pub(super) fn limit_reached(most: u32) -> ApiError {
    let resets_at = Timestamp::constant(1_794_834_000, 0);
    ApiError::LimitReached(Usage {
        max: most,
        left: 0,
        resets_at,
        left_for: SignedDuration::from_secs(1_800),
    })
}
