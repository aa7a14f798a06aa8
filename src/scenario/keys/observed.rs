//! Tables of what is known and watched of the server from outside its answers.

use super::tables::{POSITIVE, key};
use super::{Fallback, Kind, Table};

const FROM_CONFIG: Fallback = Fallback::None("that of the file at `path`");
const COUNT: Kind = Kind::Integer { min: 1, max: 1_000_000 };

pub(super) const MODEL: Table = Table {
    path: "model",
    doc: "The model in the server's memory. A `config.json` of Hugging Face says most of it; keys given beside it \
          come over what it says.",
    example: r#"[model]
layers = 80
kv_heads = 8
head_size = 128
kv_type = "fp8"
weights = "146GB"
memory = "320GB"
tensor_parallel = 4"#,
    one_of: &[],
    keys: &[
        key(
            "path",
            Kind::Path,
            Fallback::None("the keys below say all"),
            r#""config.json""#,
            "A model's `config.json`. Weights are those that a `model.safetensors.index.json` beside it states.",
        ),
        key("layers", COUNT, FROM_CONFIG, "80", "Layers that keep keys and values."),
        key(
            "kv_heads",
            COUNT,
            FROM_CONFIG,
            "8",
            "Heads of keys and values: as many as query heads (MHA), fewer (GQA) or one (MQA).",
        ),
        key("head_size", COUNT, FROM_CONFIG, "128", "Elements of one key or value."),
        key(
            "kv_latent",
            COUNT,
            FROM_CONFIG,
            "576",
            "Elements a layer keeps of a token in place of heads (MLA): `kv_lora_rank` + `qk_rope_head_dim`.",
        ),
        key(
            "kv_type",
            Kind::Choice(&["fp32", "fp16", "bf16", "fp8", "int8", "int4"]),
            Fallback::None("the model's own type, of the file at `path`"),
            r#""fp8""#,
            "Type of one element as the server stores it.",
        ),
        key(
            "weights",
            Kind::Bytes,
            Fallback::None("those stated beside the file at `path`, or not known"),
            r#""146GB""#,
            "Size of all weights.",
        ),
        key(
            "memory",
            Kind::Bytes,
            Fallback::None("what fits is not computed"),
            r#""320GB""#,
            "Memory of all devices together.",
        ),
        key(
            "utilisation",
            Kind::Share,
            Fallback::Value("0.9"),
            r#""90%""#,
            "Share of the memory that the server takes for weights, keys and values.",
        ),
        key(
            "tensor_parallel",
            Kind::Integer { min: 1, max: 100_000 },
            Fallback::Value("1"),
            "4",
            "Devices that share each layer. Beyond the number of KV heads, and for a latent always, each keeps a copy.",
        ),
    ],
};

pub(super) const SERVER: Table = Table {
    path: "server",
    doc: "Metrics of the server, looked at beside the run and kept in `server.csv`. Those of vLLM, SGLang and \
          llama.cpp are known by name.",
    example: r#"[server]
metrics = ["http://10.0.0.1:8000/metrics", "http://10.0.0.2:8000/metrics"]
every = "2s"
extra = ["vllm:iteration_tokens_total"]"#,
    one_of: &[],
    keys: &[
        key(
            "metrics",
            Kind::Pages,
            Fallback::Value(r#""/metrics""#),
            r#""http://127.0.0.1:8000/metrics""#,
            "Page of metrics: a path of the target, or an address of its own, which is sent no key; or a list. A \
             rehearsal looks at the first alone, and finds the simulated server there.",
        ),
        key(
            "every",
            POSITIVE,
            Fallback::Value(r#""1s""#),
            r#""1s""#,
            "Time from look to look, at least `100ms`.",
        ),
        key(
            "block_size",
            Kind::Integer { min: 1, max: 65_536 },
            Fallback::None("what the server states, else 16"),
            "16",
            "Tokens of a block of the server's memory.",
        ),
        key(
            "extra",
            Kind::Metrics,
            Fallback::None("none"),
            r#"["vllm:iteration_tokens_total"]"#,
            "Further metrics by name, kept in `server_extra.csv` with their labels, without buckets.",
        ),
    ],
};
