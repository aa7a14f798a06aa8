//! Tables of the laws that lengths follow.

use super::tables::{REQUIRED, key};
use super::{Fallback, Key, Kind, Table};

const OTHER: Fallback = Fallback::None("another kind");
const MIN: Key =
    key("min", Kind::Tokens, Fallback::Value("1"), "64", "Smallest value; draws below are drawn again.");
const MAX: Key = key(
    "max",
    Kind::Tokens,
    Fallback::None("no bound"),
    r#""120Ki""#,
    "Largest value; draws above are drawn again.",
);
const FIXED: Key = key("fixed", Kind::Tokens, OTHER, "256", "Always this value.");
const UNIFORM: Key = key(
    "uniform",
    Kind::Table("distribution.uniform"),
    OTHER,
    "{ min = 64, max = 512 }",
    "Every value from `min` to `max` equally often.",
);
const NORMAL: Key = key(
    "normal",
    Kind::Table("distribution.normal"),
    OTHER,
    "{ mean = 1000, sd = 200 }",
    "The bell curve, rounded.",
);
const LOGNORMAL: Key = key(
    "lognormal",
    Kind::Table("distribution.lognormal"),
    OTHER,
    r#"{ median = 8000, sigma = 0.8, max = "120Ki" }"#,
    "Most values are short and a few very long, as real prompts are.",
);
const GAMMA: Key = key(
    "gamma",
    Kind::Table("distribution.gamma"),
    OTHER,
    "{ mean = 1000, cv = 0.5 }",
    "Between a bell curve and a long tail, by `cv`.",
);
const ZIPF: Key = key(
    "zipf",
    Kind::Table("distribution.zipf"),
    OTHER,
    r#"{ exponent = 1.1, max = "32Ki" }"#,
    "Value k in proportion to k to the power of −`exponent`.",
);
const VALUES: Key = key(
    "values",
    Kind::Parameters { table: "distribution.values", alone: "of" },
    OTHER,
    "{ of = [128, 1024, 8192], weights = [5, 3, 1] }",
    "One of these values.",
);

pub(super) const DISTRIBUTION: Table = Table {
    path: "distribution",
    doc: "A law that lengths follow. A plain number stands for itself.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens.lognormal = { median = 200, p99 = 1500, max = "4Ki" }"#,
    one_of: &["fixed", "uniform", "normal", "lognormal", "gamma", "zipf", "values", "mix"],
    keys: &[
        FIXED,
        UNIFORM,
        NORMAL,
        LOGNORMAL,
        GAMMA,
        ZIPF,
        VALUES,
        key(
            "mix",
            Kind::Tables("distribution.mix"),
            OTHER,
            "[{ weight = 3, fixed = 100 }, { weight = 1, uniform = { min = 500, max = 900 } }]",
            "One of several laws.",
        ),
    ],
};

pub(super) const UNIFORM_TABLE: Table = Table {
    path: "distribution.uniform",
    doc: "Every value from `min` to `max` equally often.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens.uniform.min = 64
output.max_tokens.uniform.max = "4Ki""#,
    one_of: &[],
    keys: &[
        key("min", Kind::Tokens, REQUIRED, "64", "Smallest value."),
        key("max", Kind::Tokens, REQUIRED, r#""4Ki""#, "Largest value."),
    ],
};

pub(super) const NORMAL_TABLE: Table = Table {
    path: "distribution.normal",
    doc: "The bell curve, rounded. Values outside `min` and `max` are drawn again.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens.normal = { mean = 250, sd = 50, min = 100 }"#,
    one_of: &[],
    keys: &[
        key("mean", Kind::Tokens, REQUIRED, "1000", "Its mean, before values are drawn again."),
        key("sd", Kind::Number, REQUIRED, "200", "Its standard deviation, in tokens."),
        MIN,
        MAX,
    ],
};

pub(super) const LOGNORMAL_TABLE: Table = Table {
    path: "distribution.lognormal",
    doc: "Values whose logarithms follow a bell curve: most are short and a few very long. Values outside `min` and \
          `max` are drawn again.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens.lognormal = { median = 200, sigma = 0.8, max = "4Ki" }"#,
    one_of: &["sigma", "p99"],
    keys: &[
        key("median", Kind::Tokens, REQUIRED, "8000", "Half of the values lie below."),
        key(
            "sigma",
            Kind::Number,
            Fallback::None("`p99` says it"),
            "0.8",
            "Standard deviation of their natural logarithms.",
        ),
        key(
            "p99",
            Kind::Tokens,
            Fallback::None("`sigma` says it"),
            r#""60k""#,
            "99 of 100 values lie below.",
        ),
        MIN,
        MAX,
    ],
};

pub(super) const GAMMA_TABLE: Table = Table {
    path: "distribution.gamma",
    doc: "Sums of exponential values. Values outside `min` and `max` are drawn again.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens.gamma = { mean = 250, cv = 0.5 }"#,
    one_of: &[],
    keys: &[
        key("mean", Kind::Tokens, REQUIRED, "1000", "Its mean, before values are drawn again."),
        key("cv", Kind::Number, REQUIRED, "0.5", "Standard deviation divided by mean: 1 is exponential."),
        MIN,
        MAX,
    ],
};

pub(super) const ZIPF_TABLE: Table = Table {
    path: "distribution.zipf",
    doc: "Value k in proportion to k to the power of −`exponent`, from `min` to `max`.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens.zipf = { exponent = 1.1, min = 16, max = "4Ki" }"#,
    one_of: &[],
    keys: &[
        key("exponent", Kind::Number, REQUIRED, "1.1", "How steeply it falls, above 0."),
        key("min", Kind::Tokens, Fallback::Value("1"), "16", "Smallest value."),
        key("max", Kind::Tokens, REQUIRED, r#""32Ki""#, "Largest value."),
    ],
};

pub(super) const VALUES_TABLE: Table = Table {
    path: "distribution.values",
    doc: "One of these values, each as often as its weight says.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens.values = { of = [64, 256, 1024], weights = [5, 3, 1] }"#,
    one_of: &[],
    keys: &[
        key("of", Kind::TokenList, REQUIRED, r#"[128, 1024, "8Ki"]"#, "The values."),
        key(
            "weights",
            Kind::Numbers,
            Fallback::None("all equally often"),
            "[5, 3, 1]",
            "How often each is taken, relative to the others.",
        ),
    ],
};

pub(super) const MIX_TABLE: Table = Table {
    path: "distribution.mix",
    doc: "One of several laws, each as often as its weight says.",
    example: r#"[[workload]]
name = "chat"
prompt.synthetic.words = 200
output.max_tokens.mix = [{ weight = 3, fixed = 64 }, { weight = 1, normal = { mean = 900, sd = 100 } }]"#,
    one_of: &["fixed", "uniform", "normal", "lognormal", "gamma", "zipf", "values"],
    keys: &[
        key(
            "weight",
            Kind::Number,
            Fallback::Value("1"),
            "3",
            "How often it is taken, relative to the others.",
        ),
        FIXED,
        UNIFORM,
        NORMAL,
        LOGNORMAL,
        GAMMA,
        ZIPF,
        VALUES,
    ],
};
