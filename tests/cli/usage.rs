//! The command line and the scenario: what is refused, before any traffic, and what help there is.

use super::results::Results;
use super::sandbox::Sandbox;
use super::server::{Reply, Server, models};

/// Forty short requests against an embedded server: a fraction of a second.
pub(crate) const QUICK: &str = r#"
name = "quick"
seed = 7

[target]
sim.profile = "8b-h100"

[[workload]]
name = "words"
prompt.synthetic = 20
output.max_tokens = 6

[[phase]]
name = "steady"
requests = 40
load.closed = 8
"#;

/// The same against the server at `url`.
pub(crate) fn quick_at(url: &str) -> String {
    QUICK.replace(r#"sim.profile = "8b-h100""#, &format!("url = \"{url}\""))
}

/// Refused with exit code 2 before anything was made or printed as a result.
fn refused(scenario: &str, arguments: &[&str], words: &[&str]) {
    let sandbox = Sandbox::with(scenario);
    let ended = sandbox.tonnage(arguments).expect(2).says(words);
    assert_eq!(ended.out, "", "a result is printed: {ended:#?}");
    assert!(!sandbox.has("results"), "a results folder is left");
    assert_eq!(ended.err.matches("error: error").count(), 0, "{}", ended.err);
}

/// `QUICK` with one more objective.
fn with_objective(objective: &str) -> String {
    format!("{QUICK}\n[[objective]]\n{objective}\n")
}

#[test]
fn an_objective_that_is_missed_makes_the_exit_code_5_and_stands_in_every_report() {
    let held = "metric = \"success\"\nat_least = \"50%\"";
    let missed = "metric = \"ttft\"\npercentile = 50\nat_most = \"1us\"\nphase = \"steady\"";
    let undecided = "metric = \"ttft\"\npercentile = 99\nat_most = \"3s\"";
    for (objective, code, answer) in [(held, 0, "pass"), (missed, 5, "fail"), (undecided, 0, "undetermined")]
    {
        let sandbox = Sandbox::with(&with_objective(objective));
        let ended = sandbox.tonnage(&["rehearse", "x.toml", "--quiet", "--out", "r"]).expect(code);
        assert!(ended.out.contains(&format!("\nobjectives\n  {answer} ")), "{}", ended.out);
        let results = Results::at(sandbox.path("r"));
        let manifest = results.manifest();
        assert_eq!(manifest["objectives"][0]["judged"][0]["answer"], answer);
        assert_eq!(manifest["objectives"][0]["judged"][0]["phase"], "steady");
        let expected = if answer == "undetermined" { "insufficient" } else { "valid" };
        assert_eq!(manifest["verdict"]["verdict"], expected, "{}", ended.out);
        let told = sandbox.tonnage(&["report", "r"]).expect(0).out;
        let objectives = |text: &str| {
            let start = text.find("\nobjectives\n").unwrap();
            text[start..].lines().take(3).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(objectives(&told), objectives(&ended.out));
        assert!(results.text("report.html").contains(&format!("<tr><td>{answer}</td><td>steady</td>")));
        let told = sandbox.tonnage(&["report", "r", "--json"]).expect(0).out;
        let json: serde_json::Value = serde_json::from_str(told.lines().next().unwrap()).unwrap();
        assert_eq!(json["objectives"], manifest["objectives"]);
    }
}

#[test]
fn figures_that_cannot_stand_miss_no_objective() {
    let missed = with_objective("metric = \"ttft\"\npercentile = 50\nat_most = \"1us\"");
    let few = missed.replace("requests = 40", "requests = 20");
    let sandbox = Sandbox::with(&few);
    sandbox.tonnage(&["rehearse", "x.toml", "--quiet", "--out", "a"]).expect(5);
    sandbox.tonnage(&["rehearse", "x.toml", "--quiet", "--out", "b", "--strict"]).expect(4);
}

#[test]
fn help_names_the_commands_and_each_gives_examples() {
    let sandbox = Sandbox::new();
    let help = sandbox.tonnage(&["--help"]).expect(0).out;
    for command in ["run", "rehearse", "sim"] {
        assert!(help.contains(&format!("  {command} ")), "{help}");
        let help = sandbox.tonnage(&[command, "--help"]).expect(0).out;
        assert!(help.contains(&format!("Examples:\n  tonnage {command}")), "{help}");
        assert!(help.lines().all(|line| line.chars().count() <= 110), "{help}");
    }
    let help = sandbox.tonnage(&["run", "--help"]).expect(0).out;
    for option in ["--set", "--target", "--out", "--quiet", "--json", "--strict", "Exit codes:"] {
        assert!(help.contains(option), "{help}");
    }
    assert_eq!(sandbox.tonnage(&["--version"]).expect(0).out, "tonnage 0.1.0\n");
}

#[test]
fn without_a_command_or_with_a_wrong_one_the_usage_is_shown() {
    let sandbox = Sandbox::new();
    sandbox.tonnage(&[]).expect(2).says(&["Usage: tonnage"]);
    sandbox.tonnage(&["walk"]).expect(2).says(&["unrecognized subcommand 'walk'"]);
    sandbox.tonnage(&["run"]).expect(2).says(&["<FILE>"]);
    sandbox.tonnage(&["run", "x.toml", "--sett", "a=1"]).expect(2).says(&["--set"]);
}

#[test]
fn c154_an_unknown_key_is_shown_with_file_line_and_the_nearest_key() {
    let scenario = QUICK.replace("requests = 40", "requets = 40");
    refused(&scenario, &["run", "x.toml"], &["x.toml:15:1", "requets", "did you mean `requests`?", "help:"]);
}

#[test]
fn c154_a_wrong_type_is_shown_with_what_is_expected() {
    let scenario = QUICK.replace("load.closed = 8", "load.poisson = true");
    refused(&scenario, &["run", "x.toml"], &["x.toml:16:", "a rate"]);
}

#[test]
fn all_problems_are_shown_at_once_and_counted() {
    let scenario = QUICK.replace("requests = 40", "requets = 40").replace("seed = 7", "seed = -7");
    refused(&scenario, &["run", "x.toml"], &["x.toml:3:", "x.toml:15:", "2 problems; nothing was sent"]);
}

#[test]
fn a_scenario_that_is_not_there_is_named() {
    for command in ["run", "rehearse"] {
        refused(QUICK, &[command, "y.toml"], &["error: ", "y.toml"]);
    }
    refused(QUICK, &["run", "."], &["error: "]);
}

#[test]
fn an_unknown_profile_is_refused_with_those_there_are() {
    let scenario = QUICK.replace("8b-h100", "9b-h100");
    refused(&scenario, &["run", "x.toml"], &["x.toml:6:", "9b-h100", "8b-h100", "72b-4x64gb"]);
    refused(QUICK, &["rehearse", "x.toml", "--profile", "abacus"], &["abacus", "help: one of 7b-24gb"]);
    refused(QUICK, &["sim", "--profile", "abacus"], &["abacus", "help: one of 7b-24gb"]);
}

#[test]
fn a_bad_override_is_refused_and_named() {
    for (set, words) in [
        ("phase.steady.requets=3", ["requets", "requests"]),
        ("phase.steady.requests=-3", ["phase.steady.requests", "-3"]),
        ("phase.other.requests=3", ["other", "steady"]),
        ("phase.steady.requests", ["--set", "no `=`"]),
    ] {
        refused(QUICK, &["run", "x.toml", "--set", set], &words);
    }
}

#[test]
fn a_missing_or_empty_data_set_is_refused_with_its_path() {
    let scenario = QUICK.replace("prompt.synthetic = 20", r#"prompt.dataset = "rows.jsonl""#);
    refused(&scenario, &["run", "x.toml"], &["rows.jsonl", "help:"]);
    for text in ["", "\n\n", "{}\n"] {
        let sandbox = Sandbox::with(&scenario);
        sandbox.write("rows.jsonl", text);
        sandbox.tonnage(&["run", "x.toml"]).expect(2).says(&["rows.jsonl"]);
        assert!(!sandbox.has("results"));
    }
}

#[test]
fn an_unset_key_variable_is_named_before_any_traffic() {
    let server = Server::start(|_| Reply::Tokens(3));
    let scenario =
        quick_at(&server.url()).replace("[[workload]]", "api_key_env = \"LOAD_KEY\"\n[[workload]]");
    refused(
        &scenario,
        &["run", "x.toml"],
        &["error: the environment variable `LOAD_KEY` is not set", "help:"],
    );
    assert!(server.seen().is_empty());
}

#[test]
fn a_results_folder_that_exists_is_refused_before_any_traffic() {
    let server = Server::start(|_| Reply::Tokens(3));
    let sandbox = Sandbox::with(&quick_at(&server.url()));
    for taken in ["x.toml", "."] {
        for command in ["run", "rehearse"] {
            let ended = sandbox.tonnage(&[command, "x.toml", "--out", taken]).expect(2);
            ended.says(&["exists, and results are never overwritten", "--out"]);
        }
    }
    assert!(server.seen().is_empty());
}

#[test]
fn a_list_of_several_models_is_refused_with_their_names_before_any_load() {
    let server = Server::bare(|_| models(&["small", "large"]));
    refused(
        &quick_at(&server.url()),
        &["run", "x.toml"],
        &["serves 2 models", "small, large", "target.model"],
    );
    assert_eq!((server.seen().len(), server.posts()), (1, 0));
}

#[test]
fn a_server_without_a_list_of_models_is_refused_unless_the_model_is_named() {
    let server = Server::bare(|request| match request.is_post() {
        true => Reply::Tokens(3),
        false => Reply::Document(404, "{}".into()),
    });
    let scenario = quick_at(&server.url());
    refused(&scenario, &["run", "x.toml"], &["no list of models at /v1/models", "target.model"]);
    assert_eq!(server.posts(), 0);
    let sandbox = Sandbox::with(&scenario);
    let arguments = ["run", "x.toml", "--set", "target.model=tiny", "--out", "r", "--quiet"];
    assert_ne!(sandbox.tonnage(&arguments).code, Some(2));
    assert_eq!(server.posts(), 40);
    assert!(server.seen().iter().filter(|seen| seen.is_post()).all(|seen| seen.body.contains("\"tiny\"")));
}

#[test]
fn more_users_than_descriptors_allow_are_refused_with_the_numbers() {
    let sandbox = Sandbox::with(&QUICK.replace("closed = 8", "closed = 64"));
    let ended = sandbox.shell("ulimit -n 300 && exec \"$0\" run x.toml").expect(2);
    ended.says(&["64 users", "300 open files", "22", "ulimit -n", "load.closed.users"]);
    assert!(!sandbox.has("results"));
    sandbox.shell("ulimit -n 400 && exec \"$0\" run x.toml --out r").expect(0);
    // An open loop would drop all there is.
    let sandbox = Sandbox::with(&QUICK.replace("closed = 8", "poisson = \"100/s\""));
    let ended = sandbox.shell("ulimit -n 64 && exec \"$0\" run x.toml").expect(2);
    ended.says(&["64 open files", "no connection", "ulimit -n", "to 258"]);
    assert!(!sandbox.has("results"));
}
