//! The folders of a run's shards joined to one, as if one process had sent it all.
//!
//! Rows are taken over cell by cell, counts of gaps and seconds are added, and every figure is computed anew over all
//! rows. What is no set of shards of one run is refused, with the folder that does not fit. Each shard counts time
//! from its own zero, which `--start-at` makes one instant; how far phases lay apart is a finding.

mod manifest;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::details::{CHUNKS_FILE, RESPONSES_FILE};
use super::manifest::{FindingEntry, Manifest, State, VerdictEntry};
use super::objectives::undetermined;
use super::reader::{Folder, ReadError, RunRows, read_manifest, read_text};
use super::writer::{Place, ResultsError, Writer};
use crate::plan::RANGE;
use crate::plan::shard::Shard;
use crate::record::RequestRecord;
use crate::stats::{Finding, TimelineRow};

/// Why folders cannot be joined.
#[derive(Debug)]
pub enum MergeError {
    /// They are no set of shards of one run.
    Unfit(String),
    /// One of them cannot be read.
    Read(ReadError),
    /// The joined one cannot be written.
    Write(ResultsError),
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeError::Unfit(problem) => f.write_str(problem),
            MergeError::Read(error) => error.fmt(f),
            MergeError::Write(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MergeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            MergeError::Unfit(_) => None,
            MergeError::Read(error) => Some(error),
            MergeError::Write(error) => Some(error),
        }
    }
}

impl From<ReadError> for MergeError {
    fn from(error: ReadError) -> MergeError {
        MergeError::Read(error)
    }
}

impl From<ResultsError> for MergeError {
    fn from(error: ResultsError) -> MergeError {
        MergeError::Write(error)
    }
}

/// The folder of one shard.
struct Part {
    path: PathBuf,
    manifest: Manifest,
    shard: Shard,
}

/// Joins the folders of all shards of a run into a new one at `out`. `each` is shown every row.
///
/// # Errors
/// When they are no set of shards of one run, when one cannot be read, or `out` exists or cannot be written. What was
/// begun of `out` is then no result: its manifest says `running`.
pub fn merge(
    folders: &[PathBuf],
    out: &Path,
    mut each: impl FnMut(&RequestRecord),
) -> Result<Folder, MergeError> {
    let parts = read_parts(folders)?;
    let scenario = common_scenario(&parts)?;
    let manifests: Vec<&Manifest> = parts.iter().map(|part| &part.manifest).collect();
    let joined = manifest::join(&manifests);
    let open = Manifest { state: State::Running, ..joined.clone() };
    check_rows(&parts, &open, &scenario)?;
    let has = |file: &str| parts.iter().any(|part| part.path.join(file).exists());
    let (chunks, responses) = (has(CHUNKS_FILE), has(RESPONSES_FILE));
    let mut writer = Writer::create(&Place::Exact(out.to_owned()), &open, &scenario)?;
    writer.begin_details(chunks, responses)?;
    // All shards look at the same server.
    writer.take_server(&parts[0].path)?;
    let mut whole = Folder::begin(out, joined, scenario);
    for (part, entry) in parts.iter().zip(0_usize..) {
        let mut rows = 0;
        whole.read_rows(&part.path, true, |_, record, cells| {
            rows += 1;
            each(record);
            writer.request_cells(cells).map_err(MergeError::Write)
        })?;
        writer.take_details(&part.path)?;
        whole.read_gaps(&part.path)?;
        whole.read_timeline(&part.path)?;
        if let Some(entry) = whole.manifest.shards.get_mut(entry) {
            entry.rows = rows;
        }
    }
    whole.runs.iter_mut().for_each(add_seconds);
    whole.end_windows();
    whole.tell_client();
    judge(&mut whole, &manifests);
    for run in &whole.runs {
        writer.gaps(&run.fold.gaps())?;
        writer.summary(&run.fold.summary())?;
        writer.timeline(&run.seconds)?;
        writer.accuracy(&run.fold.accuracy())?;
    }
    writer.finish(&whole.manifest)?;
    Ok(whole)
}

