//! The table itself: every table of a scenario with every key.

use std::time::Duration;

use super::{
    Fallback, Key, Kind, Table, data, judged, lengths, observed, prompts, schedule, score, sweep, verdict,
};

pub(super) const fn key(
    name: &'static str,
    kind: Kind,
    default: Fallback,
    example: &'static str,
    doc: &'static str,
) -> Key {
    Key { name, kind, default, doc, example }
}

pub(super) const POSITIVE: Kind = Kind::Duration { min: Duration::from_nanos(1) };
pub(super) const ANY_DURATION: Kind = Kind::Duration { min: Duration::ZERO };
pub(super) const REQUIRED: Fallback = Fallback::Required;

/// Every table with its keys. The first is the top.
pub(super) const TABLES: &[Table] = &[
    Table {
        path: "",
        doc: "A scenario: a server, what is asked of it, and when.",
        example: r#"name = "chat"
seed = 7

[about]
hardware = "4 × 80 GB"
tensor_parallel = 4

[target]
url = "http://127.0.0.1:8000"

[[workload]]
name = "questions"
prompt.synthetic.words = 200

[[phase]]
name = "steady"
duration = "5m"
load.poisson = "6/s""#,
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
            key(
                "extends",
                Kind::Path,
                Fallback::None("the scenario stands alone"),
                r#""base.toml""#,
                "Another scenario that this one changes: what is said here comes over what is said there.",
            ),
            key(
                "about",
                Kind::About,
                Fallback::None("nothing"),
                r#"{ hardware = "4 × 80 GB", tensor_parallel = 4 }"#,
                "What else the results should say of the run. The names are yours.",
            ),
            key(
                "salt",
                Kind::Integer { min: 0, max: i64::MAX as u64 },
                Fallback::None("drawn for each run"),
                "7",
                "What makes its prompts unlike those of other runs. A run with the salt of another sends the same \
                 prompts, and a server's prefix cache may answer them.",
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
            key(
                "objective",
                Kind::Tables("objective"),
                Fallback::None("nothing is required of the figures"),
                r#"[{ metric = "ttft", percentile = 99, at_most = "3s" }]"#,
                "What must hold of the figures; the program ends with exit code 5 where one is missed.",
            ),
            key(
                "stop",
                Kind::Table("stop"),
                Fallback::None("the defaults of its keys"),
                "{ errors_in_a_row = 20 }",
                "When the run is stopped before its end.",
            ),
            key(
                "verdict",
                Kind::Table("verdict"),
                Fallback::None("the defaults of its keys"),
                r#"{ failed = "0.1%" }"#,
                "The limits that findings, and so the verdict, go by.",
            ),
            key(
                "server",
                Kind::Table("server"),
                Fallback::None("its metrics are not looked at"),
                r#"{ metrics = "/metrics", every = "1s" }"#,
                "The server's own metrics, looked at beside the run.",
            ),
            key(
                "results",
                Kind::Table("results"),
                Fallback::None("the defaults of its keys"),
                "{ responses = true }",
                "Files of results beside those that are always written.",
            ),
            key(
                "model",
                Kind::Table("model"),
                Fallback::None("nothing is known of the model's memory"),
                r#"{ path = "config.json", weights = "146GB", memory = "320GB" }"#,
                "The model in the server's memory: what its keys and values take, and how much fits.",
            ),
            key(
                "sweep",
                Kind::Table("sweep"),
                Fallback::None("the scenario is run once"),
                r#"{ axis = [{ name = "users", key = "phase.steady.load.closed.users", values = [1, 8] }] }"#,
                "The same with other values of some keys, point by point.",
            ),
            key(
                "capacity",
                Kind::Table("capacity"),
                Fallback::None("nothing is searched"),
                r#"{ key = "phase.steady.load.poisson.rate", from = "1/s", to = "64/s" }"#,
                "A search for the highest value of a key at which every objective holds.",
            ),
        ],
    },
    Table {
        path: "target",
        doc: "The server under load.",
        example: r#"[target]
url = "https://example.org/api/openai"
model = "qwen2.5-72b"
api_key_env = "OPENAI_API_KEY"
headers = { x-tenant = "load" }"#,
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
            key(
                "api",
                Kind::Choice(&[
                    "chat",
                    "completions",
                    "responses",
                    "messages",
                    "ollama",
                    "ollama_generate",
                    "llamacpp",
                ]),
                Fallback::Value(r#""chat""#),
                r#""messages""#,
                "The API spoken: OpenAI's chat completions, completions or responses, Anthropic's messages, \
                 Ollama's chat or generate, or llama.cpp's own. The simulated server speaks the first two.",
            ),
            key(
                "model",
                Kind::Text,
                Fallback::None("the only one the server lists"),
                r#""qwen2.5-72b""#,
                "Name of the model, as the server knows it.",
            ),
            key(
                "length_member",
                Kind::Choice(&["max_tokens", "max_completion_tokens"]),
                Fallback::Value(r#""max_tokens""#),
                r#""max_completion_tokens""#,
                "What `chat` calls the longest answer asked for; OpenAI's reasoning models know the second name alone.",
            ),
            key(
                "api_key_env",
                Kind::Variable,
                Fallback::None("no key"),
                r#""OPENAI_API_KEY""#,
                "Environment variable that holds the key, sent as `authorization: Bearer …`, or as the API has it.",
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
            key(
                "ready_within",
                ANY_DURATION,
                Fallback::Value(r#""30s""#),
                r#""5m""#,
                "How long a server that is not there yet, or still loading, is waited for; `0s` looks once.",
            ),
            key(
                "connections",
                Kind::Choice(&["reuse", "per_request", "per_user"]),
                Fallback::Value(r#""reuse""#),
                r#""per_request""#,
                "Who shares connections: all requests; none; or those of one user of a closed loop.",
            ),
            key(
                "retries",
                Kind::Table("target.retries"),
                Fallback::None("a refusal is a failure"),
                r#"{ attempts = 3, on = [429, 503] }"#,
                "Which refusals are answered by another attempt. Its time counts from the first one's send.",
            ),
            key(
                "tls",
                Kind::Table("target.tls"),
                Fallback::None("verified by the URL's name against the Mozilla roots"),
                r#"{ cert = "client.pem", key = "client.key" }"#,
                "How the server's certificate is verified, and ours shown, where the URL is of `https`.",
            ),
            key(
                "tokenizer",
                Kind::Parameters { table: "target.tokenizer", alone: "endpoint" },
                Fallback::None("measured by a few requests before the run"),
                r#""server""#,
                "How tokens of prompts are counted beforehand.",
            ),
            key(
                "reset_cache",
                Kind::Boolean,
                Fallback::Value("false"),
                "true",
                "Whether the server's prefix cache is emptied before the run, by `/reset_prefix_cache` or `/flush_cache`.",
            ),
            key(
                "http",
                Kind::Choice(&["auto", "1.1", "2"]),
                Fallback::Value(r#""auto""#),
                r#""2""#,
                "What is spoken: under TLS HTTP/2 where the server offers it, else HTTP/1.1; or one of them alone.",
            ),
            key(
                "stamps",
                Kind::Choice(&["kernel", "user"]),
                Fallback::Value(r#""kernel""#),
                r#""user""#,
                "What times the arrival of bytes: the kernel, where it can (HTTP/1.1 over TCP or TLS), or the read.",
            ),
        ],
    },
    prompts::TOKENIZER,
    Table {
        path: "target.sim",
        doc: "A simulated server inside the tool.",
        example: r#"[target]
sim.profile = "8b-h100""#,
        one_of: &[],
        keys: &[
            key(
                "profile",
                Kind::Profile,
                REQUIRED,
                r#""8b-h100""#,
                "Model and machine to simulate. `docs/simulator.md` has the form of files.",
            ),
            key(
                "faults",
                Kind::Text,
                Fallback::None("nothing goes wrong"),
                r#""status=503:1s@1%, reset=20@1/50""#,
                "What goes wrong on purpose: rules with commas between them, as in `docs/simulator.md`.",
            ),
        ],
    },
    Table {
        path: "target.retries",
        doc: "Which refusals are answered by another attempt. The wait between two is what the server's `retry-after` \
              says, in seconds, up to a minute; else half a second, doubled each time up to eight.",
        example: r#"[target]
url = "http://127.0.0.1:8000"
retries = { attempts = 3, on = [429, 503] }"#,
        one_of: &[],
        keys: &[
            key(
                "attempts",
                Kind::Integer { min: 2, max: 100 },
                Fallback::Value("3"),
                "3",
                "Most attempts of one request, the first included.",
            ),
            key(
                "on",
                Kind::Statuses,
                Fallback::Value("[429, 503]"),
                "[429, 503]",
                "Statuses that are worth another.",
            ),
        ],
    },
    Table {
        path: "target.tls",
        doc: "How the server's certificate is verified, and ours shown.",
        example: r#"[target]
url = "https://llm.example.org"
tls.server_name = "llm.internal""#,
        one_of: &[],
        keys: &[
            key(
                "ca",
                Kind::Path,
                Fallback::None("the Mozilla roots"),
                r#""ca.pem""#,
                "PEM file of the authorities to trust instead.",
            ),
            key(
                "cert",
                Kind::Path,
                Fallback::None("no certificate of ours"),
                r#""client.pem""#,
                "PEM file of our own certificate and those above it; `key` goes with it.",
            ),
            key(
                "key",
                Kind::Path,
                Fallback::None("no certificate of ours"),
                r#""client.key""#,
                "PEM file of its key.",
            ),
            key(
                "server_name",
                Kind::Text,
                Fallback::None("the URL's"),
                r#""llm.internal""#,
                "The name that the server's certificate must bear.",
            ),
            key(
                "insecure",
                Kind::Boolean,
                Fallback::Value("false"),
                "false",
                "Take anybody for the server. For tests alone: the key goes to whoever answers.",
            ),
        ],
    },
    Table {
        path: "target.timeouts",
        doc: "How long a request may take before it is given up.",
        example: r#"[target]
url = "http://127.0.0.1:8000"
timeouts = { first_token = "5m", total = "30m" }"#,
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
        example: r#"[request]
temperature = 0.7
max_tokens = "2Ki"
extra = { top_k = 1 }"#,
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
        example: r#"[[workload]]
name = "short"
weight = 3
prompt.synthetic.words = 100

[[workload]]
name = "long"
prompt.synthetic.words = 4000
request.temperature = 0.7
slo.ttft = "5s""#,
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
                "system",
                Kind::Parameters { table: "workload.system", alone: "text" },
                Fallback::None("no instructions"),
                r#""Answer in one sentence.""#,
                "Instructions before its prompts.",
            ),
            key(
                "cache",
                Kind::Choice(&["cold", "shared", "natural"]),
                Fallback::None(
                    "`natural` for data sets; else `shared` with a shared prefix or instructions, and `cold` without",
                ),
                r#""cold""#,
                "What of its prompts a server's prefix cache may know: nothing, since every request begins with words \
                 of its own; the shared prefix and the instructions alone; or what they have in common by nature, \
                 the same in every run.",
            ),
            key(
                "output",
                Kind::Table("workload.output"),
                Fallback::None("the defaults of its keys"),
                "{ max_tokens = 256 }",
                "How long its answers are.",
            ),
            key(
                "score",
                Kind::OneOf("workload.score"),
                Fallback::None("answers are not checked"),
                r#""gsm8k""#,
                "How its answers are checked against the truths of its data set.",
            ),
            key(
                "consistency",
                Kind::Boolean,
                Fallback::None("true where `score` is set and the temperature is 0"),
                "true",
                "Whether each answer is compared with the first one to the very same request. Needs temperature 0.",
            ),
            key(
                "session",
                Kind::Parameters { table: "workload.session", alone: "turns" },
                Fallback::None("each request stands alone"),
                r#"{ turns = 5, think = "2s" }"#,
                "Makes conversations of several turns of its requests.",
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
        example: r#"[[workload]]
name = "problems"
prompt.dataset = "problems.jsonl""#,
        one_of: &["synthetic", "text", "dataset", "needle"],
        keys: &[
            key(
                "synthetic",
                Kind::Parameters { table: "workload.prompt.synthetic", alone: "words" },
                Fallback::None("another kind"),
                "{ words = 200 }",
                "Made-up text.",
            ),
            key(
                "text",
                Kind::Table("workload.prompt.text"),
                Fallback::None("another kind"),
                r#"{ path = "book.txt", words = 2000 }"#,
                "A text of yours, cut to a length or repeated up to it.",
            ),
            key(
                "dataset",
                Kind::Parameters { table: "workload.prompt.dataset", alone: "path" },
                Fallback::None("another kind"),
                r#"{ path = "problems.jsonl", shuffle = true }"#,
                "Rows of a file.",
            ),
            key(
                "needle",
                Kind::Table("workload.prompt.needle"),
                Fallback::None("another kind"),
                r#"{ depths = [0, 0.5, 1], lengths = ["4Ki", "32Ki"] }"#,
                "Sentences hidden in long text, and questions about them.",
            ),
        ],
    },
    data::NEEDLE,
    prompts::SYNTHETIC,
    prompts::JOINT,
    prompts::IDS,
    prompts::SHARED_PREFIX,
    prompts::POPULARITY,
    prompts::TEXT,
    prompts::SYSTEM,
    data::DATASET,
    data::COLUMNS,
    data::FEW_SHOT,
    Table {
        path: "workload.output",
        doc: "How long answers are.",
        example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens = 256"#,
        one_of: &[],
        keys: &[
            key(
                "max_tokens",
                Kind::AnswerLength,
                Fallback::None("`max_tokens` of `request`"),
                "256",
                "Longest answer asked for, for each request: a number, a law, or `\"dataset\"` for what each row states, or \
                 else the tokens of its answer.",
            ),
            key(
                "exact",
                Kind::Boolean,
                Fallback::Value("false"),
                "true",
                "Whether answers shall be exactly that long: by `ignore_eos` and `min_tokens` where the API knows \
                 them. Answers that are not are a finding.",
            ),
        ],
    },
    score::KINDS,
    score::NUMBERS,
    score::MATH,
    score::CHOICE,
    score::REGEX,
    lengths::DISTRIBUTION,
    lengths::UNIFORM_TABLE,
    lengths::NORMAL_TABLE,
    lengths::LOGNORMAL_TABLE,
    lengths::GAMMA_TABLE,
    lengths::ZIPF_TABLE,
    lengths::VALUES_TABLE,
    lengths::MIX_TABLE,
    schedule::WORKLOAD_SESSION,
    schedule::COUNTS,
    schedule::COUNTS_UNIFORM,
    schedule::TIMES,
    schedule::TIMES_UNIFORM,
    schedule::TIMES_EXPONENTIAL,
    schedule::PHASE,
    schedule::PHASE_REQUESTS,
    schedule::PHASE_WARM_UP,
    schedule::PHASE_COOL_DOWN,
    schedule::PHASE_ALSO,
    schedule::PHASE_LOAD,
    schedule::PHASE_LOAD_POISSON,
    schedule::PHASE_LOAD_CONSTANT,
    schedule::PHASE_LOAD_GAMMA,
    schedule::PHASE_LOAD_RAMP,
    schedule::PHASE_LOAD_STEPS,
    schedule::PHASE_LOAD_TRACE,
    schedule::PHASE_LOAD_CLOSED,
    judged::OBJECTIVE,
    judged::RESULTS,
    schedule::STOP,
    verdict::VERDICT,
    observed::SERVER,
    observed::MODEL,
    sweep::SWEEP,
    sweep::SWEEP_AXIS,
    sweep::SWEEP_VALUES,
    sweep::SWEEP_LINEAR,
    sweep::SWEEP_GEOMETRIC,
    sweep::CAPACITY,
    Table {
        path: "slo",
        doc: "Limits one request must keep, all of them together.",
        example: r#"[slo]
ttft = "2s"
tpot = "80ms""#,
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

const NO_LIMIT: Fallback = Fallback::None("no limit");
