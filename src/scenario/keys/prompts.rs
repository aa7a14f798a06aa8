//! Tables of made-up prompts, of what prompts share, and of how they are counted.

use super::tables::{REQUIRED, key};
use super::{Fallback, Kind, Table};

const OTHER: Fallback = Fallback::None("another kind");

pub(super) const TOKENIZER: Table = Table {
    path: "target.tokenizer",
    doc: "How tokens of prompts are counted before they are sent. Left out, a few requests before the run measure how \
          many tokens words and template have. What the template adds is measured in any case.",
    example: r#"[target]
url = "http://127.0.0.1:8000"
tokenizer.endpoint = "server""#,
    one_of: &["endpoint", "file"],
    keys: &[
        key(
            "endpoint",
            Kind::Choice(&["server"]),
            OTHER,
            r#""server""#,
            "By the server's `/tokenize`, as vLLM and llama.cpp have it.",
        ),
        key(
            "file",
            Kind::Path,
            OTHER,
            r#""tokenizer.json""#,
            "By a `tokenizer.json`, plain or gzip, or a tiktoken rank file, whose name tells its kind.",
        ),
    ],
};

pub(super) const SYNTHETIC: Table = Table {
    path: "workload.prompt.synthetic",
    doc: "Made-up text.",
    example: r#"[[workload]]
name = "documents"
prompt.synthetic.tokens.lognormal = { median = 8000, sigma = 0.8, max = "120Ki" }"#,
    one_of: &["words", "tokens", "joint"],
    keys: &[
        key(
            "words",
            Kind::Integer { min: 1, max: 10_000_000 },
            OTHER,
            "200",
            "Length of every prompt in words. How many tokens that is depends on the model.",
        ),
        key(
            "tokens",
            Kind::Distribution,
            OTHER,
            r#""8Ki""#,
            "Length of each prompt as the server counts it: prefix, instructions and template included. In \
             conversations, what each turn after the first adds.",
        ),
        key(
            "joint",
            Kind::Table("workload.prompt.synthetic.joint"),
            OTHER,
            "{ prompt = [500, 8000], output = [400, 50], weights = [3, 1] }",
            "Lengths of prompts as in `tokens`, each with that of its answer, which takes the place of \
             `output.max_tokens`.",
        ),
        key(
            "shared_prefix",
            Kind::Parameters { table: "workload.prompt.synthetic.shared_prefix", alone: "tokens" },
            Fallback::None("prompts share nothing"),
            "{ tokens = 2048, groups = 16 }",
            "What prompts begin with alike.",
        ),
        key(
            "ids",
            Kind::Table("workload.prompt.synthetic.ids"),
            Fallback::None("prompts are text"),
            "{ min = 1000, max = 30000 }",
            "Prompts are lists of token ids, for `api = \"completions\"` and `\"llamacpp\"`: no tokenizer has a part \
             in their length.",
        ),
    ],
};

pub(super) const IDS: Table = Table {
    path: "workload.prompt.synthetic.ids",
    doc: "The token ids that prompts are drawn from. Common vocabularies have their special tokens below 1000 or above \
          30000.",
    example: r#"[target]
url = "http://127.0.0.1:8000"
api = "completions"

[[workload]]
name = "documents"
prompt.synthetic.tokens = 4096
prompt.synthetic.ids = { min = 1000, max = 30000 }"#,
    one_of: &[],
    keys: &[
        key("min", Kind::Integer { min: 0, max: 10_000_000 }, Fallback::Value("1000"), "1000", "The least."),
        key(
            "max",
            Kind::Integer { min: 0, max: 10_000_000 },
            Fallback::Value("30000"),
            "30000",
            "The largest, included; of the model's vocabulary, and at least 63 above `min`.",
        ),
    ],
};