/// The shards in order, each there once.
fn read_parts(folders: &[PathBuf]) -> Result<Vec<Part>, MergeError> {
    let mut parts: Vec<Part> = Vec::new();
    for path in folders {
        let manifest = read_manifest(path)?;
        let shard = manifest.shard.as_deref().and_then(Shard::from_text);
        let shard =
            shard.ok_or_else(|| unfit(path, "is no shard of a run", "name the folders of `run --shard`"))?;
        if manifest.state == State::Running {
            let problem = "has not ended, or was killed, and lacks the rows that were open";
            return Err(unfit(path, problem, "report the folders one by one"));
        }
        let part = Part { path: path.clone(), manifest, shard };
        if let Some(first) = parts.first() {
            agree(first, &part)?;
        }
        if let Some(double) = parts.iter().find(|other| other.shard == shard) {
            let problem = format!("is shard {}, as is {}", text(shard), double.path.display());
            return Err(unfit(path, &problem, "name each shard once"));
        }
        parts.push(part);
    }
    parts.sort_by_key(|part| part.shard.index());
    let Some(first) = parts.first() else {
        return Err(MergeError::Unfit("there is nothing to merge".to_owned()));
    };
    let there: BTreeSet<u32> = parts.iter().map(|part| part.shard.index()).collect();
    let missing = (0..first.shard.count()).filter(|index| !there.contains(index));
    let missing: Vec<String> = missing.map(|index| format!("{index}/{}", first.shard.count())).collect();
    if !missing.is_empty() {
        return Err(MergeError::Unfit(format!(
            "of run {} there is no shard {}\n  help: name the folders of all shards",
            first.manifest.run_id,
            missing.join(", ")
        )));
    }
    Ok(parts)
}

/// What shards of one run have in common.
fn agree(first: &Part, other: &Part) -> Result<(), MergeError> {
    let of = |part: &Part| {
        let manifest = &part.manifest;
        [
            ("run_id", manifest.run_id.clone()),
            ("number of shards", part.shard.count().to_string()),
            ("scenario", manifest.name.clone()),
            ("seed", manifest.seed.to_string()),
            ("salt", manifest.salt.clone().unwrap_or_default()),
            ("version", manifest.tool_version.clone()),
            ("model", manifest.model.clone().unwrap_or_default()),
        ]
    };
    for ((what, mine), (_, theirs)) in of(first).into_iter().zip(of(other)) {
        if mine != theirs {
            let problem = format!("has {what} {theirs}, and {} has {mine}", first.path.display());
            return Err(unfit(&other.path, &problem, "name the shards of one run"));
        }
    }
    let phases = |part: &Part| {
        let names = part.manifest.phases.iter().map(|entry| (entry.point, entry.repeat, entry.name.clone()));
        names.collect::<Vec<_>>()
    };
    if phases(first) != phases(other) {
        let problem = format!("has other phases than {}", first.path.display());
        return Err(unfit(&other.path, &problem, "name the shards of one run"));
    }
    Ok(())
}

fn common_scenario(parts: &[Part]) -> Result<String, MergeError> {
    let mut common: Option<(String, &Path)> = None;
    for part in parts {
        let scenario = read_text(&part.path.join("scenario.toml"))?;
        match &common {
            None => common = Some((scenario, &part.path)),
            Some((known, first)) if *known != scenario => {
                let line = known.lines().zip(scenario.lines()).position(|(mine, theirs)| mine != theirs);
                let line = line.unwrap_or(known.lines().count().min(scenario.lines().count())) + 1;
                let problem = format!(
                    "ran another scenario than {}: their scenario.toml differ in line {line}",
                    first.display()
                );
                return Err(unfit(&part.path, &problem, "name the shards of one run"));
            }
            Some(_) => {}
        }
    }
    Ok(common.map(|(scenario, _)| scenario).unwrap_or_default())
}

