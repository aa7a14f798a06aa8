//! Tables of the schedule: phases, their loads, sessions, and rules to stop.

use super::tables::{ANY_DURATION, POSITIVE, REQUIRED, key};
use super::{Fallback, Kind, Table};
use crate::scenario::SessionForm;

const COUNT: Kind = Kind::Integer { min: 1, max: 1_000_000 };
const TURNS: Kind = Kind::Integer { min: 1, max: SessionForm::MOST_TURNS };
const WHEN_FULL: Kind = Kind::Choice(&["drop", "wait"]);
const DROP: Fallback = Fallback::Value(r#""drop""#);
const FULL: &str = "What becomes of a request due beyond that: left out, or held until there is room.";
const ARRIVALS: Kind = Kind::Choice(&["poisson", "constant"]);
const POISSON: Fallback = Fallback::Value(r#""poisson""#);
const MAX_IN_FLIGHT: Kind = Kind::Integer { min: 1, max: u32::MAX as u64 };
const NO_BOUND: Fallback = Fallback::None("10,000, or what descriptors allow");

pub(super) const WORKLOAD_SESSION: Table = Table {
    path: "workload.session",
    doc: "Conversations: each turn follows the end of the one before, and a turn that fails ends it. In an open \
          loop their begins follow the law of arrivals.",
    example: r#"[[workload]]
name = "talk"
prompt.synthetic.words = 40
session.turns.uniform = { min = 3, max = 8 }
session.think.exponential = "5s""#,
    one_of: &[],
    keys: &[
        key(
            "turns",
            Kind::Parameters { table: "counts", alone: "fixed" },
            Fallback::None("as many as the row of the data set has, or as fit `max_context`"),
            "5",
            "How many turns a conversation has. Of a row that is itself a conversation: at most so many. Of other \
             rows, and of made-up prompts, each turn is another one.",
        ),
        key(
            "think",
            Kind::Parameters { table: "times", alone: "fixed" },
            Fallback::None("no pause"),
            r#""2s""#,
            "The pause between the end of a turn and the next.",
        ),
        key(
            "history",
            Kind::Choice(&["real", "recorded", "none"]),
            Fallback::Value(r#""real""#),
            r#""none""#,
            "What a turn carries of those before it: all their prompts with the answers that the server gave, the \
             same with the answers that stand in the data set, or nothing.",
        ),
        key(
            "max_context",
            Kind::Tokens,
            Fallback::None("no bound"),
            r#""32Ki""#,
            "A conversation ends before a turn whose prompt, with all it carries, and the longest answer asked for \
             would pass so many tokens. Made-up prompts of a length in `tokens` go on until then unless `turns` says \
             otherwise.",
        ),
    ],
};

pub(super) const COUNTS: Table = Table {
    path: "counts",
    doc: "A law that counts follow. A plain number stands for itself.",
    example: r#"[[workload]]
name = "talk"
prompt.synthetic.words = 40
session.turns.uniform = { min = 3, max = 8 }"#,
    one_of: &["fixed", "uniform"],
    keys: &[
        key("fixed", TURNS, Fallback::None("another kind"), "5", "Always this many."),
        key(
            "uniform",
            Kind::Table("counts.uniform"),
            Fallback::None("another kind"),
            "{ min = 3, max = 8 }",
            "Every count from `min` to `max` equally often.",
        ),
    ],
};

pub(super) const COUNTS_UNIFORM: Table = Table {
    path: "counts.uniform",
    doc: "Every count from `min` to `max` equally often.",
    example: r#"[[workload]]
name = "talk"
prompt.synthetic.words = 40
session.turns.uniform.min = 3
session.turns.uniform.max = 8"#,
    one_of: &[],
    keys: &[
        key("min", TURNS, REQUIRED, "3", "Smallest count."),
        key("max", TURNS, REQUIRED, "8", "Largest count."),
    ],
};

pub(super) const TIMES: Table = Table {
    path: "times",
    doc: "A law that times follow. A plain duration stands for itself.",
    example: r#"[[phase]]
name = "people"
duration = "5m"
load.closed = { users = 50, think.exponential = "8s" }"#,
    one_of: &["fixed", "uniform", "exponential"],
    keys: &[
        key("fixed", ANY_DURATION, Fallback::None("another kind"), r#""2s""#, "Always this time."),
        key(
            "uniform",
            Kind::Table("times.uniform"),
            Fallback::None("another kind"),
            r#"{ min = "1s", max = "3s" }"#,
            "Every time from `min` to `max` equally often.",
        ),
        key(
            "exponential",
            Kind::Parameters { table: "times.exponential", alone: "mean" },
            Fallback::None("another kind"),
            r#""5s""#,
            "Independent exponential times.",
        ),
    ],
};

pub(super) const TIMES_UNIFORM: Table = Table {
    path: "times.uniform",
    doc: "Every time from `min` to `max` equally often.",
    example: r#"[[phase]]
name = "people"
duration = "5m"
load.closed.users = 50
load.closed.think.uniform = { min = "1s", max = "3s" }"#,
    one_of: &[],
    keys: &[
        key("min", ANY_DURATION, REQUIRED, r#""1s""#, "Shortest time."),
        key("max", ANY_DURATION, REQUIRED, r#""3s""#, "Longest time."),
    ],
};

pub(super) const TIMES_EXPONENTIAL: Table = Table {
    path: "times.exponential",
    doc: "Independent exponential times.",
    example: r#"[[phase]]
name = "people"
duration = "5m"
load.closed = { users = 50, think.exponential.mean = "8s" }"#,
    one_of: &[],
    keys: &[key("mean", POSITIVE, REQUIRED, r#""5s""#, "Their mean.")],
};

pub(super) const PHASE: Table = Table {
    path: "phase",
    doc: "A stretch of load.",
    example: r#"[[phase]]
name = "warm"
requests = 100
measure = false
load.closed = 4

[[phase]]
name = "steady"
warm_up = "30s"
duration = "5m"
load.poisson = "6/s""#,
    one_of: &[],
    keys: &[
        key("name", Kind::Name, REQUIRED, r#""steady""#, "Name of the phase in results."),
        key(
            "duration",
            POSITIVE,
            Fallback::None("until `requests` have been sent"),
            r#""5m""#,
            "How long load is offered, `warm_up` and `cool_down` included.",
        ),
        key(
            "requests",
            Kind::Parameters { table: "phase.requests", alone: "count" },
            Fallback::None("as many as `duration` gives"),
            "1000",
            "How many requests are sent, or `\"all\"`: every row of the data sets once. Turns count one by one.",
        ),
        key(
            "warm_up",
            Kind::Parameters { table: "phase.warm_up", alone: "time" },
            Fallback::None("none"),
            r#""30s""#,
            "First part of the phase, at full load and not measured.",
        ),
        key(
            "cool_down",
            Kind::Parameters { table: "phase.cool_down", alone: "time" },
            Fallback::None("none"),
            r#""30s""#,
            "Last part of the phase, at full load and not measured.",
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
        key("load", Kind::Table("phase.load"), REQUIRED, r#"{ poisson = "6/s" }"#, "How requests arrive."),
        key(
            "workloads",
            Kind::Names,
            Fallback::None("all that no `also` of the phase names"),
            r#"["w"]"#,
            "The workloads it sends.",
        ),
        key(
            "also",
            Kind::Tables("phase.also"),
            Fallback::None("one load only"),
            r#"[{ name = "side", load.constant = "1/s", workloads = ["w"] }]"#,
            "Further loads over the phase's whole time.",
        ),
    ],
};

pub(super) const PHASE_REQUESTS: Table = Table {
    path: "phase.requests",
    doc: "How many requests a phase sends. A plain number stands for `count`.",
    example: r#"[[phase]]
name = "users"
requests.per_user = 8
load.closed = 16"#,
    one_of: &["count", "per_user"],
    keys: &[
        key(
            "count",
            Kind::Requests,
            Fallback::None("another kind"),
            "1000",
            "In all, or `\"all\"`: every row of the data sets once.",
        ),
        key(
            "per_user",
            COUNT,
            Fallback::None("another kind"),
            "8",
            "Of each user of a closed loop, who ends the conversation it is in.",
        ),
    ],
};

pub(super) const PHASE_WARM_UP: Table = Table {
    path: "phase.warm_up",
    doc: "The first part of a phase, at full load and not measured. A plain duration stands for `time`.",
    example: r#"[[phase]]
name = "users"
requests.per_user = 8
warm_up.per_user = 1
cool_down.per_user = 1
load.closed = 16"#,
    one_of: &["time", "per_user"],
    keys: &[
        key("time", ANY_DURATION, Fallback::None("another kind"), r#""30s""#, "So long."),
        key(
            "per_user",
            COUNT,
            Fallback::None("another kind"),
            "1",
            "So many requests of each user of a closed loop, the first ones.",
        ),
    ],
};

pub(super) const PHASE_COOL_DOWN: Table = Table {
    path: "phase.cool_down",
    doc: "The last part of a phase, at full load and not measured. A plain duration stands for `time`.",
    example: r#"[[phase]]
name = "users"
requests.per_user = 8
warm_up.per_user = 1
cool_down.per_user = 1
load.closed = 16"#,
    one_of: &["time", "per_user"],
    keys: &[
        key("time", ANY_DURATION, Fallback::None("another kind"), r#""30s""#, "So long."),
        key(
            "per_user",
            COUNT,
            Fallback::None("another kind"),
            "1",
            "So many requests of each user of a closed loop, the last ones.",
        ),
    ],
};

pub(super) const PHASE_ALSO: Table = Table {
    path: "phase.also",
    doc: "A second load in the window of a phase, with random streams and `max_in_flight` of its own, but no \
          count, warm-up or window.",
    example: r#"[[workload]]
name = "documents"
prompt.synthetic.words = 8000

[[phase]]
name = "mixed"
duration = "5m"
load.poisson = "6/s"

[[phase.also]]
name = "background"
workloads = ["documents"]
load.closed = 2"#,
    one_of: &[],
    keys: &[
        key("name", Kind::Name, REQUIRED, r#""background""#, "Name of its random streams."),
        key("load", Kind::Table("phase.load"), REQUIRED, r#"{ closed = 2 }"#, "How its requests arrive."),
        key(
            "workloads",
            Kind::Names,
            REQUIRED,
            r#"["documents"]"#,
            "The workloads it sends, which no other load of the phase does.",
        ),
    ],
};

pub(super) const PHASE_LOAD: Table = Table {
    path: "phase.load",
    doc: "How requests arrive: at times of their own (an open loop), or when a user is free (a closed loop).",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.constant = "90/min""#,
    one_of: &["poisson", "constant", "gamma", "ramp", "steps", "trace", "closed"],
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
            "gamma",
            Kind::Table("phase.load.gamma"),
            Fallback::None("another kind"),
            r#"{ rate = "6/s", cv = 2 }"#,
            "Open loop: arrivals in bursts, or evener than chance.",
        ),
        key(
            "ramp",
            Kind::Table("phase.load.ramp"),
            Fallback::None("another kind"),
            r#"{ from = "0/s", to = "12/s" }"#,
            "Open loop: a rate that rises or falls over the phase's `duration`.",
        ),
        key(
            "steps",
            Kind::Table("phase.load.steps"),
            Fallback::None("another kind"),
            r#"{ rates = ["2/s", "4/s", "8/s"], each = "2m" }"#,
            "Open loop: one rate after another, without a break between them.",
        ),
        key(
            "trace",
            Kind::Table("phase.load.trace"),
            Fallback::None("another kind"),
            r#"{ path = "trace.jsonl", format = "mooncake", speed = 2 }"#,
            "Open loop: times that were recorded.",
        ),
        key(
            "closed",
            Kind::Parameters { table: "phase.load.closed", alone: "users" },
            Fallback::None("another kind"),
            "8",
            "Closed loop: each user sends when its last request has ended.",
        ),
    ],
};

pub(super) const PHASE_LOAD_POISSON: Table = Table {
    path: "phase.load.poisson",
    doc: "Independent arrivals at a mean rate.",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.poisson = { rate = "6/s", max_in_flight = 512 }"#,
    one_of: &[],
    keys: &[
        key("rate", Kind::Rate, REQUIRED, r#""6/s""#, "Mean arrivals."),
        key("max_in_flight", MAX_IN_FLIGHT, NO_BOUND, "512", "Most requests open at once."),
        key("when_full", WHEN_FULL, DROP, r#""wait""#, FULL),
    ],
};

pub(super) const PHASE_LOAD_CONSTANT: Table = Table {
    path: "phase.load.constant",
    doc: "Arrivals at equal distances.",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.constant = { rate = "90/min", max_in_flight = 64 }"#,
    one_of: &[],
    keys: &[
        key("rate", Kind::Rate, REQUIRED, r#""90/min""#, "Arrivals."),
        key("max_in_flight", MAX_IN_FLIGHT, NO_BOUND, "512", "Most requests open at once."),
        key("when_full", WHEN_FULL, DROP, r#""wait""#, FULL),
    ],
};

pub(super) const PHASE_LOAD_GAMMA: Table = Table {
    path: "phase.load.gamma",
    doc: "Independent gamma gaps.",
    example: r#"[[phase]]
name = "steady"
duration = "5m"
load.gamma = { rate = "6/s", cv = 3 }"#,
    one_of: &[],
    keys: &[
        key("rate", Kind::Rate, REQUIRED, r#""6/s""#, "Mean arrivals."),
        key(
            "cv",
            Kind::Number,
            REQUIRED,
            "2",
            "Standard deviation of the gaps over their mean: 1 is Poisson, above it come bursts.",
        ),
        key("max_in_flight", MAX_IN_FLIGHT, NO_BOUND, "512", "Most requests open at once."),
        key("when_full", WHEN_FULL, DROP, r#""wait""#, FULL),
    ],
};

pub(super) const PHASE_LOAD_RAMP: Table = Table {
    path: "phase.load.ramp",
    doc: "A rate that runs linearly over the phase's `duration`.",
    example: r#"[[phase]]
name = "steady"
duration = "10m"
load.ramp = { from = "1/s", to = "20/s" }"#,
    one_of: &[],
    keys: &[
        key("from", Kind::Level, REQUIRED, r#""1/s""#, "Rate at the begin."),
        key("to", Kind::Level, REQUIRED, r#""20/s""#, "Rate at the end."),
        key(
            "arrivals",
            ARRIVALS,
            POISSON,
            r#""constant""#,
            "Independent of one another, or as even as the rate allows.",
        ),
        key("max_in_flight", MAX_IN_FLIGHT, NO_BOUND, "512", "Most requests open at once."),
        key("when_full", WHEN_FULL, DROP, r#""wait""#, FULL),
    ],
};

pub(super) const PHASE_LOAD_STEPS: Table = Table {
    path: "phase.load.steps",
    doc: "One rate after another. They last `each` times their number; a shorter `duration` cuts them.",
    example: r#"[[phase]]
name = "steady"
load.steps = { rates = ["2/s", "4/s", "8/s"], each = "2m" }"#,
    one_of: &[],
    keys: &[
        key("rates", Kind::Levels, REQUIRED, r#"["2/s", "4/s", "8/s"]"#, "The rates, at least two."),
        key("each", POSITIVE, REQUIRED, r#""5m""#, "How long each holds."),
        key(
            "arrivals",
            ARRIVALS,
            POISSON,
            r#""constant""#,
            "Independent of one another, or as even as the rate allows.",
        ),
        key("max_in_flight", MAX_IN_FLIGHT, NO_BOUND, "512", "Most requests open at once."),
        key("when_full", WHEN_FULL, DROP, r#""wait""#, FULL),
    ],
};

pub(super) const PHASE_LOAD_TRACE: Table = Table {
    path: "phase.load.trace",
    doc: "Times that were recorded, from the first row of the file. Without `duration` the phase ends with them.",
    example: r#"[[phase]]
name = "steady"
load.trace = { path = "trace.jsonl", format = "mooncake", window = "10m", speed = 2 }"#,
    one_of: &["path", "workload"],
    keys: &[
        key(
            "path",
            Kind::Path,
            Fallback::None("the rows of `workload`"),
            r#""trace.jsonl""#,
            "The file, one arrival a line.",
        ),
        key(
            "workload",
            Kind::Name,
            Fallback::None("the file at `path`"),
            r#""replay""#,
            "The workload whose data set is a trace: each of its rows is sent at its own time. It is the only one \
             that the load sends.",
        ),
        key(
            "format",
            Kind::Choice(&["mooncake", "bailian", "azure", "burstgpt", "jsonl", "csv"]),
            Fallback::None("that of the workload's data set; with `path` it is needed"),
            r#""mooncake""#,
            "How it carries times. `jsonl` and `csv` leave field and unit to `column` and `unit`.",
        ),
        key(
            "column",
            Kind::Text,
            Fallback::None("that of the format"),
            r#""timestamp""#,
            "Column or field of the time, for `jsonl` and `csv`.",
        ),
        key(
            "unit",
            Kind::Choice(&["s", "ms", "us", "ns", "date"]),
            Fallback::None("that of the format"),
            r#""ms""#,
            "Unit of the time, for `jsonl` and `csv`.",
        ),
        key("speed", Kind::Number, Fallback::Value("1"), "2", "How many times faster than recorded."),
        key("skip", ANY_DURATION, Fallback::Value(r#""0s""#), r#""0s""#, "Trace time left out at the begin."),
        key("window", POSITIVE, Fallback::None("to its end"), r#""5m""#, "Trace time used after that."),
        key("max_in_flight", MAX_IN_FLIGHT, NO_BOUND, "512", "Most requests open at once."),
        key("when_full", WHEN_FULL, DROP, r#""wait""#, FULL),
    ],
};

pub(super) const PHASE_LOAD_CLOSED: Table = Table {
    path: "phase.load.closed",
    doc: "Users that each have one request open at a time.",
    example: r#"[[phase]]
name = "batch"
requests = 1000
load.closed.users = 8"#,
    one_of: &[],
    keys: &[
        key("users", Kind::Integer { min: 1, max: 1_000_000 }, REQUIRED, "8", "How many users."),
        key(
            "think",
            Kind::Parameters { table: "times", alone: "fixed" },
            Fallback::None("no pause"),
            r#""2s""#,
            "The pause of a user between the end of a request and the next. Within a conversation its \
             `session.think` holds.",
        ),
        key(
            "pace",
            POSITIVE,
            Fallback::None("`think` decides"),
            r#""10s""#,
            "A request of each user every so often, or once the last has ended if that is later. It holds for \
             the turns of a conversation too.",
        ),
        key(
            "ramp_up",
            ANY_DURATION,
            Fallback::Value(r#""0s""#),
            r#""30s""#,
            "The time over which users begin, one after another at equal distances.",
        ),
    ],
};

pub(super) const STOP: Table = Table {
    path: "stop",
    doc: "When a run is stopped before its end. What was measured by then is kept; its figures do not count as \
          valid.",
    example: r#"[stop]
error_share = "20%"
errors_in_a_row = 50
over_saturated = true"#,
    one_of: &[],
    keys: &[
        key(
            "error_share",
            Kind::Share,
            Fallback::Value("0.5"),
            r#""20%""#,
            "When more than this share of a phase's last 100 requests failed; 1 for never.",
        ),
        key(
            "errors_in_a_row",
            COUNT,
            Fallback::None("never"),
            "20",
            "When so many requests of a phase failed, one after another.",
        ),
        key(
            "over_saturated",
            Kind::Boolean,
            Fallback::Value("false"),
            "true",
            "When requests in flight and times to first token both keep growing over a phase.",
        ),
    ],
};
