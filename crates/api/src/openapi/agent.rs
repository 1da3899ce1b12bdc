//! Describes the operations on agent jobs.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use store::{PromptError, Usage};
use wire::{
    AgentJob, CreateJob, FollowUp, JobCreator, JobEvent, JobList, JobPull, ModelMessage, Source,
    TranscriptLine,
};

use super::operation::Operation;
use super::parameters::{header, paging, query};
use super::response::Response;
use crate::error::ApiError;

const TAG: &str = "Agent jobs";
/// The operations that take the id of a job.
const JOB_OPERATIONS: [&str; 7] =
    ["getJob", "messageJob", "archiveJob", "listEvents", "getDiff", "getPull", "getTranscript"];

pub(crate) fn create_job() -> Operation {
    let response = Response::json::<AgentJob>(201, "The job is on disk, and `active`.", job())
        .header("Location")
        .header("Idempotent-Replay")
        .rate_limited()
        .links_to(&JOB_OPERATIONS, "$response.body#/id");
    Operation::new(TAG, "createJob", "Start a job")
        .description("An agent edits the docs repository in the background, and opens a pull request. Poll the job until it's no longer `active`.")
        .needs_key()
        .needs_write_scope()
        .idempotent()
        .body::<CreateJob>(json!({ "prompt": "Fix the broken links in the guides" }))
        .response(response)
        .errors([
            ApiError::BadPrompt(PromptError::Empty),
            ApiError::BadPrompt(PromptError::TooManyQuotations(21)),
            ApiError::invalid("invalid_branch", "branch: the branch name `a b` must have no spaces, control characters or any of ~^:?*[\\"),
            ApiError::invalid("invalid_model", "model must be one that the project allows: offline"),
            invalid_idempotency_key(),
            limit_reached(100),
        ])
}

pub(crate) fn get_job() -> Operation {
    job_operation("getJob", "Get a job")
        .parameter(header(
            "If-None-Match",
            json!({ "type": "string" }),
            "The `ETag` of the response that you have.",
        ))
        .response(Response::json::<AgentJob>(200, "The job.", job()).header("ETag"))
        .response(Response::empty(304, "Nothing changed.").header("ETag"))
}

pub(crate) fn list_jobs() -> Operation {
    let [limit, offset] = paging(100, 20);
    let status = json!({ "type": "string", "enum": ["active", "completed", "archived", "failed"] });
    let pull = json!({ "type": "string", "enum": ["open", "merged", "closed", "none"] });
    let list = json!({ "jobs": [job()], "hasMore": false });
    let response = Response::json::<JobList>(200, "The jobs, newest first.", list).header("Link");
    Operation::new(TAG, "listJobs", "List jobs")
        .needs_key()
        .parameter(limit)
        .parameter(offset)
        .parameter(query("status", status, "Only jobs with this status."))
        .parameter(query("pull", pull, "Only jobs whose pull request has this state, or that have none. A failed job can have an open one."))
        .response(response)
        .errors([invalid_limit(100)])
}

pub(crate) fn message_job() -> Operation {
    let body = json!({ "prompt": "Also use British spelling there" });
    let response = Response::json::<AgentJob>(200, "The job, `active` again.", job())
        .header("Idempotent-Replay")
        .rate_limited();
    job_operation("messageJob", "Send a follow-up")
        .description("Continues the job on the same branch and pull request. If the job is running, it reads the follow-up before it ends.")
        .needs_write_scope()
        .idempotent()
        .body::<FollowUp>(body)
        .response(response)
        .errors([
            ApiError::BadPrompt(PromptError::Empty),
            ApiError::BadPrompt(PromptError::TooManyQuotations(21)),
            ApiError::Conflict("the job is archived; create a new job".into()),
            invalid_idempotency_key(),
            limit_reached(100),
        ])
}

pub(crate) fn archive_job() -> Operation {
    job_operation("archiveJob", "Archive a job")
        .description("Stops the job permanently, and responds when its worker released it. The job opens no pull request after that. A pull request that is already open stays open.")
        .needs_write_scope()
        .response(Response::json::<AgentJob>(200, "The job, `archived`.", job()))
}

