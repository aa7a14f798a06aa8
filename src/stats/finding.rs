//! What there is to know when reading figures: how it weighs, what it means, what to do.
//!
//! The words of a finding stand here and nowhere else.

use std::fmt;

use super::fold::ALL;
use super::verdict::Verdict;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// To know when reading the figures.
    Warning,
    /// The sample does not carry the figures.
    Insufficient,
    /// The figures are wrong.
    Invalid,
}

impl Severity {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Warning => "warning",
            Severity::Insufficient => "insufficient",
            Severity::Invalid => "invalid",
        }
    }

    pub(super) fn verdict(self) -> Verdict {
        match self {
            Severity::Warning => Verdict::Valid,
            Severity::Insufficient => Verdict::Insufficient,
            Severity::Invalid => Verdict::Invalid,
        }
    }
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// Requests went out late by the client's own fault.
    SendDelay,
    /// The client's event loop woke late.
    LoopDelay,
    /// Bytes lay in the kernel before they were read.
    ReadDelay,
    /// Reads brought several events at once.
    SharedReads,
    /// The client's sender had little room left.
    SenderCpu,
    /// The time of day was set.
    ClockStep,
    /// Events waited to be taken in.
    Backlog,
    /// The client took much of the memory there is.
    Memory,
    /// The client itself failed.
    ClientErrors,
    /// Fewer requests were sent than were due.
    RateNotReached,
    /// Requests were dropped because `max_in_flight` was full.
    Dropped,
    /// Too few answers.
    FewAnswers,
    /// Answers too much alike to count one by one.
    Dependent,
    /// Load the server does not keep up with.
    Growing,
    /// A window of few answers' length.
    ShortWindow,
    /// Rows of a data set were asked again.
    RepeatedRows,
    /// The server's cache knew prompts that this run had not brought.
    StrangeHits,
    /// The server's cache knew next to nothing of what it could.
    CacheUnused,
    /// Answers unfinished at the end.
    Unfinished,
    /// Requests failed.
    Failed,
    /// Prompts were not as long as asked for.
    PromptLength,
    /// Answers were not as long as asked for.
    OutputLength,
    /// Answers ran into their token limit.
    Truncated,
    /// Events came together.
    Bursts,
    /// Tokens could not be counted.
    Uncounted,
    /// Limits could not be judged.
    SloUnmeasurable,
    /// Conversations came to the end of their context.
    ContextFull,
    /// Answers to long prompts are right less often.
    AccuracyFallsWithLength,
    /// Needles at one depth are found less often than at others.
    AccuracyFallsWithDepth,
    /// Answers are right less often while much is in flight.
    AccuracyFallsWithLoad,
    /// Answers in which nothing answers.
    NoAnswer,
    /// They are more among long prompts.
    NoAnswerRisesWithLength,
    /// They are more while much is in flight.
    NoAnswerRisesWithLoad,
    /// Most answers that are not right were cut at their limit.
    NotRightTruncated,
    /// Answers of a scored workload that were not checked.
    Unchecked,
    /// First answers that were forgotten, so that later ones to the same request were not compared.
    AnswersForgotten,
    /// The same request got different answers.
    Inconsistent,
    /// Objectives that the sample does not decide.
    Undetermined,
    /// Shards did not begin a phase together.
    ShardsApart,
    /// Too many of the last requests failed, and the run was stopped.
    StoppedByErrors,
    /// Too many requests failed one after another, and the run was stopped.
    StoppedByErrorsInARow,
    /// Requests in flight and times to first token kept growing, and the run was stopped.
    StoppedOverSaturated,
}

/// Unit of what a finding measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Milliseconds.
    Ms,
    /// A share, from 0 to 1.
    Share,
    /// Requests.
    Requests,
    /// So many times something.
    Times,
    /// Objectives.
    Objectives,
    /// Bytes.
    Bytes,
}

impl Measure {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Ms => "ms",
            Measure::Share => "share",
            Measure::Requests => "requests",
            Measure::Times => "times",
            Measure::Objectives => "objectives",
            Measure::Bytes => "bytes",
        }
    }

    fn write(self, value: f64) -> String {
        match self {
            Measure::Ms if value < 9.95 => format!("{value:.1} ms"),
            Measure::Ms => format!("{value:.0} ms"),
            Measure::Share if value < 0.00995 => format!("{:.2} %", value * 100.0),
            Measure::Share => format!("{:.1} %", value * 100.0),
            Measure::Requests => format!("{value:.0} requests"),
            Measure::Times => format!("{value:.1} times"),
            Measure::Objectives => format!("{value:.0}"),
            Measure::Bytes => format!("{:.1} MiB", value / f64::from(1 << 20)),
        }
    }
}

