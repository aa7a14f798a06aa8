//! The analysis of long contexts against the simulated server, whose truth is its cost model.

use tonnage::sim::Profile;
use tonnage::stats::AnalysisRow;

use crate::stage::{Play, Stage};

/// Llama 3.1 8B on one H100, with chunks of 8,192 tokens.
const PROFILE: &str = include_str!("../../scenarios/profiles/8b-h100.toml");

/// What a token of a prompt takes in the linear layers: two operations a parameter, at half the peak.
const PREFILL_TOKENS_PER_S: f64 = 989e12 * 0.5 / (2.0 * 8.03e9);
/// Bytes a second from memory.
const BANDWIDTH: f64 = 3_350e9 * 0.8;
/// Bytes of the keys and values of a token.
const KV_BYTES: f64 = 131_072.0;

fn profile() -> Profile {
    Profile::parse("known", PROFILE).unwrap()
}

/// The same machine, which takes each prompt in whole and nothing beside it.
fn unchunked() -> Profile {
    let text = PROFILE.replace("chunked_prefill = true", "chunked_prefill = false");
    let text = text.replace("max_batched_tokens = 8192", "max_batched_tokens = 131072");
    assert_ne!(text, PROFILE);
    Profile::parse("unchunked", &text).unwrap()
}

fn stage(rest: &str) -> Stage {
    let head = "name = \"ladder\"\nseed = 7\n[target]\nurl = \"http://server\"\nmodel = \"m\"\n";
    Stage::new(&format!("{head}{rest}"))
}

fn workload(name: &str, words: u64, output: u64) -> String {
    format!(
        "[[workload]]\nname = \"{name}\"\nprompt.synthetic.words = {words}\noutput.max_tokens = {output}\n"
    )
}

fn phase(name: &str, workload: &str, end: &str, load: &str) -> String {
    format!("[[phase]]\nname = \"{name}\"\n{end}\nworkloads = [\"{workload}\"]\n{load}\n")
}

#[track_caller]
fn find<'a>(play: &'a Play, analysis: &str, term: &str) -> &'a AnalysisRow {
    let found = play.analysis.iter().find(|row| (row.analysis, row.term) == (analysis, term));
    found.unwrap_or_else(|| panic!("no {term} of {analysis}: {:#?}", play.analysis))
}

#[track_caller]
fn assert_near(row: &AnalysisRow, truth: f64, within: f64) {
    let value = row.value.unwrap_or_else(|| panic!("{row:?}"));
    assert!((value / truth - 1.0).abs() < within, "{row:?} is not {truth}");
}

#[test]
fn the_prefill_rate_and_its_quadratic_part_are_those_of_the_cost_model() {
    let lengths = [1_000, 4_000, 12_000, 30_000];
    let workloads = lengths.map(|words| workload(&format!("w{words}"), words, 4)).concat();
    let phases = lengths
        .map(|words| phase(&format!("p{words}"), &format!("w{words}"), "requests = 3", "load.closed = 1"));
    let play = stage(&(workloads + &phases.concat())).simulated(profile());
    assert_near(find(&play, "prefill", "rate"), PREFILL_TOKENS_PER_S, 0.02);
    // 4 operations an element of 32 layers and 32 heads of 128 for each of u²/2 pairs.
    let quadratic = 4.0 * (32.0 * 32.0 * 128.0) / 2.0 / (989e12 * 0.5) * 1e9;
    assert_near(find(&play, "prefill", "quadratic"), quadratic, 0.02);
}

#[test]
fn the_cost_of_a_token_is_that_of_weights_and_contexts_read() {
    // Users who begin together with one length each go in step: nothing is prefilled beside an answer.
    let shapes = [(1, 1_000), (8, 1_000), (2, 16_000), (4, 6_000)];
    let workloads = shapes.map(|(users, words)| workload(&format!("w{users}"), words, 200)).concat();
    let phases = shapes.map(|(users, _)| {
        let end = format!("requests = {}", 3 * users);
        phase(&format!("p{users}"), &format!("w{users}"), &end, &format!("load.closed = {users}"))
    });
    let play = stage(&(workloads + &phases.concat())).simulated(profile());
    assert_near(find(&play, "decode", "fixed"), 8.03e9 * 2.0 / BANDWIDTH * 1e3 + 1.5, 0.03);
    assert_near(find(&play, "decode", "context"), KV_BYTES / BANDWIDTH * 1e6, 0.05);
}

#[test]
fn the_knee_is_where_the_law_of_the_model_has_it_to_a_step() {
    let (prompt, output) = (500.0, 100.0);
    let users = [4, 8, 16, 32, 64, 128];
    let phases = users.map(|users| {
        let end = format!("requests = {}", users * 6);
        phase(&format!("u{users}"), "w", &end, &format!("load.closed = {users}"))
    });
    let play = stage(&(workload("w", 500, 100) + &phases.concat())).simulated(profile());
    // n users in turn: n prefills one after another, then answers whose steps read n contexts.
    let throughput = |n: f64| {
        let step_s = (8.03e9 * 2.0 + KV_BYTES * n * (prompt + output / 2.0)) / BANDWIDTH + 1.5e-3 + n * 1e-5;
        n * output / (n * prompt / PREFILL_TOKENS_PER_S + output * step_s)
    };
    let pays = |pair: &&[u32]| throughput(pair[1].into()) / throughput(pair[0].into()) - 1.0 >= 0.5;
    let pair = users.windows(2).rfind(|pair| pays(pair));
    let truth = f64::from(pair.map_or(users[0], |pair| pair[1]));
    let knee = find(&play, "knee", "load");
    let found = knee.value.unwrap_or_else(|| panic!("{:#?}", play.analysis));
    assert!((truth / 2.0..=truth * 2.0).contains(&found), "{knee:?} is not {truth}");
    assert_eq!(knee.interval.high, Some(found * 2.0));
}

/// Steady answers, and long prompts among them.
fn interfered(profile: Profile) -> Play {
    let workloads = workload("answers", 50, 2_000) + &workload("long", 60_000, 4);
    let steady = phase("steady", "answers", "duration = \"60s\"", "load.closed = 4");
    let also = "[[phase.also]]\nname = \"long\"\nworkloads = [\"long\"]\nload.constant = \"0.1/s\"\n";
    stage(&(workloads + &steady + also)).simulated(profile)
}

#[test]
fn answers_stop_beside_long_prompts_without_chunks_and_go_on_with_them() {
    let without = interfered(unchunked());
    let stopped = find(&without, "interference", "stopped");
    assert!(stopped.value == Some(1.0) && stopped.note.starts_with("detected"), "{:#?}", without.analysis);
    let with = interfered(profile());
    let stopped = find(&with, "interference", "stopped");
    assert!(stopped.value == Some(0.0) && stopped.note.starts_with("absent"), "{:#?}", with.analysis);
}
