//! Tables of a sweep, the axes it goes along and how, and of a search for a capacity.

use super::tables::{ANY_DURATION, POSITIVE, REQUIRED, key};
use super::{Fallback, Kind, Table};

const OTHER: Fallback = Fallback::None("the other of the two");

pub(super) const SWEEP: Table = Table {
    path: "sweep",
    doc: "The scenario again and again, with other values of some of its keys: one point for each combination of the \
          axes' values. All points stand in one results folder, and side by side in `points.csv`. A point runs all \
          phases, with prompts of its own, once the last request of the point before is over.",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.closed.users = 1

[sweep]
repeats = 3
pause = "10s"

[[sweep.axis]]
name = "users"
key = "phase.steady.load.closed.users"
values = [1, 8, 64]"#,
    one_of: &[],
    keys: &[
        key(
            "axis",
            Kind::Tables("sweep.axis"),
            REQUIRED,
            r#"[{ name = "users", key = "phase.steady.load.closed.users", values = [1, 8, 64] }]"#,
            "What differs between points.",
        ),
        key(
            "repeats",
            Kind::Integer { min: 1, max: 1_000 },
            Fallback::Value("1"),
            "3",
            "How often each point is run. The first draws from the scenario's seed, each further one from a seed \
             that follows from it, the same for all points.",
        ),
        key(
            "order",
            Kind::Choice(&["points", "repeats", "shuffled"]),
            Fallback::Value(r#""points""#),
            r#""repeats""#,
            "The order of points and repeats: all repeats of a point before the next point, all points before the \
             next repeat, or as drawn from the seed.",
        ),
        key(
            "pause",
            ANY_DURATION,
            Fallback::Value(r#""0s""#),
            r#""10s""#,
            "The time in which nothing is sent, between the end of a point's last request and the next point.",
        ),
        key(
            "skip",
            Kind::Skips,
            Fallback::None("no point"),
            r#"[{ context = "128Ki", users = 64 }]"#,
            "Points to leave out: values by the names of axes, as they stand there. An axis that is not named may \
             have any value.",
        ),
    ],
};

pub(super) const SWEEP_AXIS: Table = Table {
    path: "sweep.axis",
    doc: "Values of a key that the sweep goes through. Axes cross each other; the last one changes fastest. What \
          `--set` says comes after, so it cannot name a key of an axis.",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.poisson.rate = "1/s"

[[sweep.axis]]
name = "rate"
key = "phase.steady.load.poisson.rate"
values = ["2/s", "4/s", "8/s"]

[[workload]]
name = "chat"
prompt.synthetic.words = 200

[[sweep.axis]]
name = "shape"
keys = ["workload.chat.prompt.synthetic.words", "workload.chat.output.max_tokens"]
values = [[200, 800], [4000, 100]]"#,
    one_of: &["key", "keys"],
    keys: &[
        key("name", Kind::Name, REQUIRED, r#""users""#, "Its name, and that of its column in `points.csv`."),
        key(
            "key",
            Kind::KeyPath,
            OTHER,
            r#""phase.steady.load.closed.users""#,
            "The key it sets, with phases and workloads by name.",
        ),
        key(
            "keys",
            Kind::KeyPaths,
            OTHER,
            r#"["workload.chat.prompt.synthetic.words", "workload.chat.output.max_tokens"]"#,
            "Keys that change together: each value is then a list with a value for each.",
        ),
        key("values", Kind::Values, REQUIRED, "[1, 8, 64]", "The values, in order, or a range of them."),
    ],
};

pub(super) const SWEEP_VALUES: Table = Table {
    path: "sweep.axis.values",
    doc: "A range of values of one key. Both ends belong to it where the steps reach them.",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.closed.users = 1

[[sweep.axis]]
name = "users"
key = "phase.steady.load.closed.users"
values.geometric = { from = 1, to = 64, factor = 2 }"#,
    one_of: &["linear", "geometric"],
    keys: &[
        key(
            "linear",
            Kind::Table("sweep.axis.values.linear"),
            Fallback::None("another range"),
            "{ from = 8, to = 64, step = 8 }",
            "Values at equal distances.",
        ),
        key(
            "geometric",
            Kind::Table("sweep.axis.values.geometric"),
            Fallback::None("another range"),
            r#"{ from = "1/s", to = "32/s", factor = 2 }"#,
            "Each value so many times the one before.",
        ),
    ],
};

const FROM: &str = "The first value, as the key takes it.";
const TO: &str = "The value not to be passed, as the key takes it.";

pub(super) const SWEEP_LINEAR: Table = Table {
    path: "sweep.axis.values.linear",
    doc: "Values at equal distances.",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.closed.users = 1

[[sweep.axis]]
name = "users"
key = "phase.steady.load.closed.users"
values.linear = { from = 8, to = 64, step = 8 }"#,
    one_of: &[],
    keys: &[
        key("from", Kind::Amount, REQUIRED, "8", FROM),
        key("to", Kind::Amount, REQUIRED, "64", TO),
        key("step", Kind::Amount, REQUIRED, "8", "The distance, as the key takes it."),
    ],
};

pub(super) const SWEEP_GEOMETRIC: Table = Table {
    path: "sweep.axis.values.geometric",
    doc: "Each value so many times the one before. Keys of whole numbers take the nearest ones.",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.poisson.rate = "1/s"

[[sweep.axis]]
name = "rate"
key = "phase.steady.load.poisson.rate"
values.geometric = { from = "1/s", to = "32/s", factor = 2 }"#,
    one_of: &[],
    keys: &[
        key("from", Kind::Amount, REQUIRED, r#""1/s""#, FROM),
        key("to", Kind::Amount, REQUIRED, r#""32/s""#, TO),
        key("factor", Kind::Number, REQUIRED, "2", "How many times, above 1."),
    ],
};

pub(super) const CAPACITY: Table = Table {
    path: "capacity",
    doc: "A search for the highest value of a key at which every `[[objective]]` holds. Values are doubled until one \
          fails, then the gap is halved. Each value is a run of its own; where it does not tell, it is run again for \
          twice as long. All runs stand in one results folder and in `points.csv`.",
    example: r#"[[phase]]
name = "steady"
warm_up = "10s"
duration = "1m"
load.poisson.rate = "1/s"

[[objective]]
metric = "ttft"
percentile = 99
at_most = "2s"

[capacity]
key = "phase.steady.load.poisson.rate"
from = "1/s"
to = "64/s""#,
    one_of: &[],
    keys: &[
        key(
            "key",
            Kind::KeyPath,
            REQUIRED,
            r#""phase.steady.load.poisson.rate""#,
            "The key whose value is searched, with phases and workloads by name: a rate, users, or any key of numbers.",
        ),
        key(
            "from",
            Kind::Amount,
            REQUIRED,
            r#""1/s""#,
            "The lowest value, as the key takes it. It is tried first.",
        ),
        key("to", Kind::Amount, REQUIRED, r#""64/s""#, "The highest value, as the key takes it."),
        key(
            "precision",
            Kind::Share,
            Fallback::Value(r#""5%""#),
            r#""10%""#,
            "How far apart the highest value that holds and the lowest that fails may be.",
        ),
        key(
            "confidence",
            Kind::Share,
            Fallback::Value(r#""95%""#),
            r#""99%""#,
            "The chance that no run of the search is taken wrongly, shared out over all of them.",
        ),
        key(
            "max_step",
            POSITIVE,
            Fallback::Value(r#""10m""#),
            r#""20m""#,
            "The longest `duration` that the measured phase is given.",
        ),
        key(
            "max_time",
            POSITIVE,
            Fallback::Value(r#""2h""#),
            r#""8h""#,
            "When the search ends without an answer.",
        ),
        key(
            "confirm",
            POSITIVE,
            Fallback::None("it is not run again"),
            r#""30m""#,
            "How long the highest value that holds is run once more at the end. Where it fails, the search goes on below.",
        ),
    ],
};