/// One thing to know about the figures of a phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// What it is about.
    pub kind: FindingKind,
    /// How much it weighs.
    pub severity: Severity,
    /// Name of the phase.
    pub phase: String,
    /// What was found.
    pub measured: f64,
    /// The limit it is over (or, for answers, under).
    pub threshold: f64,
    /// Rows behind it, where it is about rows.
    pub count: u64,
}

impl Finding {
    /// What there is to know where so many first answers were forgotten.
    pub fn answers_forgotten(count: u64) -> Option<Finding> {
        (count > 0).then(|| Finding {
            kind: FindingKind::AnswersForgotten,
            severity: Severity::Warning,
            phase: ALL.to_owned(),
            measured: count as f64,
            threshold: 0.0,
            count,
        })
    }
}

impl FindingKind {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            FindingKind::SendDelay => "send_delay",
            FindingKind::LoopDelay => "loop_delay",
            FindingKind::ReadDelay => "read_delay",
            FindingKind::SharedReads => "shared_reads",
            FindingKind::SenderCpu => "sender_cpu",
            FindingKind::ClockStep => "clock_step",
            FindingKind::Backlog => "backlog",
            FindingKind::Memory => "memory",
            FindingKind::ClientErrors => "client_errors",
            FindingKind::RateNotReached => "rate_not_reached",
            FindingKind::Dropped => "dropped",
            FindingKind::FewAnswers => "few_answers",
            FindingKind::Dependent => "dependent",
            FindingKind::Growing => "growing",
            FindingKind::ShortWindow => "short_window",
            FindingKind::RepeatedRows => "repeated_rows",
            FindingKind::StrangeHits => "strange_hits",
            FindingKind::CacheUnused => "cache_unused",
            FindingKind::Unfinished => "unfinished",
            FindingKind::Failed => "failed",
            FindingKind::PromptLength => "prompt_length",
            FindingKind::OutputLength => "output_length",
            FindingKind::Truncated => "truncated",
            FindingKind::Bursts => "bursts",
            FindingKind::Uncounted => "uncounted",
            FindingKind::SloUnmeasurable => "slo_unmeasurable",
            FindingKind::ContextFull => "context_full",
            FindingKind::AccuracyFallsWithLength => "accuracy_falls_with_length",
            FindingKind::AccuracyFallsWithDepth => "accuracy_falls_with_depth",
            FindingKind::AccuracyFallsWithLoad => "accuracy_falls_with_load",
            FindingKind::NoAnswer => "no_answer",
            FindingKind::NoAnswerRisesWithLength => "no_answer_rises_with_length",
            FindingKind::NoAnswerRisesWithLoad => "no_answer_rises_with_load",
            FindingKind::NotRightTruncated => "not_right_truncated",
            FindingKind::Unchecked => "unchecked",
            FindingKind::AnswersForgotten => "answers_forgotten",
            FindingKind::Inconsistent => "inconsistent",
            FindingKind::Undetermined => "undetermined",
            FindingKind::ShardsApart => "shards_apart",
            FindingKind::StoppedByErrors => "stopped_by_errors",
            FindingKind::StoppedByErrorsInARow => "stopped_by_errors_in_a_row",
            FindingKind::StoppedOverSaturated => "stopped_over_saturated",
        }
    }

    /// Unit of `measured` and `threshold`.
    pub fn measure(self) -> Measure {
        match self {
            FindingKind::SendDelay
            | FindingKind::LoopDelay
            | FindingKind::ReadDelay
            | FindingKind::ClockStep
            | FindingKind::ShardsApart => Measure::Ms,
            FindingKind::FewAnswers
            | FindingKind::Dependent
            | FindingKind::Uncounted
            | FindingKind::SloUnmeasurable
            | FindingKind::ContextFull
            | FindingKind::Unchecked
            | FindingKind::AnswersForgotten
            | FindingKind::StoppedByErrorsInARow => Measure::Requests,
            FindingKind::ShortWindow | FindingKind::StoppedOverSaturated => Measure::Times,
            FindingKind::Undetermined => Measure::Objectives,
            FindingKind::Backlog => Measure::Bytes,
            _ => Measure::Share,
        }
    }

    /// What it does to the figures.
    pub fn meaning(self) -> &'static str {
        match self {
            FindingKind::SendDelay => {
                "the schedule was not kept, and latencies from the due time contain the client"
            }
            FindingKind::LoopDelay => "times read by the client contain its own delay",
            FindingKind::ReadDelay => "the client was busy, and times without kernel stamps contain that",
            FindingKind::SharedReads => {
                "only the last event of a read has its own time, and gaps are those of reads"
            }
            FindingKind::SenderCpu => "little more load and its delays show in every time it takes",
            FindingKind::ClockStep => {
                "latencies stand, which no time of day enters; times cannot be laid beside logs or other machines"
            }
            FindingKind::Backlog => "results, progress and stop rules came behind what happened",
            FindingKind::Memory => "a longer run may be killed, and a server beside it is short of memory",
            FindingKind::ClientErrors => "failures of the client are not failures of the server",
            FindingKind::RateNotReached => "figures hold for the rate achieved, not for the one asked for",
            FindingKind::Dropped => {
                "the server saw less load than offered, and success counts them as failed"
            }
            FindingKind::FewAnswers => "high percentiles cannot be told from fewer",
            FindingKind::Dependent => "they came in swings of the queue, and another run may show others",
            FindingKind::Growing => {
                "the server does not keep up, and every latency depends on how long the run was"
            }
            FindingKind::ShortWindow => "rates and throughputs are mostly those of its begin and end",
            FindingKind::RepeatedRows => "a prefix cache may have answered them",
            FindingKind::StrangeHits => {
                "times to first token are those of a cache that was warm before the run"
            }
            FindingKind::CacheUnused => "times to first token are those of a server without prefix cache",
            FindingKind::Unfinished => "latencies lack the slowest answers",
            FindingKind::Failed => "latencies are those of the answers that came",
            FindingKind::PromptLength => "the load is not the one described",
            FindingKind::OutputLength => "throughput and end-to-end times hold for the real lengths",
            FindingKind::Truncated => "their lengths, and answers scored from them, are those of the limit",
            FindingKind::Bursts => "gaps describe a buffer between model and client, not the model",
            FindingKind::Uncounted => "token metrics lack them, and throughputs are lower bounds",
            FindingKind::SloUnmeasurable => "they count as not good though no limit is known to be missed",
            FindingKind::ContextFull => "conversations are shorter than described",
            FindingKind::AccuracyFallsWithLength => {
                "more than chance: the model, its context or its cache loses what is far back"
            }
            FindingKind::AccuracyFallsWithDepth => {
                "more than chance: the model, its context or its cache loses what lies there"
            }
            FindingKind::AccuracyFallsWithLoad => "more than chance: the server's answers change under load",
            FindingKind::NoAnswer => "accuracy counts them as not right",
            FindingKind::NoAnswerRisesWithLength | FindingKind::NoAnswerRisesWithLoad => {
                "more than chance, and accuracy falls with them"
            }
            FindingKind::NotRightTruncated => "accuracy is that of the limit rather than that of the model",
            FindingKind::Unchecked => "accuracy says nothing of them",
            FindingKind::AnswersForgotten => "consistency says nothing of later answers to the same requests",
            FindingKind::Inconsistent => {
                "at temperature 0 they should be the same: a cache, batching or arithmetic changes them"
            }
            FindingKind::Undetermined => "their intervals contain the bound, or there is none",
            FindingKind::ShardsApart => "for that long only a part of the load was offered",
            FindingKind::StoppedByErrors
            | FindingKind::StoppedByErrorsInARow
            | FindingKind::StoppedOverSaturated => {
                "the run was stopped, and its figures hold for what was measured by then"
            }
        }
    }

    /// What to do.
    pub fn advice(self) -> &'static str {
        match self {
            FindingKind::SendDelay
            | FindingKind::LoopDelay
            | FindingKind::ReadDelay
            | FindingKind::SharedReads
            | FindingKind::SenderCpu => {
                "free the client's CPU, lower the load, or split it over machines with --shard"
            }
            FindingKind::ClockStep => {
                "let the machine's clock settle before a run, and have it slewed instead of set"
            }
            FindingKind::Backlog => {
                "write to a faster disk with --out, turn results.chunks and results.responses off, or split the load"
            }
            FindingKind::Memory => "run shorter, or split the load over machines with --shard",
            FindingKind::ClientErrors => {
                "see column `error` of requests.csv: descriptors, ports, or a file that could not be read"
            }
            FindingKind::RateNotReached => "raise max_in_flight, or lower the rate to what the server takes",
            FindingKind::Dropped => "raise max_in_flight, lower the rate, or set when_full = \"wait\"",
            FindingKind::FewAnswers => "run longer, or send more requests",
            FindingKind::Dependent => "run longer, lengthen warm_up, or lower the load",
            FindingKind::Growing => {
                "lower the rate, or lengthen warm_up if the load is one the server can take"
            }
            FindingKind::ShortWindow => "lengthen `duration`, or send more `requests`",
            FindingKind::StrangeHits => {
                "let each run draw its own salt, empty the cache with target.reset_cache, or use the server alone"
            }
            FindingKind::CacheUnused => {
                "switch the server's prefix cache on, or see whether it has room: requests may go to several servers"
            }
            FindingKind::RepeatedRows => "use a data set with more rows, or a shorter run",
            FindingKind::Unfinished => "lengthen or remove `drain`, or lower the load",
            FindingKind::Failed => "see columns `outcome` and `error` of requests.csv",
            FindingKind::PromptLength => "take prompt_tokens, as the server counted, for the length",
            FindingKind::OutputLength => "check that the server honours ignore_eos and min_tokens",
            FindingKind::Truncated => "raise output.max_tokens, or set output.exact if the length is meant",
            FindingKind::Bursts => "turn off buffering in the proxy or gateway on the way",
            FindingKind::Uncounted => "let the server send usage (stream_options)",
            FindingKind::SloUnmeasurable => "limit a metric that this server's answers allow to measure",
            FindingKind::ContextFull => {
                "see column `error` of requests.csv; raise max_context, or lower `turns` and the lengths of prompts"
            }
            FindingKind::AccuracyFallsWithLength => {
                "see accuracy.csv by length; try again without prefix cache and at low load"
            }
            FindingKind::AccuracyFallsWithDepth => {
                "see accuracy.csv by depth and length; try again without prefix cache and at low load"
            }
            FindingKind::AccuracyFallsWithLoad => {
                "compare verdicts of the same rows at low load in requests.csv; look at preemptions and precision"
            }
            FindingKind::NoAnswer
            | FindingKind::NoAnswerRisesWithLength
            | FindingKind::NoAnswerRisesWithLoad => {
                "see columns `rule` and `finish_reason` of requests.csv; ask for the answer in a form that `score` finds"
            }
            FindingKind::NotRightTruncated => "raise output.max_tokens",
            FindingKind::Unchecked => "use a data set in which each row has a truth that `score` can find",
            FindingKind::AnswersForgotten => "repeat fewer different requests, or turn `consistency` off",
            FindingKind::Inconsistent => {
                "see column `consistent` of requests.csv; compare a run of one user with one of many"
            }
            FindingKind::Undetermined => "run longer, or choose a bound that the sample can decide",
            FindingKind::ShardsApart => {
                "give all shards one --start-at, synchronise their clocks, and run later phases on their own"
            }
            FindingKind::StoppedByErrors | FindingKind::StoppedByErrorsInARow => {
                "see columns `outcome` and `error` of requests.csv; the rules stand in [stop]"
            }
            FindingKind::StoppedOverSaturated => "lower the load: the server does not keep up with it",
        }
    }
}

