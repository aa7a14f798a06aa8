//! The keys of a scenario: the one table that reader, help, schema and documentation follow.
//!
//! A key enters here in the commit that makes it work; before that it is an unknown key.

use crate::sim::Profile;
use std::time::Duration;

/// A table of the scenario, or one that stands for a value.
#[derive(Debug)]
pub struct Table {
    /// Where it stands, from the top; empty for the top itself. `[[workload]]` is `workload`.
    pub path: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Keys of which exactly one must be there; naming another on the command line replaces it.
    pub one_of: &'static [&'static str],
    /// Its keys, in the order of the documentation.
    pub keys: &'static [Key],
}

/// A key.
#[derive(Debug)]
pub struct Key {
    /// Its name within the table.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds where it is left out.
    pub default: Fallback,
    /// What it means.
    pub doc: &'static str,
    /// A value, as written after the `=`.
    pub example: &'static str,
}

/// What holds where a key is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fallback {
    /// It must not be left out.
    Required,
    /// This value, as it would be written.
    Value(&'static str),
    /// No value, which means what is said here.
    None(&'static str),
}

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A name: letters, digits, `_` and `-`.
    Name,
    /// Any text that is not empty.
    Text,
    /// The name of an environment variable.
    Variable,
    /// A file, relative to the scenario.
    Path,
    /// The address of a server.
    Url,
    /// `true` or `false`.
    Boolean,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A whole number within bounds, both included.
    Integer {
        /// Smallest.
        min: u64,
        /// Largest.
        max: u64,
    },
    /// A whole number of at least 1, or `"all"`.
    Requests,
    /// A number of at least 0.
    Number,
    /// A time of at least `min`.
    Duration {
        /// Shortest.
        min: Duration,
    },
    /// Events per time.
    Rate,
    /// A number of tokens of at least 1.
    Tokens,
    /// A number of tokens, or a law they follow: the table `distribution`.
    Distribution,
    /// Names of headers with their values.
    Headers,
    /// Whatever the server understands.
    Free,
    /// The table of this path.
    Table(&'static str),
    /// Any number of tables of this path, at least one.
    Tables(&'static str),
    /// A table, or the value of one of its keys alone.
    Parameters {
        /// Path of the table.
        table: &'static str,
        /// The key whose value may stand alone.
        alone: &'static str,
    },
}

impl Kind {
    /// What it takes, in words that follow "takes".
    pub fn describe(self) -> String {
        match self {
            Kind::Name | Kind::Text => "text".to_owned(),
            Kind::Variable => "the name of an environment variable".to_owned(),
            Kind::Path => "the path of a file".to_owned(),
            Kind::Url => "a URL".to_owned(),
            Kind::Boolean => "`true` or `false`".to_owned(),
            Kind::Choice(choices) => list(choices, "or"),
            Kind::Integer { .. } => "a whole number".to_owned(),
            Kind::Requests => "a whole number or `\"all\"`".to_owned(),
            Kind::Number => "a number".to_owned(),
            Kind::Duration { .. } => "a duration".to_owned(),
            Kind::Rate => "a rate".to_owned(),
            Kind::Tokens => "a number of tokens".to_owned(),
            Kind::Distribution => "a number of tokens or a distribution".to_owned(),
            Kind::Headers | Kind::Free | Kind::Table(_) => "a table".to_owned(),
            Kind::Tables(path) => format!("`[[{path}]]` tables"),
            Kind::Parameters { table, alone } => match find(table).key(alone) {
                Some(key) => format!("{} or a table", key.kind.describe()),
                None => "a table".to_owned(),
            },
        }
    }

    /// The unit of its values, if they have one.
    pub fn unit(self) -> Option<&'static str> {
        match self {
            Kind::Duration { .. } => Some("seconds"),
            Kind::Rate => Some("per second"),
            Kind::Tokens | Kind::Distribution => Some("tokens"),
            _ => None,
        }
    }

    /// Path of the table that describes its value, if that can be one with keys of its own.
    pub fn table(self) -> Option<&'static str> {
        match self {
            Kind::Table(path) | Kind::Tables(path) | Kind::Parameters { table: path, .. } => Some(path),
            Kind::Distribution => Some("distribution"),
            _ => None,
        }
    }
}

