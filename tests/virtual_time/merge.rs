//! Shards joined: the result of one process, to the last digit, where the server answers each request alike.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;
use tonnage::results::Folder;
use tonnage::results::merge::{MergeError, merge};
use tonnage::results::{reader, tables, text};
use tonnage::stats::SummaryRow;

use crate::answer::{Answer, ms};
use crate::server::Asked;
use crate::stage::{Play, Stage};

const PHASE: &str = "slo = { ttft = \"12ms\" }\n[[phase]]\nname = \"a\"\nwarm_up = \"1s\"\nduration = \"9s\"\n\
                     load.poisson = \"60/s\"\n";

/// The same answer to a request whoever sends it.
fn answer(asked: &Asked) -> Answer {
    Answer::tokens(ms(5 + asked.request % 11), ms(2 + asked.request % 3), 4)
}

fn parts(phases: &str, count: u32) -> Vec<Play> {
    (0..count).map(|index| Stage::chat(phases).shard(index, count).scripted(answer)).collect()
}

fn folders(parts: &[Play]) -> Vec<PathBuf> {
    parts.iter().map(Play::results).collect()
}

/// Joins them; with the folder that holds the result.
fn joined(parts: &[Play]) -> (Folder, TempDir) {
    let out = tempfile::tempdir().unwrap();
    let whole = merge(&folders(parts), &out.path().join("whole"), |_| ()).unwrap();
    (whole, out)
}

fn refused(folders: &[PathBuf]) -> String {
    let out = tempfile::tempdir().unwrap();
    let error = merge(folders, &out.path().join("whole"), |_| ()).err().unwrap();
    assert!(matches!(error, MergeError::Unfit(_)), "{error}");
    assert!(!out.path().join("whole").exists(), "nothing is begun");
    error.to_string().replace(folders[0].to_str().unwrap(), "A").replace(folders[1].to_str().unwrap(), "B")
}

#[test]
fn joined_shards_give_the_figures_of_one_process() {
    let whole = Stage::chat(PHASE).scripted(answer);
    for count in [2, 3, 7] {
        let (folder, out) = joined(&parts(PHASE, count));
        let summary = folder.summary();
        // Each process has connections of its own.
        let told = |rows: &[SummaryRow]| {
            let rows = rows.iter().filter(|row| !row.metric.contains("connect")).cloned();
            text::file(tables::SUMMARY, &rows.collect::<Vec<_>>())
        };
        assert!(told(&summary) == told(&whole.summary), "{count} shards");
        let mut timeline = whole.timeline.clone();
        // Percentiles of gaps of several shards cannot be joined.
        let mut seconds = folder.runs[0].seconds.clone();
        timeline.iter_mut().chain(&mut seconds).for_each(|second| second.gap_p99 = None);
        assert_eq!(seconds, timeline);
        let path = out.path().join("whole");
        let gaps = |path: PathBuf| fs::read_to_string(path.join("gaps.csv")).unwrap();
        assert_eq!(gaps(path.clone()), gaps(whole.results()));
        let mut seen = 0;
        let read = reader::read(&path, |_, _| seen += 1).unwrap();
        assert_eq!((seen, read.summary()), (whole.rows.len(), summary), "read back, it is the same");
        assert_eq!(folder.manifest.shards.iter().map(|shard| shard.rows).sum::<u64>(), seen as u64);
        assert_eq!(folder.manifest.phases[0].requests["planned"], seen as u64);
    }
}

#[test]
fn rows_are_taken_over_as_they_were_written() {
    let parts = parts(PHASE, 2);
    let (_, out) = joined(&parts);
    let file = fs::read_to_string(out.path().join("whole/requests.csv")).unwrap();
    let header = parts[0].file.lines().next().unwrap();
    let body = |file: &str| file.split_once('\n').unwrap().1.to_owned();
    assert_eq!(file, format!("{header}\n{}{}", body(&parts[0].file), body(&parts[1].file)));
}

