//! Recognizes AI assistants as referrers: the host that a reader comes from, or `utm_source` of the page's URL.

/// The host of an assistant, its operator as in the table of agents, and further values of `utm_source`.
struct Assistant(&'static str, &'static str, &'static [&'static str]);

static ASSISTANTS: [Assistant; 22] = [
    Assistant("chatgpt.com", "OpenAI", &["chatgpt", "openai"]),
    Assistant("chat.openai.com", "OpenAI", &[]),
    Assistant("claude.ai", "Anthropic", &["claude"]),
    Assistant("perplexity.ai", "Perplexity", &["perplexity"]),
    Assistant("gemini.google.com", "Google", &["gemini"]),
    Assistant("bard.google.com", "Google", &[]),
    Assistant("notebooklm.google.com", "Google", &["notebooklm"]),
    Assistant("aistudio.google.com", "Google", &[]),
    Assistant("copilot.microsoft.com", "Microsoft", &["copilot", "copilot.com"]),
    Assistant("copilot.cloud.microsoft", "Microsoft", &[]),
    Assistant("you.com", "You", &[]),
    Assistant("phind.com", "phind", &["phind"]),
    Assistant("chat.mistral.ai", "Mistral AI", &[]),
    Assistant("chat.deepseek.com", "DeepSeek", &["deepseek"]),
    Assistant("grok.com", "xAI", &["grok"]),
    Assistant("meta.ai", "Meta", &[]),
    Assistant("kimi.com", "Moonshot AI", &[]),
    Assistant("kimi.moonshot.cn", "Moonshot AI", &[]),
    Assistant("duck.ai", "DuckDuckGo", &[]),
    Assistant("poe.com", "Quora", &[]),
    Assistant("chat.qwen.ai", "Alibaba", &[]),
    Assistant("andisearch.com", "Andi", &[]),
];

/// The operator of the assistant at this host.
pub(crate) fn operator_of_host(host: &str) -> Option<&'static str> {
    let host = host.strip_prefix("www.").unwrap_or(host);
    ASSISTANTS.iter().find(|assistant| assistant.0 == host).map(|assistant| assistant.1)
}

/// The host of the assistant that `utm_source` of a URL names. Other values are ignored, so that no text of
/// a query is stored.
pub(crate) fn host_of_url(url: &str) -> Option<&'static str> {
    let query = url.split('#').next()?.split_once('?')?.1;
    let source = query.split('&').find_map(|pair| pair.strip_prefix("utm_source="))?;
    let source = source.to_ascii_lowercase();
    let source = source.strip_prefix("www.").unwrap_or(&source);
    let named = |assistant: &&Assistant| assistant.0 == source || assistant.2.contains(&source);
    ASSISTANTS.iter().find(named).map(|assistant| assistant.0)
}

/// Every operator of an assistant, once.
pub(crate) fn operators() -> impl Iterator<Item = &'static str> {
    // The hosts of an operator are next to each other.
    ASSISTANTS.chunk_by(|one, next| one.1 == next.1).map(|hosts| hosts[0].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_of_assistants_have_operators() {
        assert_eq!(operator_of_host("chatgpt.com"), Some("OpenAI"));
        assert_eq!(operator_of_host("www.perplexity.ai"), Some("Perplexity"));
        assert_eq!(
            ["google.com", "notchatgpt.com", "chatgpt.com.evil.example", ""].map(operator_of_host),
            [None; 4]
        );
    }

    #[test]
    fn only_assistants_are_taken_from_a_url() {
        #[track_caller]
        fn check(url: &str, expected: Option<&str>) {
            assert_eq!(host_of_url(url), expected, "{url}");
        }
        check("/guide?utm_source=chatgpt.com", Some("chatgpt.com"));
        check("https://docs.example/guide?a=1&utm_source=ChatGPT.com#top", Some("chatgpt.com"));
        check("/guide?utm_source=openai", Some("chatgpt.com"));
        check("/guide?utm_source=www.perplexity.ai&utm_medium=x", Some("perplexity.ai"));
        check("/guide?utm_source=newsletter", None);
        check("/guide?xutm_source=chatgpt.com", None);
        check("/guide#?utm_source=chatgpt.com", None);
        check("/guide?utm_source=é", None);
        check("/guide?utm_source=", None);
        check("/guide", None);
    }

    #[test]
    fn operators_with_agents_are_spelled_as_in_the_table_of_agents() {
        let rows = include_str!("../assets/agents.tsv");
        let known: Vec<&str> = rows.lines().filter_map(|line| line.split('\t').nth(1)).collect();
        let without_agents: Vec<&str> = operators().filter(|name| !known.contains(name)).collect();
        assert_eq!(without_agents, ["Quora"]);
        assert_eq!(operators().count(), 16);
    }
}