impl Table {
    /// The key `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// How a user writes the table: `[target]`, `[[phase]]`, `load.poisson` in `[[phase]]`.
    pub fn heading(&self) -> String {
        heading(self.path)
    }
}

/// How a user writes the table that stands at `path`.
pub(super) fn heading(path: &str) -> String {
    let (outer, inner) = path.split_once('.').unwrap_or((path, ""));
    let outer = match find("").key(outer).map(|key| key.kind) {
        Some(Kind::Tables(_)) => format!("`[[{outer}]]`"),
        Some(_) => format!("`[{outer}]`"),
        None if path.is_empty() => return "the top level".to_owned(),
        None => return format!("`{path}`"),
    };
    if inner.is_empty() { outer } else { format!("`{inner}` of {outer}") }
}

/// The table of `path`; the top where there is none.
pub fn find(path: &str) -> &'static Table {
    TABLES.iter().find(|table| table.path == path).unwrap_or(&TABLES[0])
}

/// `a`, `b` or `c`, each in backticks.
pub(super) fn list(names: &[impl AsRef<str>], last: &str) -> String {
    let quoted = names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>();
    match quoted.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}

const fn key(
    name: &'static str,
    kind: Kind,
    default: Fallback,
    example: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, default, doc, example }
}

const POSITIVE: Kind = Kind::Duration { min: Duration::from_nanos(1) };
const ANY_DURATION: Kind = Kind::Duration { min: Duration::ZERO };
const REQUIRED: Fallback = Fallback::Required;

