//! The limits of the verdict, as a scenario sets them, and a client that cannot keep up.

use super::results::Results;
use super::sandbox::{Sandbox, eventually};
use super::server::{Reply, Server};

const STEADY: &str = "name = \"steady\"\nseed = 5\ntarget.sim.profile = \"8b-h100\"\n\
     [[workload]]\nname = \"chat\"\nprompt.synthetic = 100\noutput.max_tokens = 16\n\
     [[phase]]\nname = \"steady\"\nduration = \"20s\"\nload.poisson = \"10/s\"\n";

#[test]
fn limits_that_a_scenario_sets_decide_the_verdict_and_stand_in_the_manifest() {
    let sandbox = Sandbox::with(STEADY);
    let verdict = |out: &str, set: &[&str]| {
        let mut arguments = vec!["rehearse", "x.toml", "--quiet", "--out", out];
        arguments.extend(set.iter().flat_map(|set| ["--set", set]));
        sandbox.tonnage(&arguments).expect(0);
        Results::at(sandbox.path(out)).manifest()
    };
    let plain = verdict("plain", &[]);
    assert_eq!(plain["verdict"]["verdict"], "valid");
    assert_eq!(plain["verdict"]["findings"].as_array().unwrap().len(), 0, "{}", plain["verdict"]);
    assert_eq!(
        (&plain["thresholds"]["few_answers"], &plain["thresholds"]["delay_ms"]),
        (&36.into(), &1.0.into())
    );

    let strict = verdict("strict", &["verdict.few_answers=1000", "verdict.delay=\"2ms\""]);
    assert_eq!(strict["verdict"]["verdict"], "insufficient");
    assert_eq!(strict["verdict"]["findings"][0]["kind"], "few_answers");
    assert_eq!(strict["verdict"]["findings"][0]["threshold"], 1000.0);
    assert_eq!(
        (&strict["thresholds"]["few_answers"], &strict["thresholds"]["delay_ms"]),
        (&1000.into(), &2.0.into())
    );

    // A run that was killed is judged from its folder by the limits it was given.
    let text = Results::at(sandbox.path("strict")).text("manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    manifest["verdict"] = serde_json::Value::Null;
    sandbox.write("strict/manifest.json", &manifest.to_string());
    let report = sandbox.tonnage(&["report", "strict"]).expect(0).out;
    assert!(report.contains("(wanted 1000)"), "{report}");
}

#[test]
fn a_client_that_is_kept_from_its_work_says_so_and_its_run_is_invalid() {
    let server = Server::start(|_| Reply::Tokens(3));
    let sandbox = Sandbox::with(&format!(
        "name = \"kept\"\nseed = 5\ntarget.url = \"{}\"\n\
         [[workload]]\nname = \"chat\"\nprompt.synthetic.words = 3\noutput.max_tokens = 8\n\
         [[phase]]\nname = \"steady\"\nrequests = 100\nload.constant = \"25/s\"\n",
        server.url()
    ));
    let running = sandbox.start(&["run", "x.toml", "--quiet", "--out", "r"]);
    eventually("requests have come", || server.posts() >= 20);
    running.signal("STOP");
    let mut looks = 0;
    eventually("ten more are due", || {
        looks += 1;
        looks > 40
    });
    running.signal("CONT");
    let ended = running.wait().expect(4);
    assert!(ended.out.contains("p99 late to send "), "{}", ended.out);
    let manifest = Results::at(sandbox.path("r")).manifest();
    assert_eq!(manifest["verdict"]["verdict"], "invalid");
    let findings = manifest["verdict"]["findings"].as_array().unwrap();
    let late = findings.iter().find(|finding| finding["kind"] == "send_delay").unwrap();
    assert_eq!(late["severity"], "invalid");
    let client = &manifest["phases"][0]["client"];
    assert!(client["send_delay_p99_ms"].as_f64().unwrap() > 100.0, "{client}");
    assert!(client["memory_peak_bytes"].as_u64().unwrap() > 1 << 20, "{client}");
    let share = client["sender_cpu_share"].as_f64().unwrap();
    assert!(share > 0.0 && share < 1.0, "{client}");
    assert!(client["backlog_peak_bytes"].as_u64().unwrap() > 0, "{client}");
}
