//! Can the figures be trusted?
//!
//! [`judge()`] compares plain figures of a phase with [`Thresholds`] and returns findings; the worst of them is the
//! verdict of the run.

mod judge;

pub use super::client::ClientFigures;
pub use super::finding::{Finding, FindingKind, Severity};
pub use super::tally::{Hits, Lengths};
pub use super::thresholds::Thresholds;
pub use judge::judge;

/// What is known of one phase, over its measured rows; `None` where unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// Name of the phase.
    pub phase: String,
    /// Whether requests come at their own times, whatever the server does.
    pub open_loop: bool,
    /// How the client itself fared.
    pub client: ClientFigures,
    /// Median TTFT.
    pub ttft_p50_ms: Option<f64>,
    /// Rate of requests due.
    pub offered_per_s: Option<f64>,
    /// Rate of requests sent.
    pub achieved_per_s: Option<f64>,
    /// Measured rows.
    pub measured: u64,
    /// Those that speak for or against the server.
    pub decided: u64,
    /// Those that ended `ok`.
    pub ok: u64,
    /// Those due while `max_in_flight` was full.
    pub dropped: u64,
    /// Those that waited for a place in flight or for their user.
    pub held: u64,
    /// Those unfinished at the end of the drain.
    pub cut: u64,
    /// Those that failed by the client's own fault.
    pub client_errors: u64,
    /// Prompt lengths.
    pub prompt_lengths: Lengths,
    /// Output lengths, where exact ones were asked for.
    pub output_lengths: Lengths,
    /// `ok` answers free to end where they like.
    pub free_answers: u64,
    /// Those of them that ran into their token limit.
    pub truncated_answers: u64,
    /// Gaps between events.
    pub gaps: u64,
    /// Those of no time at all.
    pub zero_gaps: u64,
    /// Answers whose tokens could not be counted.
    pub uncounted: u64,
    /// Answers not good because a limited metric could not be measured.
    pub slo_unmeasurable: u64,
    /// Those that asked a row of a data set which was asked before.
    pub repeated: u64,
    /// Requests skipped, measured or not, because their conversations would have passed their context.
    pub beyond_context: u64,
    /// Independent answers that those had are worth, by the slowest tenth of TTFT.
    pub effective_answers: Option<f64>,
    /// Length of the window.
    pub window_ms: Option<f64>,
    /// Median E2E.
    pub e2e_p50_ms: Option<f64>,
    /// How far requests in flight and TTFT both rose over the window, the lesser of the two; `None` where they may as
    /// well be level.
    pub growth: Option<f64>,
    /// What the server's prefix cache knew.
    pub hits: Hits,
}

/// Whether a run's figures can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// They can.
    Valid,
    /// They may be right, but the sample does not carry them.
    Insufficient,
    /// They cannot.
    Invalid,
}