pub(crate) fn list_events() -> Operation {
    let events = Response::array::<JobEvent>(
        200,
        "The events. With `Accept: text/event-stream`, they're a stream.",
        event(),
    )
    .content(
        "text/event-stream",
        json!({ "type": "string" }),
        json!(format!("id: 1\nevent: created\ndata: {}\n\n", event())),
    );
    job_operation("listEvents", "List or stream events")
        .description("Returns all events so far. With `Accept: text/event-stream`, streams events as they happen, until the job ends. The last event of a run is `ended`, with `reason`, `report`, `checks`, and `usage`: the tokens, and the `cost` if the run used a model that has prices.")
        .parameter(header("Last-Event-ID", json!({ "type": "string" }), "For a stream: continue after the event with this number."))
        .response(events)
}

pub(crate) fn get_diff() -> Operation {
    let diff = "--- a/guide.md\n+++ b/guide.md\n@@ -1 +1 @@\n-Colour\n+Color\n";
    job_operation("getDiff", "Get the diff").response(Response::text(
        200,
        "The current change. Empty if there is none.",
        "text/x-diff",
        diff,
    ))
}

pub(crate) fn get_pull() -> Operation {
    let pull = json!(JobPull {
        state: "open".into(),
        number: Some(1),
        url: "https://docwright.example.com/p/prj_2bXq7LmZ/pulls/1".into(),
        head: "docwright/01a1dd26-4199-70ce-9396-3df47d75158f".into(),
        base: Some("main".into()),
        known_at: Some("2026-11-15T12:00:02.000Z".into()),
        checked_at: Some("2026-11-15T12:05:00.000Z".into()),
    });
    job_operation("getPull", "Get the pull request")
        .description("Returns the state of the job's pull request, whatever the status of the job is. The server asks the host at most every five seconds. If the host doesn't answer in time, this is the last known state.")
        .response(Response::json::<JobPull>(200, "The pull request.", pull))
        .errors([ApiError::NoPull])
}

pub(crate) fn get_transcript() -> Operation {
    let message = ModelMessage {
        number: 1,
        run: 1,
        at: Some("2026-11-15T12:00:00.200Z".into()),
        role: "user".into(),
        content: "<task>\nFix the broken links in the guides\n</task>\n".into(),
        ..ModelMessage::default()
    };
    let mut event = event();
    event["kind"] = json!("event");
    let lines = format!("{event}\n{}\n", json!(TranscriptLine::Message(message)));
    job_operation("getTranscript", "Get the transcript")
        .description("Returns the events and the conversation with the model so far, in the order in which they were stored, as one line of JSON each. If `kind` is `event`, the line has the fields of an event. If `kind` is `message`, it has `number`, `run`, `at`, `role` (`user`, `assistant`, or `tool`), and optionally `content`, `calls`, `results`, and `usage`.")
        .response(Response::text(200, "The transcript.", "application/x-ndjson", &lines))
        .errors([ApiError::Busy])
}

fn job_operation(id: &'static str, summary: &'static str) -> Operation {
    Operation::new(TAG, id, summary).needs_key().errors([ApiError::NoSuchJob])
}

pub(super) fn job() -> Value {
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
    let message = json!({ "message": "The job was created" });
    json!(JobEvent {
        number: 1,
        at: "2026-11-15T12:00:00.000Z".into(),
        r#type: "created".into(),
        data: message.as_object().cloned().unwrap_or_default(),
    })
}

pub(super) fn invalid_limit(max: u32) -> ApiError {
    ApiError::invalid("invalid_query", format!("limit must be between 1 and {max}, got 0"))
}

pub(super) fn invalid_idempotency_key() -> ApiError {
    ApiError::invalid(
        "invalid_idempotency_key",
        "Idempotency-Key must have 1 to 255 printable ASCII characters",
    )
}

pub(super) fn limit_reached(max: u32) -> ApiError {
    let resets_at = Timestamp::constant(1_794_834_000, 0);
    ApiError::LimitReached(Usage { max, left: 0, resets_at, left_for: SignedDuration::from_secs(1_800) })
}
