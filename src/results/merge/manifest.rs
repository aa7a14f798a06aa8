//! One manifest of several: what shards have in common, and their phases put together.

use std::collections::BTreeMap;

use crate::results::manifest::{LeftOut, Manifest, PhaseEntry, ServerEntry, ShardEntry, SkippedRows, State};
use crate::stats::ClientFigures;
use crate::stats::verdict::{Finding, FindingKind, Severity};

/// Share of its window by which a phase may begin apart on the shards: as little as a short fall of the rate that
/// nobody would see.
const APART_SHARE: f64 = 0.01;

/// The manifest of the whole. `parts` are in order of shards, not empty, and have the same phases.
pub(super) fn join(parts: &[&Manifest]) -> Manifest {
    let first = parts[0];
    let common = |value: fn(&Manifest) -> Option<String>| {
        let mine = value(first);
        parts.iter().all(|part| value(part) == mine).then_some(mine).flatten()
    };
    let shard = |part: &&Manifest| ShardEntry {
        shard: part.shard.clone().unwrap_or_default(),
        state: part.state,
        rows: 0,
        host: part.host.clone(),
    };
    let phases = (0..first.phases.len()).map(|place| {
        let entries: Vec<&PhaseEntry> = parts.iter().filter_map(|part| part.phases.get(place)).collect();
        join_phase(&entries)
    });
    Manifest {
        shard: None,
        shards: parts.iter().map(shard).collect(),
        host: None,
        started: parts.iter().map(|part| &part.started).min().cloned().unwrap_or_default(),
        state: worst_state(parts.iter().map(|part| part.state)),
        target: common(|part| Some(part.target.clone())).unwrap_or_else(|| "several".to_owned()),
        stamps: common(|part| part.stamps.clone()),
        serving: ServerEntry {
            version: common(|part| part.serving.version.clone()),
            header: common(|part| part.serving.header.clone()),
            models: first.serving.models.clone(),
        },
        origin_monotonic_ns: None,
        phases: phases.collect(),
        skipped_rows: first_skipped(parts),
        answers_forgotten: parts.iter().map(|part| part.answers_forgotten).sum(),
        prompts_forgotten: parts.iter().map(|part| part.prompts_forgotten).sum(),
        left_out: parts.iter().fold(LeftOut::default(), |sum, part| sum.join(part.left_out)),
        verdict: None,
        ..first.clone()
    }
}

/// Every shard reads the whole of each data set.
fn first_skipped(parts: &[&Manifest]) -> Vec<SkippedRows> {
    parts.iter().map(|part| &part.skipped_rows).find(|rows| !rows.is_empty()).cloned().unwrap_or_default()
}

fn worst_state(states: impl Iterator<Item = State>) -> State {
    let rank = |state: &State| match state {
        State::Complete => 0,
        State::Stopped => 1,
        State::Interrupted => 2,
        State::Running => 3,
    };
    states.max_by_key(rank).unwrap_or(State::Complete)
}

/// The window begins with the first shard's and is as long as the longest: shards that began at one instant have one
/// window, which it is.
fn join_phase(entries: &[&PhaseEntry]) -> PhaseEntry {
    let earliest = |of: fn(&PhaseEntry) -> Option<f64>| entries.iter().filter_map(|e| of(e)).reduce(f64::min);
    let latest = |of: fn(&PhaseEntry) -> Option<f64>| entries.iter().filter_map(|e| of(e)).reduce(f64::max);
    let counted = entries.iter().any(|entry| entry.counted);
    let window_start_s = earliest(|entry| entry.window_start_s);
    let length = latest(|entry| Some(entry.window_end_s? - entry.window_start_s?));
    let window_end_s = if counted {
        latest(|entry| entry.window_end_s)
    } else {
        window_start_s.zip(length).map(|(start, length)| whole_micros(start + length))
    };
    let mut requests = BTreeMap::new();
    for (name, count) in entries.iter().flat_map(|entry| &entry.requests) {
        *requests.entry(name.clone()).or_default() += count;
    }
    PhaseEntry {
        counted,
        stopped: entries.iter().any(|entry| entry.stopped),
        start_s: earliest(|entry| entry.start_s),
        window_start_s,
        window_end_s,
        end_s: latest(|entry| entry.end_s),
        drained_s: latest(|entry| entry.drained_s),
        ended_by: ["signal", "stop", "data", "requests", "duration"]
            .into_iter()
            .find(|by| entries.iter().any(|entry| entry.ended_by.as_deref() == Some(by)))
            .map(str::to_owned),
        requests,
        not_planned: entries.iter().map(|entry| entry.not_planned).sum(),
        client: entries.iter().filter_map(|entry| entry.client).reduce(ClientFigures::join),
        ..entries[0].clone()
    }
}

fn whole_micros(s: f64) -> f64 {
    (s * 1e6).round() / 1e6
}

/// Phases that the shards did not begin together, by their times of day where every host has told its own.
pub(super) fn apart(whole: &Manifest, parts: &[&Manifest]) -> Vec<Finding> {
    let origins: Option<Vec<u64>> =
        parts.iter().map(|part| part.host.as_ref().and_then(|host| host.origin_unix_ns)).collect();
    let first = origins.iter().flatten().min().copied().unwrap_or(0);
    let origin_s = |place: usize| {
        origins.as_ref().map_or(0.0, |origins| origins[place].saturating_sub(first) as f64 / 1e9)
    };
    let mut findings = Vec::new();
    for (place, entry) in whole.phases.iter().enumerate().filter(|(_, entry)| entry.measured) {
        let starts = parts
            .iter()
            .enumerate()
            .filter_map(|(part, manifest)| Some(origin_s(part) + manifest.phases.get(place)?.start_s?));
        let (low, high) = starts.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)));
        let Some((from, to)) = entry.window_start_s.zip(entry.window_end_s) else { continue };
        let (apart, limit) = (high - low, (to - from) * APART_SHARE);
        if apart > limit {
            findings.push(Finding {
                kind: FindingKind::ShardsApart,
                severity: Severity::Warning,
                phase: entry.name.clone(),
                measured: apart * 1e3,
                threshold: limit * 1e3,
                count: 0,
            });
        }
    }
    findings
}