pub(super) const JOINT: Table = Table {
    path: "workload.prompt.synthetic.joint",
    doc: "Pairs of the lengths of a prompt and its answer: long prompts often have short answers, and two laws of their \
          own would miss that.",
    example: r#"[[workload]]
name = "mixed"
prompt.synthetic.joint = { prompt = [500, "8Ki"], output = [400, 50], weights = [3, 1] }"#,
    one_of: &[],
    keys: &[
        key("prompt", Kind::TokenList, REQUIRED, r#"[500, "8Ki"]"#, "Lengths of prompts."),
        key("output", Kind::TokenList, REQUIRED, "[400, 50]", "Length of the answer to each of them."),
        key(
            "weights",
            Kind::Numbers,
            Fallback::None("all equally often"),
            "[3, 1]",
            "How often each pair is taken, relative to the others.",
        ),
    ],
};

pub(super) const SHARED_PREFIX: Table = Table {
    path: "workload.prompt.synthetic.shared_prefix",
    doc: "Beginnings that prompts share, and with them what a server's prefix cache can answer. Under `cache = \"cold\"` \
          they are as long, and each request has its own: the control.",
    example: r#"[[workload]]
name = "documents"
prompt.synthetic.tokens = 4096
prompt.synthetic.shared_prefix = { tokens = 2048, groups = 16, popularity.zipf = 1.1, fill = true }"#,
    one_of: &[],
    keys: &[
        key("tokens", Kind::Tokens, REQUIRED, "2048", "Their length."),
        key(
            "groups",
            Kind::Integer { min: 1, max: 1_000_000 },
            Fallback::Value("1"),
            "16",
            "How many different ones there are.",
        ),
        key(
            "popularity",
            Kind::Parameters { table: "workload.prompt.synthetic.shared_prefix.popularity", alone: "order" },
            Fallback::None("`uniform`"),
            r#""round_robin""#,
            "How often each is taken.",
        ),
        key(
            "fill",
            Kind::Boolean,
            Fallback::Value("false"),
            "true",
            "Whether each is sent once before the run, so that all are known from its start.",
        ),
    ],
};

pub(super) const POPULARITY: Table = Table {
    path: "workload.prompt.synthetic.shared_prefix.popularity",
    doc: "How often each of several beginnings is taken.",
    example: r#"[[workload]]
name = "documents"
prompt.synthetic.tokens = 4096
prompt.synthetic.shared_prefix = { tokens = 2048, groups = 16, popularity.zipf = 1.1 }"#,
    one_of: &[],
    keys: &[
        key(
            "order",
            Kind::Choice(&["uniform", "round_robin"]),
            Fallback::Value(r#""uniform""#),
            r#""round_robin""#,
            "All equally often, drawn; or one after the other.",
        ),
        key(
            "zipf",
            Kind::Number,
            Fallback::None("all equally often"),
            "1.1",
            "A few are taken most: the k-th in proportion to k to the power of minus this, above 0.",
        ),
    ],
};

pub(super) const TEXT: Table = Table {
    path: "workload.prompt.text",
    doc: "A text of yours from its beginning: cut at the end of a word where a prompt is shorter, repeated where it is \
          longer. Unless `cache` is `\"natural\"` each request has 16 words of its own before it.",
    example: r#"[[workload]]
name = "book"
prompt.text = { path = "book.txt", words = 2000 }"#,
    one_of: &["words", "tokens"],
    keys: &[
        key("path", Kind::Path, REQUIRED, r#""book.txt""#, "The file, relative to the scenario file."),
        key(
            "words",
            Kind::Integer { min: 1, max: 10_000_000 },
            OTHER,
            "2000",
            "Length of every prompt in words, those of its own included. How many tokens that is depends on the model.",
        ),
        key(
            "tokens",
            Kind::Distribution,
            OTHER,
            r#""8Ki""#,
            "Length of each prompt as in `prompt.synthetic`, counted by `target.tokenizer.file`, which must be there. \
             What a cut leaves of it is made up by words of ours.",
        ),
    ],
};

pub(super) const SYSTEM: Table = Table {
    path: "workload.system",
    doc: "Instructions before a prompt, as the message of the system.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
system.text = "Answer in one sentence.""#,
    one_of: &["text", "path", "tokens"],
    keys: &[
        key("text", Kind::Text, OTHER, r#""Answer in one sentence.""#, "This text, in one line."),
        key(
            "path",
            Kind::Path,
            OTHER,
            r#""system.txt""#,
            "The text of a file, relative to the scenario file.",
        ),
        key("tokens", Kind::Tokens, OTHER, "512", "Made-up text of this length, the same for all requests."),
    ],
};
