//! Tests whether jobs can use a model: sends what the agent would send, and reports how the model answers.

use crate::budget::Limits;
use crate::call_reader::{find_tool, read_calls_in_text};
use crate::fence::fence_task;
use crate::model::{
    Message, Model, ModelError, ModelRequest, Profile, Reply, StopReason, TokenLimits, Tool, Usage,
};
use crate::opening::system_prompt;
use crate::run::request_overhead;
use crate::sizes::Sizes;
use crate::tools::tools_for;

const TASK: &str =
    "Read the pages docs/install.md and docs/usage.md. Call the tool read twice in this answer.";
/// Requests until a size is found that the provider accepts.
const MAX_TRIES: u32 = 12;
/// With a smaller context, the full profile has no room for pages.
const SMALL_CONTEXT: u32 = 12_000;

/// The result of a test.
#[derive(Debug, Clone)]
pub struct Probe {
    pub ok: bool,
    pub sentence: String,
    /// What was found out. `None` if the model didn't answer.
    pub findings: Option<Findings>,
    /// The tokens of all requests.
    pub usage: Usage,
}

/// How a model answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Findings {
    pub tool_calls: bool,
    /// Several calls in one answer.
    pub parallel_calls: bool,
    /// The model writes its calls as text. They are understood.
    pub calls_as_text: bool,
    /// Tokens that one answer can have.
    pub max_output: u32,
    /// The context window in tokens, if the settings or the provider say it.
    pub context: Option<u32>,
    /// The profile that suits the model better than the one in the settings.
    pub better_profile: Option<Profile>,
}

/// Sends the system prompt, the tools and the limits that a job would send.
pub async fn probe(model: &dyn Model, profile: Profile) -> Probe {
    let mut usage = Usage::default();
    let first = match ask(model, profile, &mut usage).await {
        Ok(found) => found,
        Err(error) => return Probe { ok: false, sentence: error.to_string(), findings: None, usage },
    };
    let ((mut stop, mut findings), mut needs_small) = (first, false);
    if profile == Profile::Full && !findings.tool_calls && stop != StopReason::Refused {
        // Many small models call tools only with a short prompt.
        if let Ok((_, small)) = ask(model, Profile::Small, &mut usage).await
            && small.tool_calls
        {
            needs_small = true;
            (stop, findings) =
                (StopReason::Calls, Findings { better_profile: Some(Profile::Small), ..small });
        }
    } else if profile == Profile::Full && findings.context.is_some_and(|context| context < SMALL_CONTEXT) {
        findings.better_profile = Some(Profile::Small);
    }
    let (ok, sentence) = judge(&findings, stop, needs_small);
    Probe { ok, sentence, findings: Some(findings), usage }
}

async fn ask(
    model: &dyn Model,
    profile: Profile,
    usage: &mut Usage,
) -> Result<(StopReason, Findings), ModelError> {
    let (system, tools, known) = (system_prompt(profile), tools_for(profile), model.token_limits().await);
    let mut sizes = Sizes::new(&Limits::default(), known, profile, request_overhead(system, &tools));
    let message = Message::User(fence_task(TASK));
    let mut tries = 1;
    let reply = loop {
        let request = ModelRequest {
            system,
            messages: &[&message],
            tools: &tools,
            max_output: sizes.max_output,
            temperature: (profile == Profile::Small).then_some(0.0),
        };
        match model.reply(&request, &mut |_: &str| {}).await {
            Err(ModelError::TooLarge { refusal, .. })
                if tries < MAX_TRIES && sizes.lower(&refusal, TASK.len()) =>
            {
                tries += 1;
            }
            other => break other?,
        }
    };
    *usage += reply.usage;
    model.remember_limits(sizes.learned());
    Ok((reply.stop, findings(reply, &tools, &sizes)))
}

fn findings(reply: Reply, tools: &[Tool], sizes: &Sizes) -> Findings {
    let Reply { mut turn, stop, .. } = reply;
    let is_text = turn.calls.is_empty();
    read_calls_in_text(&mut turn, stop != StopReason::TooLong, false, tools, 0);
    let reads =
        turn.calls.iter().filter(|call| find_tool(tools, &call.name).is_some_and(|tool| tool.name == "read"));
    let calls = reads.count();
    let TokenLimits { context, .. } = sizes.learned();
    Findings {
        tool_calls: calls > 0,
        parallel_calls: calls > 1,
        calls_as_text: calls > 0 && is_text,
        max_output: sizes.max_output,
        context,
        better_profile: None,
    }
}

fn judge(findings: &Findings, stop: StopReason, needs_small: bool) -> (bool, String) {
    let small = "set profile = \"small\" for it";
    match (findings.tool_calls, findings.better_profile, stop) {
        (true, ..) if needs_small => {
            (false, format!("it calls tools only when the prompt is short: {small}"))
        }
        (true, Some(_), _) => (true, format!("it answers, and calls tools; its context is small: {small}")),
        (true, None, _) if findings.calls_as_text => {
            (true, "it answers, and calls tools as text, which works".into())
        }
        (true, None, _) => (true, "it answers, and calls tools".into()),
        (false, _, StopReason::Refused) => (false, "it answers, but refuses the test request".into()),
        (false, _, StopReason::TooLong) => {
            let limit = findings.max_output;
            (false, format!("it answers, but doesn't finish within {limit} tokens: choose another model"))
        }
        (false, ..) => (false, "it answers, but doesn't call tools: choose a model that does".into()),
    }
}
