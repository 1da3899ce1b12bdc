//! Words of technical prose that must never be "corrected".

use pages::{KnownWords, Page, misspellings};

const RIGHT: &str = "\
access accessible acknowledgment address algorithm allocate analytics anonymous appendix argument artifact asynchronous \
attribute authentication authorization backend backlog backtick bandwidth boolean buffer bytecode cache callback canonical \
changelog checksum client codebase colour commit committed compatibility concurrency config configurable container cookie \
coroutine cron daemon dashboard database dataset debugger decode decrypt default deferred deprecated dereference \
deserialize destructor dev directory docker endpoint enum environment ephemeral event exec fallback favicon filesystem \
firewall flag framework frontend function gateway getter github grep handler hash hashes hostname http idempotent identifier \
impl incremental initialise initialize inode instantiate integer interface iterate iterator java json kernel keyspace kubectl \
lambda latency lexer library licence license lifecycle linter localhost locale lookup macro malloc manifest markdown \
metadata middleware migrate mixin monorepo mutex namespace nginx node normalise npm nullable numpy offline onboarding \
optional orchestrator overridden overflow override param parameter parser passthrough payload persistent pipeline plugin \
postgres precedence prefetch prefix preprocessor proxy queue queries quickstart readme receive recursion redirect refactor \
referrer regex registry repository req retry rollback rollout runtime sandbox scalar schema scheduler semver separate \
serialize serverless setter sharding shebang singleton snippet socket src stderr stdin stdout struct subdomain submodule \
subnet substring suffix symlink sync syntax tarball telemetry templating tenant thead tbody threshold throughput timestamp \
tokenize tokenizer toolchain toolkit tooltip transpile truncate tuple typescript unicode unsubscribe untracked upsert \
uptime username utf validator variadic vendored verbose virtualenv viewport webhook whitelist wildcard workflow workspace \
wrapper yaml zsh occurred occurrence dependent independent existence consistent referenced referencing cancelled canceled \
behaviour behavior modelling modeling labelled labeled grey gray unparseable parseable maintainer writable writeable leafs rebase rebased claus modul handel vertexes extendible payed causalities";

#[test]
fn correct_words_are_not_misspellings() {
    let words = RIGHT.split_whitespace().count();
    assert!(words > 250, "{words}");
    for word in RIGHT.split_whitespace() {
        let line = format!("You can use the {word} with it.\n");
        let found = misspellings(&Page::parse("a.md", &line), &line, &KnownWords::default()).misspellings;
        assert!(found.is_empty(), "{found:?}");
    }
}
