//! Plain figures of a phase against the limits.

use super::{ClientFigures, Figures, Finding, FindingKind, Severity, Thresholds};

/// Share of prompt tokens that could be cached from which it matters whether they are.
const ELIGIBLE_SHARE: f64 = 0.1;
/// Gaps, or reads, from which a share of them means anything.
const FEWEST_GAPS: u64 = 20;

/// What speaks against the figures of a phase. With a `simulated` server, whose time is not the world's, the
/// client's delays are worth a warning only.
pub fn judge(figures: &Figures, limits: &Thresholds, simulated: bool) -> Vec<Finding> {
    let judge = Judge { figures, limits, simulated };
    let delays = judge.delays();
    let events = judge.events(delays.iter().any(Option::is_some));
    let found = delays.into_iter().chain(judge.room()).chain(judge.sample()).chain(judge.load());
    let found = found.chain(judge.cache()).chain(events).chain(judge.unknown());
    judge.client_errors().into_iter().chain(found.flatten()).collect()
}

struct Judge<'a> {
    figures: &'a Figures,
    limits: &'a Thresholds,
    simulated: bool,
}

/// A finding where there is something to say.
type Found = Option<Finding>;

impl Judge<'_> {
    fn finding(
        &self,
        kind: FindingKind,
        severity: Severity,
        measured: f64,
        threshold: f64,
        count: u64,
    ) -> Finding {
        Finding { kind, severity, phase: self.figures.phase.clone(), measured, threshold, count }
    }

    /// Warns of what is over its limit; `count` is how many rows are behind it.
    fn warn(&self, kind: FindingKind, measured: Option<f64>, limit: f64, count: u64) -> Found {
        let measured = measured.filter(|measured| *measured > limit)?;
        Some(self.finding(kind, Severity::Warning, measured, limit, count))
    }

    /// Warns of a share that is over its limit.
    fn warn_share(&self, kind: FindingKind, part: u64, whole: u64, limit: f64) -> Found {
        self.warn(kind, share(part, whole), limit, part)
    }

    /// Warns of rows that there should be none of.
    fn warn_rows(&self, kind: FindingKind, rows: u64) -> Found {
        self.warn(kind, Some(rows as f64), 0.0, rows)
    }

    /// A share that is mentioned from one limit on and weighs more from another.
    fn graded(&self, kind: FindingKind, part: u64, whole: u64, (warning, insufficient): (f64, f64)) -> Found {
        let share = share(part, whole)?;
        let (severity, limit) = match share {
            over if over > insufficient => (Severity::Insufficient, insufficient),
            over if over > warning => (Severity::Warning, warning),
            _ => return None,
        };
        Some(self.finding(kind, severity, share, limit, part))
    }

    fn client_errors(&self) -> Found {
        let (figures, limit) = (self.figures, self.limits.client_errors);
        let share = share(figures.client_errors, figures.measured).filter(|share| *share > limit)?;
        let count = figures.client_errors;
        Some(self.finding(FindingKind::ClientErrors, Severity::Invalid, share, limit, count))
    }

    /// What the client adds to the times it takes.
    fn delays(&self) -> [Found; 3] {
        let client = self.figures.client;
        [
            self.delay(FindingKind::SendDelay, client.send_delay_p99_ms),
            self.delay(FindingKind::LoopDelay, client.loop_delay_p99_ms),
            self.delay(FindingKind::ReadDelay, client.read_delay_p99_ms),
        ]
    }

    /// An own delay weighs against the latency measured. Without any TTFT there is nothing that it could spoil but the
    /// schedule.
    fn delay(&self, kind: FindingKind, delay_ms: Option<f64>) -> Found {
        let (delay_ms, limits) = (delay_ms?, self.limits);
        let ttft = self.figures.ttft_p50_ms.unwrap_or(0.0);
        let invalid = limits.delay_invalid_ms.max(ttft * limits.delay_invalid_share);
        let warning = limits.delay_ms.max(ttft * limits.delay_share);
        let (severity, limit) = match delay_ms {
            over if over > invalid => (Severity::Invalid, invalid),
            over if over > warning => (Severity::Warning, warning),
            _ => return None,
        };
        let severity = if self.simulated { Severity::Warning } else { severity };
        Some(self.finding(kind, severity, delay_ms, limit, 0))
    }

    /// How much room the client has left, and whether its times can be laid beside others.
    fn room(&self) -> [Found; 4] {
        let limits = self.limits;
        let ClientFigures { sender_cpu_share, clock_step_ms, backlog_peak_bytes, memory_share, .. } =
            self.figures.client;
        let backlog = backlog_peak_bytes.map(|bytes| bytes as f64);
        [
            self.warn(FindingKind::SenderCpu, sender_cpu_share, limits.sender_cpu, 0),
            self.warn(FindingKind::ClockStep, clock_step_ms, limits.clock_step_ms, 0),
            self.warn(FindingKind::Backlog, backlog, limits.backlog_bytes as f64, 0),
            self.warn(FindingKind::Memory, memory_share, limits.memory, 0),
        ]
    }

    /// Whether the sample carries figures.
    fn sample(&self) -> [Found; 6] {
        let (figures, limits) = (self.figures, self.limits);
        let insufficient =
            |kind, measured, limit, count| self.finding(kind, Severity::Insufficient, measured, limit, count);
        let (ok, fewest) = (figures.ok, limits.few_answers as f64);
        let few =
            (ok < limits.few_answers).then(|| insufficient(FindingKind::FewAnswers, ok as f64, fewest, ok));
        let growth = figures.growth.filter(|growth| figures.open_loop && *growth > limits.growing);
        // Nothing in flight at first: any number of times would be as true.
        let growing =
            growth.map(|growth| insufficient(FindingKind::Growing, growth.min(1e3), limits.growing, 0));
        // Answers to a queue that grows are all of one swing, and running longer would not make them others.
        let is_told = few.is_some() || growing.is_some();
        let worth = figures.effective_answers.filter(|worth| *worth < fewest && !is_told);
        let dependent = worth.map(|worth| insufficient(FindingKind::Dependent, worth.floor(), fewest, ok));
        let failed = figures.decided.saturating_sub(ok + figures.dropped);
        let unfinished_limits = (limits.unfinished, limits.unfinished_insufficient);
        let failed_limits = (limits.failed, limits.failed_insufficient);
        [
            few,
            dependent,
            growing,
            self.graded(FindingKind::Unfinished, figures.cut, figures.measured, unfinished_limits),
            self.graded(FindingKind::Failed, failed, figures.decided, failed_limits),
            self.short_window(),
        ]
    }

    fn short_window(&self) -> Found {
        let e2e = self.figures.e2e_p50_ms.filter(|e2e| *e2e > 0.0)?;
        let (times, limit) = (self.figures.window_ms? / e2e, self.limits.short_window);
        (times < limit).then(|| self.finding(FindingKind::ShortWindow, Severity::Warning, times, limit, 0))
    }

    /// Whether the load is the one described.
    fn load(&self) -> [Found; 6] {
        let (figures, limits) = (self.figures, self.limits);
        // Where every answer runs into the limit, the limit is the length that was meant.
        let cut = Some(figures.truncated_answers).filter(|cut| *cut < figures.free_answers);
        let lengths = [
            (FindingKind::PromptLength, figures.prompt_lengths, limits.prompt_length),
            (FindingKind::OutputLength, figures.output_lengths, limits.output_length),
        ];
        let [prompts, outputs] =
            lengths.map(|(kind, lengths, limit)| self.warn(kind, lengths.deviation(), limit, 0));
        [
            self.warn_share(FindingKind::Dropped, figures.dropped, figures.measured, 0.0),
            self.shortfall(),
            prompts,
            outputs,
            cut.and_then(|cut| {
                self.warn_share(FindingKind::Truncated, cut, figures.free_answers, limits.truncated)
            }),
            self.warn_share(
                FindingKind::RepeatedRows,
                figures.repeated,
                figures.measured,
                limits.repeated_rows,
            ),
        ]
    }

    /// How much of what was due was not sent. In a closed loop the server sets the pace, and what was dropped has a
    /// finding of its own.
    fn shortfall(&self) -> Found {
        let (figures, limit) = (self.figures, self.limits.rate_not_reached);
        let offered = figures.offered_per_s.filter(|offered| figures.open_loop && *offered > 0.0)?;
        let short = 1.0 - figures.achieved_per_s? / offered;
        let dropped = share(figures.dropped, figures.measured).unwrap_or(0.0);
        (short - dropped > limit)
            .then(|| self.finding(FindingKind::RateNotReached, Severity::Warning, short, limit, figures.held))
    }

    /// Whether the server's prefix cache knew what this run had brought, and nothing else.
    fn cache(&self) -> [Found; 2] {
        let (hits, limits) = (self.figures.hits, self.limits);
        let strange = share(hits.strange_tokens, hits.prompt_tokens);
        let eligible = share(hits.eligible_tokens, hits.prompt_tokens);
        let used = share(hits.cached_tokens, hits.eligible_tokens)
            .filter(|_| eligible.is_some_and(|share| share > ELIGIBLE_SHARE));
        let unused = used.filter(|share| *share < limits.cache_unused);
        [
            self.warn(FindingKind::StrangeHits, strange, limits.strange_hits, hits.strange_rows),
            unused.map(|share| {
                self.finding(FindingKind::CacheUnused, Severity::Warning, share, limits.cache_unused, 0)
            }),
        ]
    }

    /// Events that came together. They look the same whether the way joined them or a client that was late to read them:
    /// what that says of itself tells which.
    fn events(&self, client_is_late: bool) -> [Found; 2] {
        let (figures, limits, client) = (self.figures, self.limits, self.figures.client);
        let enough = |count: u64| (count >= FEWEST_GAPS).then_some(count);
        let shared = enough(client.reads).and_then(|reads| {
            self.warn_share(FindingKind::SharedReads, client.shared_reads, reads, limits.shared_reads)
        });
        let bursts = enough(figures.gaps)
            .and_then(|gaps| self.warn_share(FindingKind::Bursts, figures.zero_gaps, gaps, limits.bursts));
        match (shared, bursts) {
            (shared @ Some(_), Some(_)) if client_is_late => [shared, None],
            (_, bursts @ Some(_)) => [None, bursts],
            (shared, None) => [shared, None],
        }
    }

    /// What could not be told.
    fn unknown(&self) -> [Found; 3] {
        let figures = self.figures;
        [
            self.warn_rows(FindingKind::Uncounted, figures.uncounted),
            self.warn_rows(FindingKind::SloUnmeasurable, figures.slo_unmeasurable),
            self.warn_rows(FindingKind::ContextFull, figures.beyond_context),
        ]
    }
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
