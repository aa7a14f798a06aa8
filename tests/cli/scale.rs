//! Many requests at once, large ones, and too many: what a run does at its limits.

use std::sync::Barrier;
use std::time::Duration;

use super::results::Results;
use super::sandbox::Sandbox;
use super::server::{Reply, Server};

/// A scenario of one phase for a server at `url`.
fn scenario(url: &str, target: &str, words: u32, phase: &str) -> String {
    format!(
        "name = \"scale\"\nseed = 5\n[target]\nurl = \"{url}\"\n{target}\n\
         [[workload]]\nname = \"chat\"\nprompt.synthetic.words = {words}\noutput.max_tokens = 8\n\
         [[phase]]\nname = \"steady\"\n{phase}\n"
    )
}

/// What a run leaves, valid or not, and the folder that it stands in.
fn run(scenario: &str) -> (Results, Sandbox) {
    let sandbox = Sandbox::with(scenario);
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", "r", "--quiet"]);
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    (Results::at(sandbox.path("r")), sandbox)
}

#[test]
fn c155_three_hundred_users_have_three_hundred_requests_at_the_server() {
    // Nobody is answered before all are there: with a limit below 300 the run would never end.
    let all = Barrier::new(300);
    let server = Server::start(move |_| {
        all.wait();
        Reply::Tokens(1)
    });
    let phase = "requests = 300\nload.closed = 300";
    let (results, _sandbox) = run(&scenario(&server.url(), "", 3, phase));
    assert_eq!((results.count("ok"), server.posts()), (300, 300));
}

#[test]
fn c156_long_prompts_and_large_events_go_through_whole() {
    const TOKENS: usize = 256;
    let server = Server::start(|_| Reply::Padded { tokens: TOKENS, bytes: 8 << 10 });
    let phase = "requests = 64\nload.closed = 32";
    let (results, _sandbox) = run(&scenario(&server.url(), "", 80_000, phase));
    assert!(server.seen().iter().filter(|request| request.is_post()).all(|post| post.body.len() > 400_000));
    let rows = results.rows("requests.csv");
    assert_eq!((rows.len(), results.count("ok")), (64, 64));
    for row in rows {
        assert_eq!([&*row["output_tokens"], &row["events"]], ["256", "256"]);
        assert!(row["bytes_received"].parse::<usize>().unwrap() > TOKENS * (8 << 10), "{row:?}");
    }
}

#[test]
fn c160_a_client_that_falls_behind_a_hundred_thousand_events_a_second_says_so() {
    const STREAMS: usize = 512;
    const TOKENS: usize = 200;
    // All begin together: 102,400 events a second are asked of the client.
    let all = Barrier::new(STREAMS);
    let server = Server::start(move |_| {
        all.wait();
        Reply::Paced { tokens: TOKENS, every: Duration::from_millis(5) }
    });
    let phase = format!("requests = {STREAMS}\nload.closed = {STREAMS}");
    let (results, _sandbox) = run(&scenario(&server.url(), "", 3, &phase));
    let rows = results.rows("requests.csv");
    assert_eq!(results.count("ok"), STREAMS);
    assert!(rows.iter().all(|row| row["events"] == TOKENS.to_string()), "no event may be lost");
    let times = |column: &str| rows.iter().map(|row| row[column].parse::<f64>().unwrap()).collect::<Vec<_>>();
    let begin = times("first_token_s").into_iter().fold(f64::INFINITY, f64::min);
    let end = times("last_token_s").into_iter().fold(0.0, f64::max);
    let rate = (STREAMS * TOKENS) as f64 / (end - begin);
    let manifest = results.manifest();
    let found = manifest["verdict"]["findings"].as_array().unwrap().iter();
    let found = found.map(|finding| finding["kind"].as_str().unwrap()).collect::<Vec<_>>();
    let signs = ["send_delay", "loop_delay", "read_delay", "shared_reads"];
    let is_said = found.iter().any(|kind| signs.contains(kind));
    assert!(rate >= 100_000.0 || is_said, "{rate:.0} events a second, and only {found:?}");
}

#[test]
fn c162_a_server_that_never_answers_holds_as_many_requests_as_are_allowed_and_no_more() {
    let server = Server::start(|_| Reply::Stall);
    let phase =
        "duration = \"2s\"\ndrain = \"100ms\"\nload.constant = { rate = \"1000/s\", max_in_flight = 200 }";
    let (results, _sandbox) = run(&scenario(&server.url(), "", 3, phase));
    assert_eq!(results.count("cut_at_end"), 200);
    assert_eq!(results.count("dropped"), 1_800);
    assert_eq!(server.posts(), 200);
}

/// Runs 80 requests of so many users at an embedded server in a network of its own with 40 local ports; `None`
/// where nobody may make such a network.
fn run_with_few_ports(connections: &str, users: u32) -> Option<(Results, Sandbox)> {
    const NETWORK: &str = "ip link set lo up && echo 50000 50039 > /proc/sys/net/ipv4/ip_local_port_range";
    let target = format!("connections = \"{connections}\"");
    let text = scenario("-", &target, 3, &format!("requests = 80\nload.closed = {users}"));
    let sandbox = Sandbox::with(&text.replace("url = \"-\"", "sim.profile = \"8b-h100\""));
    if sandbox.shell(&format!("unshare --net sh -c '{NETWORK}'")).code != Some(0) {
        return None;
    }
    let run = format!("unshare --net sh -c '{NETWORK} && \"$0\" run x.toml --out r --quiet' \"$0\"");
    let ended = sandbox.shell(&run);
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    Some((Results::at(sandbox.path("r")), sandbox))
}

#[test]
fn c158_local_ports_that_run_out_are_the_clients_failure_with_advice() {
    let Some((results, _sandbox)) = run_with_few_ports("per_request", 60) else {
        // The advice itself has a test beside the code.
        return eprintln!("left out: no right to a network of its own");
    };
    let rows = results.rows("requests.csv");
    let failed: Vec<_> = rows.iter().filter(|row| row["outcome"] != "ok").collect();
    assert!(failed.len() > 10 && failed.len() < rows.len(), "{} of {}", failed.len(), rows.len());
    for row in failed {
        assert_eq!(row["outcome"], "client_error");
        assert!(row["error"].starts_with("local ports exhausted: reuse connections"), "{row:?}");
    }
    assert_eq!(results.verdict(), "invalid");
}

#[test]
fn c158_connections_that_are_reused_need_few_local_ports() {
    if let Some((results, _sandbox)) = run_with_few_ports("reuse", 8) {
        assert_eq!(results.count("ok"), 80);
    }
}
