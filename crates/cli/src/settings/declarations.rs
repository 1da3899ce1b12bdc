//! Declares every setting: its name, its flag, its default, what it does, and which commands read it.
//!
//! The merge of the sources, `--help`, the list of known names, and `docwright doctor` use these declarations.
//! `docs_tests.rs` compares them with `docs/settings.md` and with the defaults of the server.

use super::parse::{
    parse_bool, parse_cluster, parse_count, parse_days, parse_listen, parse_positive, parse_proxies,
    parse_views_choice,
};
use super::setting::{CommandKind, DefaultValue, Flag, FlagKind, Setting, Value};
use crate::log;

const ALL_BUT_CLIENTS: &[CommandKind] = &[CommandKind::Admin, CommandKind::Worker, CommandKind::Serve];
const ADMIN_AND_SERVE: &[CommandKind] = &[CommandKind::Admin, CommandKind::Serve];
const WORKER_AND_SERVE: &[CommandKind] = &[CommandKind::Worker, CommandKind::Serve];
const SERVE: &[CommandKind] = &[CommandKind::Serve];
const SERVE_AND_CLIENT: &[CommandKind] = &[CommandKind::Serve, CommandKind::Client];
const LOGGING: &[CommandKind] = &[CommandKind::Demo, CommandKind::Worker, CommandKind::Serve];
const CLIENT: &[CommandKind] = &[CommandKind::Client];

/// The help of the flag of a setting.
pub(crate) fn help(name: &str) -> String {
    SETTINGS.iter().find(|setting| setting.name == name).map(Setting::help).unwrap_or_default()
}

const fn once(long: &'static str, value_name: &'static str) -> Option<Flag> {
    Some(Flag { long, kind: FlagKind::Once(value_name) })
}