impl Verdict {
    /// The worst that `findings` say.
    pub fn of(findings: &[Finding]) -> Verdict {
        findings.iter().map(|finding| finding.severity.verdict()).max().unwrap_or(Verdict::Valid)
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Valid => "valid",
            Verdict::Insufficient => "insufficient",
            Verdict::Invalid => "invalid",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> ClientFigures {
        ClientFigures {
            send_delay_p99_ms: Some(0.2),
            loop_delay_p99_ms: Some(0.1),
            sender_cpu_share: Some(0.3),
            backlog_peak_bytes: Some(1 << 20),
            memory_share: Some(0.01),
            ..ClientFigures::default()
        }
    }

    /// A phase with nothing to say against it.
    fn sound() -> Figures {
        Figures {
            phase: "steady".to_owned(),
            open_loop: true,
            client: client(),
            ttft_p50_ms: Some(100.0),
            offered_per_s: Some(10.0),
            achieved_per_s: Some(10.0),
            measured: 1_000,
            decided: 1_000,
            ok: 1_000,
            gaps: 5_000,
            ..Figures::default()
        }
    }

    fn kinds(figures: &Figures) -> String {
        let found = judge(figures, &Thresholds::default(), false);
        let words =
            found.iter().map(|finding| format!("{} {}", finding.kind.name(), finding.severity.name()));
        words.collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn a_sound_phase_is_valid_without_findings() {
        assert_eq!(judge(&sound(), &Thresholds::default(), false), []);
        assert_eq!(Verdict::of(&[]), Verdict::Valid);
    }

    #[test]
    fn each_fault_has_its_finding_and_weight() {
        let share = |planned, real| Lengths { planned, real };
        let cases: [(&str, Figures, &str); 41] = [
            (
                "c068: the time of day was set back by 5 s",
                Figures { client: ClientFigures { clock_step_ms: Some(5_000.0), ..client() }, ..sound() },
                "clock_step warning",
            ),
            (
                "a buffer on the way, read by a client that is on time",
                Figures {
                    client: ClientFigures { reads: 100, shared_reads: 90, ..client() },
                    gaps: 600,
                    zero_gaps: 500,
                    ..sound()
                },
                "bursts warning",
            ),
            (
                "a client that is late to read what came one by one",
                Figures {
                    client: ClientFigures {
                        read_delay_p99_ms: Some(12.0),
                        reads: 100,
                        shared_reads: 90,
                        ..client()
                    },
                    gaps: 600,
                    zero_gaps: 500,
                    ..sound()
                },
                "read_delay invalid, shared_reads warning",
            ),
            (
                "a queue that grows has no independent answers, and that is no news",
                Figures { growth: Some(1.0), effective_answers: Some(5.0), ..sound() },
                "growing insufficient",
            ),
            (
                "the sender at work for nine tenths of the time",
                Figures { client: ClientFigures { sender_cpu_share: Some(0.9), ..client() }, ..sound() },
                "sender_cpu warning",
            ),
            (
                "20 MiB of events that waited",
                Figures {
                    client: ClientFigures { backlog_peak_bytes: Some(20 << 20), ..client() },
                    ..sound()
                },
                "backlog warning",
            ),
            (
                "three fifths of the machine's memory",
                Figures { client: ClientFigures { memory_share: Some(0.6), ..client() }, ..sound() },
                "memory warning",
            ),
            (
                "bytes lay for 12 % of TTFT",
                Figures { client: ClientFigures { read_delay_p99_ms: Some(12.0), ..client() }, ..sound() },
                "read_delay invalid",
            ),
            (
                "each third read brought several events",
                Figures { client: ClientFigures { reads: 900, shared_reads: 300, ..client() }, ..sound() },
                "shared_reads warning",
            ),
            (
                "a delay of 6 % of TTFT",
                Figures { client: ClientFigures { send_delay_p99_ms: Some(6.0), ..client() }, ..sound() },
                "send_delay warning",
            ),
            (
                "a delay of 12 % of TTFT",
                Figures { client: ClientFigures { send_delay_p99_ms: Some(12.0), ..client() }, ..sound() },
                "send_delay invalid",
            ),
            (
                "2 ms beside a TTFT of 1 ms",
                Figures {
                    client: ClientFigures { loop_delay_p99_ms: Some(2.0), ..client() },
                    ttft_p50_ms: Some(1.0),
                    ..sound()
                },
                "loop_delay warning",
            ),
            ("1 of 1,000 failed in the client", Figures { client_errors: 1, ..sound() }, ""),
            (
                "2 of 1,000 failed in the client",
                Figures { client_errors: 2, ..sound() },
                "client_errors invalid",
            ),
            (
                "sent 5 % less than due",
                Figures { achieved_per_s: Some(9.5), ..sound() },
                "rate_not_reached warning",
            ),
            (
                "the same in a closed loop",
                Figures { achieved_per_s: Some(9.5), open_loop: false, ..sound() },
                "",
            ),
            (
                "c085: what was dropped is told once",
                Figures { dropped: 900, ok: 100, achieved_per_s: Some(1.0), ..sound() },
                "dropped warning",
            ),
            ("c085: one dropped", Figures { dropped: 1, ok: 999, ..sound() }, "dropped warning"),
            (
                "35 answers",
                Figures { ok: 35, measured: 35, decided: 35, ..sound() },
                "few_answers insufficient",
            ),
            ("2 % cut", Figures { cut: 20, decided: 980, ok: 980, ..sound() }, "unfinished warning"),
            ("20 % cut", Figures { cut: 200, decided: 800, ok: 800, ..sound() }, "unfinished insufficient"),
            ("2 % failed", Figures { ok: 980, ..sound() }, "failed warning"),
            (
                "prompts 6 % longer",
                Figures { prompt_lengths: share(100, 106), ..sound() },
                "prompt_length warning",
            ),
            (
                "c151: 382 tokens of 5,000",
                Figures { output_lengths: share(5_000, 382), ..sound() },
                "output_length warning",
            ),
            (
                "c152: half of the answers ran into the limit",
                Figures { free_answers: 1_000, truncated_answers: 500, ..sound() },
                "truncated warning",
            ),
            (
                "a length that every answer reaches is meant",
                Figures { free_answers: 1_000, truncated_answers: 1_000, ..sound() },
                "",
            ),
            (
                "c071: 59 of 60 gaps are zero",
                Figures { gaps: 60, zero_gaps: 59, ..sound() },
                "bursts warning",
            ),
            (
                "a third of the rows were asked before",
                Figures { repeated: 333, ..sound() },
                "repeated_rows warning",
            ),
            (
                "c098: a cache that knows the prompts of an earlier run",
                Figures {
                    hits: Hits {
                        prompt_tokens: 1_000,
                        strange_tokens: 900,
                        strange_rows: 9,
                        cached_tokens: 964,
                        eligible_tokens: 0,
                    },
                    ..sound()
                },
                "strange_hits warning",
            ),
            (
                "a cache that knows next to nothing of what it could",
                Figures {
                    hits: Hits {
                        prompt_tokens: 1_000,
                        eligible_tokens: 500,
                        cached_tokens: 20,
                        ..Hits::default()
                    },
                    ..sound()
                },
                "cache_unused warning",
            ),
            (
                "one that knows what it could",
                Figures {
                    hits: Hits {
                        prompt_tokens: 1_000,
                        eligible_tokens: 500,
                        cached_tokens: 480,
                        ..Hits::default()
                    },
                    ..sound()
                },
                "",
            ),
            (
                "little to know",
                Figures {
                    hits: Hits { prompt_tokens: 1_000, eligible_tokens: 90, ..Hits::default() },
                    ..sound()
                },
                "",
            ),
            (
                "1,000 answers worth 30",
                Figures { effective_answers: Some(30.4), ..sound() },
                "dependent insufficient",
            ),
            ("worth 400", Figures { effective_answers: Some(400.0), ..sound() }, ""),
            (
                "twice as much in flight at the end",
                Figures { growth: Some(1.0), ..sound() },
                "growing insufficient",
            ),
            ("a closed loop cannot grow", Figures { growth: Some(1.0), open_loop: false, ..sound() }, ""),
            (
                "a window of three answers",
                Figures { window_ms: Some(3_000.0), e2e_p50_ms: Some(1_000.0), ..sound() },
                "short_window warning",
            ),
            (
                "a window of 300 answers",
                Figures { window_ms: Some(300_000.0), e2e_p50_ms: Some(1_000.0), ..sound() },
                "",
            ),
            ("20 % failed", Figures { ok: 800, ..sound() }, "failed insufficient"),
            ("c150: no usage", Figures { uncounted: 1_000, ..sound() }, "uncounted warning"),
            (
                "conversations that came to the end of their context",
                Figures { beyond_context: 12, ..sound() },
                "context_full warning",
            ),
        ];
        for (story, figures, expected) in cases {
            assert_eq!(kinds(&figures), expected, "{story}");
        }
    }

    #[test]
    fn limits_that_are_set_decide() {
        let figures = Figures { ok: 980, ..sound() };
        let kinds = |failed| {
            let limits = Thresholds { failed, ..Thresholds::default() };
            judge(&figures, &limits, false).iter().map(|finding| finding.threshold).collect::<Vec<_>>()
        };
        assert_eq!((kinds(0.05), kinds(0.02), kinds(0.015)), (vec![], vec![], vec![0.015]));
        let limits = Thresholds { delay_ms: 0.1, delay_share: 0.0, ..Thresholds::default() };
        let found = judge(&sound(), &limits, false);
        assert_eq!(found.iter().map(|finding| finding.kind).collect::<Vec<_>>(), [FindingKind::SendDelay]);
        let limits = Thresholds { few_answers: 1_001, ..Thresholds::default() };
        assert_eq!(Verdict::of(&judge(&sound(), &limits, false)), Verdict::Insufficient);
    }

    #[test]
    fn the_verdict_is_the_worst_finding() {
        let figures = Figures { ok: 10, decided: 10, measured: 10, client_errors: 1, ..sound() };
        assert_eq!(Verdict::of(&judge(&figures, &Thresholds::default(), false)), Verdict::Invalid);
        let figures = Figures { ok: 10, decided: 10, measured: 10, ..sound() };
        assert_eq!(Verdict::of(&judge(&figures, &Thresholds::default(), false)), Verdict::Insufficient);
    }

    #[test]
    fn delays_beside_a_simulated_server_are_warnings() {
        let figures = Figures {
            client: ClientFigures {
                send_delay_p99_ms: Some(500.0),
                loop_delay_p99_ms: Some(500.0),
                ..client()
            },
            ..sound()
        };
        assert_eq!(Verdict::of(&judge(&figures, &Thresholds::default(), false)), Verdict::Invalid);
        assert_eq!(Verdict::of(&judge(&figures, &Thresholds::default(), true)), Verdict::Valid);
        assert_eq!(judge(&figures, &Thresholds::default(), true).len(), 2);
    }

    #[test]
    fn a_phase_without_any_row_is_insufficient_and_nothing_else() {
        assert_eq!(kinds(&Figures::default()), "few_answers insufficient");
    }

    #[test]
    fn findings_say_what_was_found_and_what_it_means() {
        let figures = Figures {
            client: ClientFigures { send_delay_p99_ms: Some(12.34), ..client() },
            achieved_per_s: Some(8.0),
            dropped: 88,
            held: 12,
            cut: 3,
            client_errors: 2,
            ok: 30,
            decided: 995,
            prompt_lengths: Lengths { planned: 100, real: 120 },
            output_lengths: Lengths { planned: 5_000, real: 382 },
            free_answers: 20,
            truncated_answers: 10,
            zero_gaps: 4_900,
            uncounted: 7,
            slo_unmeasurable: 4,
            ..sound()
        };
        let texts: Vec<_> =
            judge(&figures, &Thresholds::default(), false).iter().map(Finding::to_string).collect();
        insta::assert_snapshot!(texts.join("\n"), @r#"
        2 requests (0.20 %) failed in the client itself (limit 0.10 %): failures of the client are not failures of the server
        requests left up to 12 ms late (p99; limit 10 ms): the schedule was not kept, and latencies from the due time contain the client
        only 30 measured requests ended ok (wanted 36): high percentiles cannot be told from fewer
        877 requests (88.1 %) failed (limit 10.0 %): latencies are those of the answers that came
        88 requests (8.8 %) were dropped at max_in_flight: the server saw less load than offered, and success counts them as failed
        20.0 % less was sent than was due (limit 2.0 %); 12 requests were held back: figures hold for the rate achieved, not for the one asked for
        prompts differ by 20.0 % from the length asked for (limit 5.0 %): the load is not the one described
        answers differ by 92.4 % from the length asked for (limit 5.0 %): throughput and end-to-end times hold for the real lengths
        10 answers (50.0 %) ran into max_tokens (limit 10.0 %): their lengths, and answers scored from them, are those of the limit
        tokens arrived in bursts: 98.0 % of gaps are zero (limit 50.0 %): gaps describe a buffer between model and client, not the model
        the tokens of 7 answers could not be counted: token metrics lack them, and throughputs are lower bounds
        4 answers lack a metric that [slo] limits: they count as not good though no limit is known to be missed
        "#);
    }
}
