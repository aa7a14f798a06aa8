//! What a cached prefix spares: TTFT of requests mostly served from the cache against those that were not, at equal
//! length and in the same phase.

use super::{AnalysisRow, Seen, Step, median};

const FEWEST: usize = 5;

pub(super) fn rows(seen: &[Seen], steps: &[Step]) -> Vec<AnalysisRow> {
    let mut rows = Vec::new();
    let (mut warm_seen, mut cold_seen) = (0, 0);
    for step in steps {
        let of_step = seen.iter().filter(|one| one.step == step.key && one.is_ok);
        let cached = of_step.filter_map(|one| Some((one.prompt?, one.cached? as f64, one.ttft_ms()?)));
        let cached: Vec<(u64, f64, f64)> = cached.filter(|(prompt, ..)| *prompt > 0).collect();
        let is_warm = |&&(prompt, cached, _): &&(u64, f64, f64)| cached >= prompt as f64 / 2.0;
        let is_cold = |&&(prompt, cached, _): &&(u64, f64, f64)| cached < prompt as f64 / 20.0;
        let mut lengths: Vec<f64> =
            cached.iter().filter(is_warm).map(|(prompt, ..)| *prompt as f64).collect();
        warm_seen += lengths.len();
        cold_seen += cached.iter().filter(is_cold).count();
        let Some(length) = median(&mut lengths) else { continue };
        let alike = |&&(prompt, ..): &&(u64, f64, f64)| (prompt as f64 / length - 1.0).abs() <= 0.1;
        let times = |of: &dyn Fn(&&(u64, f64, f64)) -> bool| {
            cached.iter().filter(alike).filter(of).map(|(.., ttft)| *ttft).collect::<Vec<_>>()
        };
        let (mut warm, mut cold) = (times(&is_warm), times(&is_cold));
        if warm.len() < FEWEST || cold.len() < FEWEST {
            continue;
        }
        let note = format!("{} warm and {} cold of about {length:.0} tokens", warm.len(), cold.len());
        let count = (warm.len() + cold.len()) as u64;
        let (warm, cold) = (median(&mut warm), median(&mut cold));
        let row = |term, unit, value| AnalysisRow {
            scope: step.label(),
            value,
            count,
            note: note.clone(),
            ..AnalysisRow::new("prefix", term, unit)
        };
        rows.extend([row("ttft_warm", "ms", warm), row("ttft_cold", "ms", cold)]);
        rows.push(row("warm_of_cold", "share", warm.zip(cold).map(|(warm, cold)| warm / cold)));
    }
    if rows.is_empty() {
        let what =
            "a phase with at least 5 requests mostly from the prefix cache and 5 not at all, of equal length";
        let open = AnalysisRow::open("prefix", "warm_of_cold", "share", warm_seen.min(cold_seen), what);
        rows.push(open);
    }
    rows
}