/// In the order of `docs/settings.md`.
pub(crate) static SETTINGS: &[Setting] = &[
    Setting {
        name: "listen",
        flag: once("listen", "ADDRESS"),
        default: DefaultValue::Literal("127.0.0.1:4747"),
        help: "Listen on this address",
        read_by: SERVE_AND_CLIENT,
        value: Value::Text(|settings, text| {
            settings.server.listen = parse_listen(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "data",
        flag: once("data", "DIR"),
        default: DefaultValue::Described("docwright in the XDG data directory"),
        help: "Use this data directory",
        read_by: ALL_BUT_CLIENTS,
        value: Value::DataDirectory,
    },
    Setting {
        name: "database_url",
        flag: once("database-url", "URL"),
        default: DefaultValue::Described("SQLite in the data directory"),
        help: "Store everything except page views in this PostgreSQL database; if the URL has a password, set DOCWRIGHT_DATABASE_URL instead of the flag",
        read_by: ALL_BUT_CLIENTS,
        value: Value::Text(|settings, text| {
            settings.server.database_url = Some(text.parse().map_err(anyhow::Error::msg)?);
            Ok(())
        }),
    },
    Setting {
        name: "views_url",
        flag: once("views-url", "URL"),
        default: DefaultValue::Described("the data directory of one server"),
        help: "Store page views in this ClickHouse database; needs database_url. If the URL has a password, set DOCWRIGHT_VIEWS_URL instead of the flag",
        read_by: ADMIN_AND_SERVE,
        value: Value::Text(|settings, text| {
            settings.server.views_url = Some(text.parse().map_err(anyhow::Error::msg)?);
            Ok(())
        }),
    },
    Setting {
        name: "views_cluster",
        flag: None,
        default: DefaultValue::Described("none: a single ClickHouse server"),
        help: "Replicate the page views on this ClickHouse cluster",
        read_by: ADMIN_AND_SERVE,
        value: Value::Text(|settings, text| {
            settings.server.views_cluster = Some(parse_cluster(text)?);
            Ok(())
        }),
    },
    Setting {
        name: "public_url",
        flag: once("public-url", "URL"),
        default: DefaultValue::Described("the address that the server listens on"),
        help: "Use this URL in links to the server",
        read_by: WORKER_AND_SERVE,
        value: Value::Text(|settings, text| {
            settings.server.public_url = Some(server::parse_public_url(text).map_err(anyhow::Error::msg)?);
            Ok(())
        }),
    },
    Setting {
        name: "tls_cert",
        flag: once("tls-cert", "FILE"),
        default: DefaultValue::Described("none: plain HTTP"),
        help: "Serve HTTPS with the certificate in this PEM file; needs tls_key",
        read_by: SERVE_AND_CLIENT,
        value: Value::Text(|settings, text| {
            settings.server.tls_cert = Some(text.into());
            Ok(())
        }),
    },
    Setting {
        name: "tls_key",
        flag: once("tls-key", "FILE"),
        default: DefaultValue::Described("none"),
        help: "Read the private key of the certificate from this PEM file",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.tls_key = Some(text.into());
            Ok(())
        }),
    },
    Setting {
        name: "trusted_proxies",
        flag: Some(Flag { long: "trusted-proxy", kind: FlagKind::Repeated("CIDR") }),
        default: DefaultValue::Described("none"),
        help: "Trust the client addresses that proxies at this IP address or range report",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.proxies.trusted = parse_proxies(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "proxy_header",
        flag: once("proxy-header", "NAME"),
        default: DefaultValue::Literal("X-Forwarded-For"),
        help: "Read client addresses from this header of a trusted proxy: X-Forwarded-For or Forwarded",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.proxies.header = text.parse().map_err(anyhow::Error::msg)?;
            Ok(())
        }),
    },
    Setting {
        name: "master_key_file",
        flag: None,
        default: DefaultValue::Described("master.key in the data directory"),
        help: "Read the master key from this file",
        read_by: ALL_BUT_CLIENTS,
        value: Value::Text(|settings, text| {
            settings.server.master_key_file = Some(text.into());
            Ok(())
        }),
    },
    Setting {
        name: "models",
        flag: None,
        default: DefaultValue::Described("none"),
        help: "Connect models, with one table for each",
        read_by: WORKER_AND_SERVE,
        value: Value::Table(|settings, sources| {
            settings.server.models = sources.models()?;
            Ok(())
        }),
    },
    Setting {
        name: "agent",
        flag: None,
        default: DefaultValue::Described("the limits in Connect a model"),
        help: "Limit each run of a model, with a table",
        read_by: WORKER_AND_SERVE,
        value: Value::Table(|settings, sources| {
            settings.server.agent = sources.agent_limits()?;
            Ok(())
        }),
    },
    Setting {
        name: "hosts_allow_private",
        flag: None,
        default: DefaultValue::Literal("false"),
        help: "Allow repository hosts in private networks and over plain HTTP",
        read_by: ALL_BUT_CLIENTS,
        value: Value::Text(|settings, text| {
            settings.server.hosts.allow_private = parse_bool(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "hosts_use_proxy",
        flag: None,
        default: DefaultValue::Literal("false"),
        help: "Connect to repository hosts through the proxy in https_proxy and http_proxy",
        read_by: ALL_BUT_CLIENTS,
        value: Value::Text(|settings, text| {
            settings.server.hosts.use_proxy = parse_bool(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "workers",
        flag: once("workers", "N"),
        default: DefaultValue::Literal("4"),
        help: "Let up to this many jobs work at the same time, apart from those that wait for a model; with `serve`, 0 leaves all jobs to other processes on the same database",
        read_by: WORKER_AND_SERVE,
        value: Value::Text(|settings, text| {
            settings.server.workers = parse_count(text)?.min(1_000) as usize;
            Ok(())
        }),
    },
    Setting {
        name: "jobs_in_flight",
        flag: once("jobs-in-flight", "N"),
        default: DefaultValue::Literal("256"),
        help: "Run up to this many jobs at the same time, including those that wait for a model",
        read_by: WORKER_AND_SERVE,
        value: Value::Text(|settings, text| {
            settings.server.jobs_in_flight = parse_positive(text)?.min(10_000);
            Ok(())
        }),
    },
    Setting {
        name: "project_jobs",
        flag: once("project-jobs", "N"),
        default: DefaultValue::Described("a quarter of jobs_in_flight"),
        help: "Run up to this many jobs of one project at the same time, on all servers together",
        read_by: WORKER_AND_SERVE,
        value: Value::Text(|settings, text| {
            settings.server.project_jobs = Some(parse_positive(text)?);
            Ok(())
        }),
    },
    Setting {
        name: "jobs_per_hour",
        flag: once("jobs-per-hour", "N"),
        default: DefaultValue::Literal("100"),
        help: "Accept up to this many jobs and follow-ups per project and hour",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.limits.jobs = parse_positive(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "transcript_days",
        flag: once("transcript-days", "N"),
        default: DefaultValue::Literal("90"),
        help: "Keep the transcripts and steps of ended jobs for this many days; 0 keeps them forever",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.transcripts = parse_days(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "branch_days",
        flag: once("branch-days", "N"),
        default: DefaultValue::Literal("90"),
        help: "Keep the branches of merged and closed pull requests of jobs for this many days; 0 keeps them forever",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.branches = parse_days(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "cache_gib",
        flag: None,
        default: DefaultValue::Literal("20"),
        help: "Let the repository caches in the data directory take up to this many GiB",
        read_by: WORKER_AND_SERVE,
        value: Value::Text(|settings, text| {
            settings.server.caches = u64::from(parse_count(text)?) << 30;
            Ok(())
        }),
    },
    Setting {
        name: "page_views",
        flag: once("page-views", "YES|NO"),
        default: DefaultValue::Described("yes, unless another server on the same database stores them"),
        help: "Store page views on this server: yes or no",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.page_views = parse_views_choice(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "reads_per_hour",
        flag: once("reads-per-hour", "N"),
        default: DefaultValue::Literal("1000"),
        help: "Answer up to this many requests for reports per organization and hour",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.limits.reads = parse_positive(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "beacons_per_minute",
        flag: once("beacons-per-minute", "N"),
        default: DefaultValue::Literal("300"),
        help: "Accept up to this many views per minute from the browsers at one IP address",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.limits.beacons = parse_positive(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "views_days",
        flag: once("views-days", "N"),
        default: DefaultValue::Literal("396"),
        help: "Keep raw page views for this many days; counts by the hour and numbers of visitors stay",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.views.raw_days = parse_positive(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "views_memory",
        flag: once("views-memory", "N"),
        default: DefaultValue::Literal("256"),
        help: "Use up to this many megabytes of memory for the page views of all projects",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.views.memory = (parse_positive(text)? as usize) << 20;
            Ok(())
        }),
    },
    Setting {
        name: "new_pages_per_day",
        flag: once("new-pages-per-day", "N"),
        default: DefaultValue::Literal("100000"),
        help: "Count up to this many new pages per project and day; views of more new pages count as (other pages)",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.views.new_pages = parse_positive(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "log",
        flag: once("log", "FILTER"),
        default: DefaultValue::Literal("info"),
        help: "Log at this level, or by a list such as info,access=off",
        read_by: LOGGING,
        value: Value::Text(|settings, text| {
            // Outside of flags, a blank filter counts as not set.
            if !text.trim().is_empty() {
                log::parse_filter(text.trim())?;
                settings.log.filter = text.trim().to_owned();
            }
            Ok(())
        }),
    },
    Setting {
        name: "log_format",
        flag: once("log-format", "FORMAT"),
        default: DefaultValue::Described("text on a terminal, else json"),
        help: "Log as text or json",
        read_by: LOGGING,
        value: Value::Text(|settings, text| {
            settings.log.is_json = Some(log::parse_is_json(text)?);
            Ok(())
        }),
    },
    Setting {
        name: "metrics",
        flag: Some(Flag { long: "metrics", kind: FlagKind::Switch }),
        default: DefaultValue::Literal("false"),
        help: "Serve metrics for Prometheus at /metrics, to everyone who can reach the server",
        read_by: SERVE,
        value: Value::Text(|settings, text| {
            settings.server.metrics = parse_bool(text)?;
            Ok(())
        }),
    },
    Setting {
        name: "url",
        flag: None,
        default: DefaultValue::Described(
            "where the server of this data directory was last reached, else http://127.0.0.1:4747",
        ),
        help: "Send commands over HTTP, such as job and views, to the server at this URL",
        read_by: CLIENT,
        value: Value::Text(|settings, text| {
            settings.url = Some(text.to_owned());
            Ok(())
        }),
    },
    Setting {
        name: "api_key",
        flag: None,
        default: DefaultValue::Described("none"),
        help: "Use this API key for commands over HTTP",
        read_by: CLIENT,
        value: Value::Text(|settings, text| {
            settings.api_key = Some(text.to_owned());
            Ok(())
        }),
    },
];