/// Whether the rows of all shards together are those of the plan: as many as each shard counted, none twice, none of
/// another shard's, and in open loops that ran to their end none left out.
fn check_rows(parts: &[Part], joined: &Manifest, scenario: &str) -> Result<(), MergeError> {
    let mut seen: BTreeMap<(Option<u32>, Option<u32>, u64), usize> = BTreeMap::new();
    let mut of_phases: BTreeMap<(usize, u32, u64), BTreeSet<u64>> = BTreeMap::new();
    for (place, part) in parts.iter().enumerate() {
        let mut probe = Folder::begin(&part.path, joined.clone(), scenario.to_owned());
        let mut rows = 0;
        probe.read_rows(&part.path, false, |run, record, _| {
            rows += 1;
            check_row(part, record)?;
            let request = record.planned.request;
            if let Some(other) = seen.insert((record.point, record.repeat, request), place) {
                let problem = format!("has request {request}, as has {}", parts[other].path.display());
                return Err(unfit(&part.path, &problem, "merge folders as they were written"));
            }
            of_phases.entry((run, record.planned.phase, request / RANGE)).or_default().insert(request);
            Ok(())
        })?;
        let counted: u64 =
            part.manifest.phases.iter().filter_map(|entry| entry.requests.get("planned")).sum();
        if rows != counted {
            let problem = format!("has {rows} rows, and its manifest counts {counted}");
            return Err(unfit(&part.path, &problem, "merge folders as they were written"));
        }
    }
    if parts.iter().any(|part| part.manifest.state != State::Complete) {
        return Ok(());
    }
    let mut ranges: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    of_phases.keys().for_each(|(run, phase, _)| *ranges.entry((*run, *phase)).or_default() += 1);
    for ((run, phase, _), requests) in &of_phases {
        // A second load beside the main one may be a closed loop, whose sessions follow the server.
        let is_open = joined.phases.get(*phase as usize).is_some_and(|entry| entry.open_loop);
        if !is_open || ranges.get(&(*run, *phase)) != Some(&1) {
            continue;
        }
        let gap = requests.iter().zip(requests.iter().skip(1)).find(|(one, next)| **next != **one + 1);
        if let Some((one, _)) = gap {
            return Err(MergeError::Unfit(format!(
                "request {} of the plan is in none of the folders\n  help: merge folders as they were written",
                one + 1
            )));
        }
    }
    Ok(())
}

fn check_row(part: &Part, record: &RequestRecord) -> Result<(), MergeError> {
    let is_own = part.shard.owns(record.planned.session) && record.shard == Some(part.shard.index());
    if is_own {
        return Ok(());
    }
    let request = record.planned.request;
    let problem = format!("is shard {}, and its request {request} is not that shard's", text(part.shard));
    Err(unfit(&part.path, &problem, "merge folders as they were written"))
}

/// Makes one row of each second: counts from the rows, the rest from the shards' own seconds. Percentiles of gaps
/// cannot be joined, and stand where one shard alone has them.
fn add_seconds(run: &mut RunRows) {
    let mut of_shards: BTreeMap<u64, Vec<TimelineRow>> = BTreeMap::new();
    for second in run.seconds.drain(..) {
        of_shards.entry(second.t_s).or_default().push(second);
    }
    let sum = |values: &mut dyn Iterator<Item = f64>| values.reduce(|sum, value| sum + value);
    run.seconds = run.rebuilt.rows();
    for second in &mut run.seconds {
        let parts = of_shards.get(&second.t_s).map_or(&[][..], Vec::as_slice);
        let tokens: Option<Vec<f64>> = parts.iter().map(|part| part.output_tokens).collect();
        second.output_tokens = tokens.map(|tokens| tokens.iter().sum());
        second.client_cpu = sum(&mut parts.iter().filter_map(|part| part.client_cpu));
        let mut gaps = parts.iter().filter_map(|part| part.gap_p99);
        second.gap_p99 = gaps.next().filter(|_| gaps.next().is_none());
    }
}

/// The verdict on all rows together, with what stopped a shard.
fn judge(whole: &mut Folder, parts: &[&Manifest]) {
    let verdicts = || parts.iter().filter_map(|manifest| manifest.verdict.as_ref());
    let simulated = verdicts().any(|verdict| verdict.simulated);
    let mut findings: Vec<Finding> = manifest::apart(&whole.manifest, parts);
    findings.extend(whole.findings(simulated));
    let summary = whole.summary();
    whole.manifest.objectives.iter_mut().for_each(|objective| objective.judge(&summary));
    findings.extend(undetermined(&whole.manifest.objectives));
    let stops: Vec<FindingEntry> = verdicts()
        .flat_map(|verdict| verdict.findings.iter().filter(|finding| finding.is_stop()).cloned())
        .collect();
    whole.manifest.verdict = Some(VerdictEntry::new(&findings, simulated).preceded_by(stops));
}

fn text(shard: Shard) -> String {
    format!("{}/{}", shard.index(), shard.count())
}

fn unfit(path: &Path, problem: &str, help: &str) -> MergeError {
    MergeError::Unfit(format!("{} {problem}\n  help: {help}", path.display()))
}