#[test]
fn what_is_no_set_of_shards_is_refused_by_name() {
    let plays = parts(PHASE, 3);
    let all = folders(&plays);
    insta::assert_snapshot!(refused(&all[..2]), @r#"
    of run run there is no shard 2/3
      help: name the folders of all shards
    "#);
    insta::assert_snapshot!(refused(&[all[0].clone(), all[1].clone(), all[0].clone(), all[2].clone()]), @r#"
    A is shard 0/3, as is A
      help: name each shard once
    "#);
    let whole = Stage::chat(PHASE).scripted(answer);
    insta::assert_snapshot!(refused(&[whole.results(), all[1].clone()]), @r#"
    A is no shard of a run
      help: name the folders of `run --shard`
    "#);
    let two = parts(PHASE, 2);
    insta::assert_snapshot!(refused(&[all[0].clone(), two[1].results()]), @r#"
    B has number of shards 2, and A has 3
      help: name the shards of one run
    "#);
    let edit = |from: &str, to: &str| {
        let path = two[1].results().join("manifest.json");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let told = refused(&folders(&two));
        fs::write(&path, text).unwrap();
        told
    };
    insta::assert_snapshot!(edit("\"run_id\": \"run\"", "\"run_id\": \"other\""), @r#"
    B has run_id other, and A has run
      help: name the shards of one run
    "#);
    insta::assert_snapshot!(edit("\"seed\": 7", "\"seed\": 8"), @r#"
    B has seed 8, and A has 7
      help: name the shards of one run
    "#);
    insta::assert_snapshot!(edit("\"tool_version\": \"0.1.0\"", "\"tool_version\": \"0.0.9\""), @r#"
    B has version 0.0.9, and A has 0.1.0
      help: name the shards of one run
    "#);
    insta::assert_snapshot!(edit("\"state\": \"complete\"", "\"state\": \"running\""), @r#"
    B has not ended, or was killed, and lacks the rows that were open
      help: report the folders one by one
    "#);
    fs::write(two[1].results().join("scenario.toml"), "name = \"other\"\n").unwrap();
    insta::assert_snapshot!(refused(&folders(&two)), @r#"
    B ran another scenario than A: their scenario.toml differ in line 1
      help: name the shards of one run
    "#);
}

#[test]
fn rows_that_are_missing_doubled_or_of_another_shard_are_refused() {
    let two = parts(PHASE, 2);
    let path = two[1].results().join("requests.csv");
    let rows = fs::read_to_string(&path).unwrap();
    let cut = rows.trim_end().rsplit_once('\n').unwrap();
    fs::write(&path, format!("{}\n", cut.0)).unwrap();
    insta::assert_snapshot!(refused(&folders(&two)), @r#"
    B has 264 rows, and its manifest counts 265
      help: merge folders as they were written
    "#);
    let other = fs::read_to_string(two[0].results().join("requests.csv")).unwrap();
    fs::write(&path, format!("{}\n{}\n", cut.0, other.lines().nth(5).unwrap())).unwrap();
    insta::assert_snapshot!(refused(&folders(&two)), @r#"
    B is shard 1/2, and its request 8 is not that shard's
      help: merge folders as they were written
    "#);
    fs::write(&path, format!("{rows}{}\n", rows.lines().nth(1).unwrap())).unwrap();
    let told = refused(&folders(&two));
    assert!(told.starts_with("B has request ") && told.contains(", as has B"), "{told}");
}

#[test]
fn a_drop_in_one_shard_is_a_finding_of_the_whole() {
    let phase = "[[phase]]\nname = \"p\"\nduration = \"4s\"\nload.constant = { rate = \"50/s\", max_in_flight = 4 }\n";
    let stuck = |asked: &Asked| match asked.request {
        // A slow answer in one shard, which has two places.
        20..24 => Answer::tokens(ms(400), ms(1), 2),
        _ => Answer::tokens(ms(5), ms(1), 2),
    };
    let parts: Vec<Play> = (0..2).map(|index| Stage::chat(phase).shard(index, 2).scripted(stuck)).collect();
    assert!(parts.iter().all(|part| part.ended("dropped") > 0));
    let (folder, _out) = joined(&parts);
    let verdict = folder.manifest.verdict.unwrap();
    let dropped = verdict.findings.iter().find(|finding| finding.kind == "dropped").unwrap();
    let count: usize = parts.iter().map(|part| part.ended("dropped")).sum();
    assert!(dropped.text.starts_with(&format!("{count} requests")), "{}", dropped.text);
}

#[test]
fn later_phases_that_began_apart_are_a_finding() {
    let phases = "[[phase]]\nname = \"a\"\nduration = \"1s\"\nload.constant = \"10/s\"\n\
                  [[phase]]\nname = \"b\"\nduration = \"2s\"\nload.constant = \"50/s\"\n";
    let slow = |asked: &Asked| match asked.request {
        8 => Answer::tokens(ms(2_000), ms(0), 1),
        _ => Answer::tokens(ms(5), ms(1), 2),
    };
    let parts: Vec<Play> = (0..2).map(|index| Stage::chat(phases).shard(index, 2).scripted(slow)).collect();
    let (folder, _out) = joined(&parts);
    let verdict = folder.manifest.verdict.unwrap();
    let apart: Vec<_> = verdict.findings.iter().filter(|finding| finding.kind == "shards_apart").collect();
    assert_eq!(apart.len(), 1, "{:?}", verdict.findings);
    assert_eq!(apart[0].phase, "b");
    insta::assert_snapshot!(apart[0].text, @r#"the shards began up to 1800 ms apart (limit 20 ms): for that long only a part of the load was offered"#);
}