impl fmt::Display for Finding {
    /// What was found, in one sentence without a full stop, and what it means.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let measure = self.kind.measure();
        let (measured, threshold, count) =
            (measure.write(self.measured), measure.write(self.threshold), self.count);
        match self.kind {
            FindingKind::SendDelay => {
                write!(f, "requests left up to {measured} late (p99; limit {threshold})")
            }
            FindingKind::LoopDelay => {
                write!(f, "the client woke up to {measured} late (p99; limit {threshold})")
            }
            FindingKind::ReadDelay => {
                write!(f, "bytes lay up to {measured} before they were read (p99; limit {threshold})")
            }
            FindingKind::SharedReads => {
                write!(f, "{measured} of reads brought several events (limit {threshold})")
            }
            FindingKind::SenderCpu => {
                write!(f, "the client's sender was at work for {measured} of the time (limit {threshold})")
            }
            FindingKind::ClockStep => {
                write!(f, "the time of day was set by {measured} (limit {threshold})")
            }
            FindingKind::Backlog => {
                write!(f, "up to {measured} of events waited to be taken in (limit {threshold})")
            }
            FindingKind::Memory => {
                write!(f, "the client came to {measured} of the memory there is (limit {threshold})")
            }
            FindingKind::ClientErrors => {
                write!(f, "{count} requests ({measured}) failed in the client itself (limit {threshold})")
            }
            FindingKind::RateNotReached => {
                write!(
                    f,
                    "{measured} less was sent than was due (limit {threshold}); {count} requests were held back"
                )
            }
            FindingKind::Dropped => write!(f, "{count} requests ({measured}) were dropped at max_in_flight"),
            FindingKind::FewAnswers if count == 0 => write!(f, "no measured request ended ok"),
            FindingKind::FewAnswers => {
                write!(f, "only {count} measured requests ended ok (wanted {:.0})", self.threshold)
            }
            FindingKind::Dependent => write!(
                f,
                "{count} answers are worth {:.0} independent ones where the slowest tenth is concerned (wanted {:.0})",
                self.measured, self.threshold
            ),
            FindingKind::Growing => {
                write!(
                    f,
                    "requests in flight and TTFT rose by {measured} over the window (limit {threshold})"
                )
            }
            FindingKind::ShortWindow => {
                write!(f, "the window is {measured} the median E2E (wanted {threshold})")
            }
            FindingKind::RepeatedRows => {
                write!(
                    f,
                    "{count} requests ({measured}) asked a row that was asked before (limit {threshold})"
                )
            }
            FindingKind::StrangeHits => write!(
                f,
                "{measured} of prompt tokens were cached though nothing in this run had brought them ({count} cold requests; \
                 limit {threshold})"
            ),
            FindingKind::CacheUnused => {
                write!(f, "of the prompt tokens that could be cached {measured} were (wanted {threshold})")
            }
            FindingKind::Unfinished => {
                write!(f, "{count} requests ({measured}) were unfinished at the end (limit {threshold})")
            }
            FindingKind::Failed => write!(f, "{count} requests ({measured}) failed (limit {threshold})"),
            FindingKind::PromptLength => {
                write!(f, "prompts differ by {measured} from the length asked for (limit {threshold})")
            }
            FindingKind::OutputLength => {
                write!(f, "answers differ by {measured} from the length asked for (limit {threshold})")
            }
            FindingKind::Truncated => {
                write!(f, "{count} answers ({measured}) ran into max_tokens (limit {threshold})")
            }
            FindingKind::Bursts => {
                write!(f, "tokens arrived in bursts: {measured} of gaps are zero (limit {threshold})")
            }
            FindingKind::Uncounted => write!(f, "the tokens of {count} answers could not be counted"),
            FindingKind::SloUnmeasurable => {
                write!(f, "{count} answers lack a metric that [slo] limits")
            }
            FindingKind::ContextFull => write!(f, "{count} requests were skipped at max_context"),
            FindingKind::AccuracyFallsWithLength => write!(
                f,
                "{measured} of answers to the longest third of prompts are right, {threshold} of those to the shortest"
            ),
            FindingKind::AccuracyFallsWithDepth => write!(
                f,
                "{measured} of answers are right where the needle lay at the worst depth, {threshold} elsewhere"
            ),
            FindingKind::AccuracyFallsWithLoad => write!(
                f,
                "{measured} of answers are right where most requests were in flight, {threshold} where fewest were"
            ),
            FindingKind::NoAnswer => {
                write!(f, "nothing was found that answers in {count} answers ({measured}; limit {threshold})")
            }
            FindingKind::NoAnswerRisesWithLength => write!(
                f,
                "nothing answers in {measured} of answers to the longest third of prompts, in {threshold} of those to \
                 the shortest"
            ),
            FindingKind::NoAnswerRisesWithLoad => write!(
                f,
                "nothing answers in {measured} of answers where most requests were in flight, in {threshold} where \
                 fewest were"
            ),
            FindingKind::NotRightTruncated => {
                write!(f, "{count} of the answers that are not right ({measured}) ran into max_tokens")
            }
            FindingKind::Unchecked => write!(f, "{count} answers could not be checked"),
            FindingKind::AnswersForgotten => {
                write!(f, "{count} first answers were forgotten for want of room")
            }
            FindingKind::Inconsistent => {
                write!(f, "{count} answers ({measured}) differ from the first one to the same request")
            }
            FindingKind::Undetermined => write!(f, "objectives left undetermined: {count}"),
            FindingKind::ShardsApart => {
                write!(f, "the shards began up to {measured} apart (limit {threshold})")
            }
            FindingKind::StoppedByErrors => {
                write!(f, "{measured} of the last 100 requests failed (limit {threshold})")
            }
            FindingKind::StoppedByErrorsInARow => {
                write!(f, "{count} requests failed one after another (limit {threshold})")
            }
            FindingKind::StoppedOverSaturated => {
                write!(
                    f,
                    "requests in flight and times to first token grew to {measured} as much, {count} open"
                )
            }
        }?;
        write!(f, ": {}", self.kind.meaning())
    }
}