/// Every table with its keys. The first is the top.
pub const TABLES: &[Table] = &[
    Table {
        path: "",
        doc: "A scenario: a server, what is asked of it, and when.",
        one_of: &[],
        keys: &[
            key("name", Kind::Name, REQUIRED, r#""documents""#, "Name of the scenario and of its results."),
            key(
                "seed",
                Kind::Integer { min: 0, max: u64::MAX },
                Fallback::None("drawn, printed and stored"),
                "7",
                "What all random choices follow from: equal seeds give equal plans.",
            ),
            key("target", Kind::Table("target"), REQUIRED, r#"{ sim.profile = "8b-h100" }"#, "The server."),
            key(
                "request",
                Kind::Table("request"),
                Fallback::None("the defaults of its keys"),
                "{ temperature = 0 }",
                "What every request carries unless its workload says otherwise.",
            ),
            key(
                "workload",
                Kind::Tables("workload"),
                REQUIRED,
                r#"[{ name = "chat", prompt.synthetic = 200 }]"#,
                "What is asked. Each request belongs to one workload, drawn by weight.",
            ),
            key(
                "phase",
                Kind::Tables("phase"),
                REQUIRED,
                r#"[{ name = "steady", duration = "1m", load.closed = 8 }]"#,
                "When it is asked. Phases follow one another.",
            ),
            key(
                "slo",
                Kind::Table("slo"),
                Fallback::None("no limits"),
                r#"{ ttft = "2s" }"#,
                "Limits one request must keep, unless its workload sets others.",
            ),
        ],
    },
    Table {
        path: "target",
        doc: "The server under load.",
        one_of: &["url", "sim"],
        keys: &[
            key(
                "url",
                Kind::Url,
                Fallback::None("a simulated server: `sim`"),
                r#""http://127.0.0.1:8000""#,
                "Address of the server; a base path is kept in front of every request's path.",
            ),
            key(
                "sim",
                Kind::Table("target.sim"),
                Fallback::None("a server of its own: `url`"),
                r#"{ profile = "8b-h100" }"#,
                "A simulated server inside the tool.",
            ),
            key("api", Kind::Choice(&["chat"]), Fallback::Value(r#""chat""#), r#""chat""#, "The API spoken."),
            key(
                "model",
                Kind::Text,
                Fallback::None("the only one the server lists"),
                r#""qwen2.5-72b""#,
                "Name of the model, as the server knows it.",
            ),
            key(
                "api_key_env",
                Kind::Variable,
                Fallback::None("no key"),
                r#""OPENAI_API_KEY""#,
                "Environment variable that holds the key, sent as `authorization: Bearer …`.",
            ),
            key(
                "headers",
                Kind::Headers,
                Fallback::None("none of yours"),
                r#"{ x-tenant = "load" }"#,
                "Headers sent with every request. Their values are stored and shown nowhere.",
            ),
            key(
                "timeouts",
                Kind::Table("target.timeouts"),
                Fallback::None("the defaults of its keys"),
                r#"{ connect = "5s", first_token = "120s" }"#,
                "How long a request may take before it is given up.",
            ),
        ],
    },
    Table {
        path: "target.sim",
        doc: "A simulated server inside the tool.",
        one_of: &[],
        keys: &[key(
            "profile",
            Kind::Choice(Profile::NAMES),
            REQUIRED,
            r#""8b-h100""#,
            "Model and machine to simulate.",
        )],
    },
    Table {
        path: "target.timeouts",
        doc: "How long a request may take before it is given up.",
        one_of: &[],
        keys: &[
            key("connect", POSITIVE, Fallback::Value(r#""5s""#), r#""5s""#, "To obtain a connection."),
            key(
                "first_token",
                POSITIVE,
                Fallback::Value(r#""120s""#),
                r#""120s""#,
                "From the send to the first generated text.",
            ),
            key("idle", POSITIVE, Fallback::Value(r#""60s""#), r#""60s""#, "Silence after the first text."),
            key("total", POSITIVE, Fallback::None("no limit"), r#""10m""#, "From the send to the end."),
        ],
    },
    Table {
        path: "request",
        doc: "What a request carries besides its prompt.",
        one_of: &[],
        keys: &[
            key(
                "stream",
                Kind::Boolean,
                Fallback::Value("true"),
                "true",
                "Whether the answer is streamed. Without a stream there is no time to first token.",
            ),
            key("temperature", Kind::Number, Fallback::Value("0"), "0.7", "Sampling temperature."),
            key(
                "max_tokens",
                Kind::Tokens,
                Fallback::Value("1024"),
                "1024",
                "Longest answer asked for, where the workload has no `output.max_tokens`.",
            ),
            key(
                "extra",
                Kind::Free,
                Fallback::None("nothing"),
                "{ top_k = 1 }",
                "Further members of the request's body, sent as they stand.",
            ),
        ],
    },
    Table {
        path: "workload",
        doc: "One kind of request.",
        one_of: &[],
        keys: &[
            key("name", Kind::Name, REQUIRED, r#""chat""#, "Name of the workload in results."),
            key(
                "weight",
                Kind::Number,
                Fallback::Value("1"),
                "3",
                "Its share of requests, relative to the others'.",
            ),
            key(
                "prompt",
                Kind::Table("workload.prompt"),
                REQUIRED,
                "{ synthetic.words = 200 }",
                "Where its prompts come from.",
            ),
            key(
                "output",
                Kind::Table("workload.output"),
                Fallback::None("the defaults of its keys"),
                "{ max_tokens = 256 }",
                "How long its answers are.",
            ),
            key(
                "slo",
                Kind::Table("slo"),
                Fallback::None("those of `[slo]`"),
                r#"{ ttft = "5s" }"#,
                "Limits that replace those of `[slo]`, one by one.",
            ),
            key(
                "request",
                Kind::Table("request"),
                Fallback::None("those of `[request]`"),
                "{ temperature = 0.7 }",
                "Settings that replace those of `[request]`, one by one.",
            ),
        ],
    },
    Table {
        path: "workload.prompt",
        doc: "Where prompts come from.",
        one_of: &["synthetic", "dataset"],
        keys: &[
            key(
                "synthetic",
                Kind::Parameters { table: "workload.prompt.synthetic", alone: "words" },
                Fallback::None("another kind"),
                "{ words = 200 }",
                "Made-up text.",
            ),
            key(
                "dataset",
                Kind::Parameters { table: "workload.prompt.dataset", alone: "path" },
                Fallback::None("another kind"),
                r#"{ path = "problems.jsonl", shuffle = true }"#,
                "Rows of a file.",
            ),
        ],
    },
    Table {
        path: "workload.prompt.synthetic",
        doc: "Made-up text.",
        one_of: &[],
        keys: &[key(
            "words",
            Kind::Integer { min: 1, max: 10_000_000 },
            REQUIRED,
            "200",
            "Length of every prompt in words. How many tokens that is depends on the model.",
        )],
    },
    Table {
        path: "workload.prompt.dataset",
        doc: "Rows of a file.",
        one_of: &[],
        keys: &[
            key("path", Kind::Path, REQUIRED, r#""problems.jsonl""#, "The file, relative to the scenario."),
            key(
                "format",
                Kind::Choice(&["gsm8k", "prompts"]),
                Fallback::None("seen from the first good row"),
                r#""gsm8k""#,
                "How the file carries its rows.",
            ),
            key(
                "shuffle",
                Kind::Boolean,
                Fallback::Value("false"),
                "true",
                "Whether rows are taken in an order drawn from the seed; else as they stand.",
            ),
            key(
                "when_exhausted",
                Kind::Choice(&["stop", "repeat", "error"]),
                Fallback::Value(r#""stop""#),
                r#""repeat""#,
                "What follows the last row: the phase stops, rows are taken again, or the run fails.",
            ),
        ],
    },
    Table {
        path: "workload.output",
        doc: "How long answers are.",
        one_of: &[],
        keys: &[key(
            "max_tokens",
            Kind::Distribution,
            Fallback::None("`max_tokens` of `request`"),
            "256",
            "Longest answer asked for, for each request.",
        )],
    },
    Table {
        path: "distribution",
        doc: "A law that lengths follow. A plain number stands for itself.",
        one_of: &["uniform"],
        keys: &[key(
            "uniform",
            Kind::Table("distribution.uniform"),
            Fallback::None("another kind"),
            "{ min = 64, max = 512 }",
            "Every value from `min` to `max` equally often.",
        )],
    },
    Table {
        path: "distribution.uniform",
        doc: "Every value from `min` to `max` equally often.",
        one_of: &[],
        keys: &[
            key("min", Kind::Tokens, REQUIRED, "64", "Smallest value."),
            key("max", Kind::Tokens, REQUIRED, r#""4Ki""#, "Largest value."),
        ],
    },
    Table {
        path: "phase",
        doc: "A stretch of load.",
        one_of: &[],
        keys: &[
            key("name", Kind::Name, REQUIRED, r#""steady""#, "Name of the phase in results."),
            key(
                "duration",
                POSITIVE,
                Fallback::None("until `requests` have been sent"),
                r#""5m""#,
                "How long load is offered, `warm_up` included.",
            ),
            key(
                "requests",
                Kind::Requests,
                Fallback::None("as many as `duration` gives"),
                "1000",
                "How many requests are sent, or `\"all\"`: every row of the data sets once.",
            ),
            key(
                "warm_up",
                ANY_DURATION,
                Fallback::Value(r#""0s""#),
                r#""30s""#,
                "First part of the phase, at full load and not measured.",
            ),
            key(
                "measure",
                Kind::Boolean,
                Fallback::Value("true"),
                "true",
                "Whether the phase counts in results.",
            ),
            key(
                "drain",
                ANY_DURATION,
                Fallback::None("until every request has ended"),
                r#""1m""#,
                "How long open requests may run on after the phase has stopped offering load.",
            ),
            key(
                "load",
                Kind::Table("phase.load"),
                REQUIRED,
                r#"{ poisson = "6/s" }"#,
                "How requests arrive.",
            ),
        ],
    },
    Table {
        path: "phase.load",
        doc: "How requests arrive: at times of their own (an open loop), or when a user is free (a closed loop).",
        one_of: &["poisson", "constant", "closed"],
        keys: &[
            key(
                "poisson",
                Kind::Parameters { table: "phase.load.poisson", alone: "rate" },
                Fallback::None("another kind"),
                r#""6/s""#,
                "Open loop: independent arrivals at a mean rate.",
            ),
            key(
                "constant",
                Kind::Parameters { table: "phase.load.constant", alone: "rate" },
                Fallback::None("another kind"),
                r#"{ rate = "6/s", max_in_flight = 512 }"#,
                "Open loop: arrivals at equal distances.",
            ),
            key(
                "closed",
                Kind::Parameters { table: "phase.load.closed", alone: "users" },
                Fallback::None("another kind"),
                "8",
                "Closed loop: each user sends when its last request has ended.",
            ),
        ],
    },
    Table {
        path: "phase.load.poisson",
        doc: "Independent arrivals at a mean rate.",
        one_of: &[],
        keys: &[
            key("rate", Kind::Rate, REQUIRED, r#""6/s""#, "Mean arrivals."),
            key(
                "max_in_flight",
                MAX_IN_FLIGHT,
                NO_BOUND,
                "512",
                "Most requests open at once; those beyond are dropped.",
            ),
        ],
    },
    Table {
        path: "phase.load.constant",
        doc: "Arrivals at equal distances.",
        one_of: &[],
        keys: &[
            key("rate", Kind::Rate, REQUIRED, r#""90/min""#, "Arrivals."),
            key(
                "max_in_flight",
                MAX_IN_FLIGHT,
                NO_BOUND,
                "512",
                "Most requests open at once; those beyond are dropped.",
            ),
        ],
    },
    Table {
        path: "phase.load.closed",
        doc: "Users that each have one request open at a time.",
        one_of: &[],
        keys: &[key("users", Kind::Integer { min: 1, max: 1_000_000 }, REQUIRED, "8", "How many users.")],
    },
    Table {
        path: "slo",
        doc: "Limits one request must keep, all of them together.",
        one_of: &[],
        keys: &[
            key("ttft", POSITIVE, NO_LIMIT, r#""2s""#, "From the send to the first generated text."),
            key(
                "ttft_scheduled",
                POSITIVE,
                NO_LIMIT,
                r#""2s""#,
                "From the due time to the first generated text.",
            ),
            key(
                "first_answer",
                POSITIVE,
                NO_LIMIT,
                r#""10s""#,
                "From the send to the first text of the answer.",
            ),
            key("tpot", POSITIVE, NO_LIMIT, r#""80ms""#, "Time per output token after the first."),
            key("e2e", POSITIVE, NO_LIMIT, r#""30s""#, "From the send to the last output."),
            key("e2e_scheduled", POSITIVE, NO_LIMIT, r#""30s""#, "From the due time to the last output."),
        ],
    },
];

const MAX_IN_FLIGHT: Kind = Kind::Integer { min: 1, max: u32::MAX as u64 };
const NO_BOUND: Fallback = Fallback::None("10,000, or what descriptors allow");
const NO_LIMIT: Fallback = Fallback::None("no limit");

/// What users of other tools may write, and the key that does it here.
pub(super) const OTHER_NAMES: &[(&str, &str)] = &[
    ("base_url", "target.url"),
    ("endpoint", "target.url"),
    ("host", "target.url"),
    ("timeout", "target.timeouts"),
    ("concurrency", "phase.load.closed.users"),
    ("clients", "phase.load.closed.users"),
    ("qps", "phase.load.poisson.rate"),
    ("rps", "phase.load.poisson.rate"),
    ("request_rate", "phase.load.poisson.rate"),
    ("num_requests", "phase.requests"),
    ("num_prompts", "phase.requests"),
    ("api_key", "target.api_key_env"),
    ("warmup", "phase.warm_up"),
];
