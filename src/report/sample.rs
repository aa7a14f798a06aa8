//! Runs for tests of reports.

use std::time::Duration;

use crate::record::{Outcome, RequestRecord};
use crate::results::Manifest;
use crate::results::manifest::tests::manifest;
use crate::results::manifest::{PhaseEntry, State, VerdictEntry};
use crate::stats::test_rows::{failed, ms, ok, row};
use crate::stats::verdict::{Thresholds, judge};
use crate::stats::{Fold, PhaseSetup, RowEvents, Slo, SloMetric, SummaryRow, Window, WorkloadSetup};
use crate::units::Micros;

fn phase(name: &str) -> PhaseSetup {
    PhaseSetup { name: name.to_owned(), counts: true, open_loop: true }
}

fn finish(fold: &Fold, names: &[&str], simulated: bool) -> (Manifest, Vec<SummaryRow>) {
    let entry = |(index, name): (usize, &&str)| {
        let window = fold.window(index as u32);
        PhaseEntry {
            name: (*name).to_owned(),
            window_start_s: window.map(|(start, _)| start.as_s()),
            window_end_s: window.map(|(_, end)| end.as_s()),
            ..manifest().phases.remove(0)
        }
    };
    let findings: Vec<_> =
        fold.figures().iter().flat_map(|figures| judge(figures, &Thresholds::default(), simulated)).collect();
    let manifest = Manifest {
        state: State::Complete,
        phases: names.iter().enumerate().map(entry).collect(),
        verdict: Some(VerdictEntry::new(&findings, simulated)),
        ..manifest()
    };
    (manifest, fold.summary())
}

/// A quiet phase of 20 requests and a busy one of 400, in which some fail, some are dropped and one is cut.
pub(super) fn two_phases() -> (Manifest, Vec<SummaryRow>) {
    let slo = Slo { limits: vec![(SloMetric::Ttft, Duration::from_millis(400))] };
    let chat = WorkloadSetup {
        name: "chat".to_owned(),
        slo: slo.clone(),
        exact_output: true,
        scored: false,
        cold: false,
    };
    let mut fold = Fold::new(None, None, vec![phase("low"), phase("high")], vec![chat]);
    fold.set_window(0, Window { start: Some(ms(0)), end: Some(ms(20_000)) });
    fold.set_window(1, Window { start: Some(ms(20_000)), end: Some(ms(60_000)) });
    let mut add = |phase: u32, mut record: RequestRecord| {
        record.planned.phase = phase;
        record.planned.prompt_tokens_planned = Some(8_000);
        record.planned.output_tokens_planned = Some(60);
        record.prompt_tokens = (record.outcome == Outcome::Ok).then_some(8_012);
        record.slo_met = slo.judge(&record);
        let first = record.first_token.unwrap_or_default().0;
        let stamps = [0, 25, 50, 110].map(|gap| Micros(first + gap * 1_000));
        fold.add(&record, RowEvents { stamps: &stamps, tokens: None });
    };
    for i in 0..20 {
        add(0, ok(i * 1_000, i * 1_000 + 180 + i, i * 1_000 + 1_180, 41));
    }
    for i in 0..400 {
        let sent = 20_000 + i * 100;
        add(1, ok(sent, sent + 200 + i, sent + 1_400 + i, 41));
    }
    for i in 0..3 {
        add(1, failed(30_000 + i, Outcome::HttpError, 30_050));
        add(1, row(40_000 + i, Outcome::Dropped));
    }
    add(1, failed(59_900, Outcome::CutAtEnd, 60_000));
    finish(&fold, &["low", "high"], false)
}

/// Ten requests that found no server.
pub(super) fn all_failed() -> (Manifest, Vec<SummaryRow>) {
    let chat = WorkloadSetup {
        name: "chat".to_owned(),
        slo: Slo::default(),
        exact_output: false,
        scored: false,
        cold: false,
    };
    let mut fold = Fold::new(None, None, vec![phase("steady")], vec![chat]);
    fold.set_window(0, Window { start: Some(ms(0)), end: None });
    (0..10).for_each(|i| fold.add(&failed(i, Outcome::ConnectError, i + 1), RowEvents::default()));
    finish(&fold, &["steady"], true)
}
