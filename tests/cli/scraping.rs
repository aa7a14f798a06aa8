//! The server's own metrics beside a run: whose pages are asked for, what is sent there, and what comes of those
//! that are dead.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use super::results::Results;
use super::sandbox::Sandbox;

const WATCHED: &str = r#"
name = "watched"
seed = 3

[target]
sim.profile = "8b-h100"
headers = { x-tenant = "SECRET-OF-THE-TARGET" }

[[workload]]
name = "w"
prompt.synthetic = 500
output.max_tokens = 20

[[phase]]
name = "p"
duration = "1s"
load.closed = 2

[server]
every = "200ms"
"#;

#[test]
fn a_rehearsal_looks_at_exact_times_and_sees_what_the_simulator_counts() {
    let sandbox = Sandbox::with(&format!("{WATCHED}extra = [\"vllm:iteration_tokens_total\"]\n"));
    for out in ["a", "b"] {
        sandbox.tonnage(&["rehearse", "x.toml", "--out", out, "--quiet"]).expect(0);
    }
    let [a, b] = ["a", "b"].map(|out| Results::at(sandbox.path(out)));
    for table in ["server.csv", "server_extra.csv"] {
        assert!(a.text(table) == b.text(table), "{table} differs");
    }
    let rows = a.rows("server.csv");
    let column = |name: &str| rows.iter().map(|row| row[name].clone()).collect::<Vec<_>>();
    let times = column("t_s");
    assert_eq!(times[..3], ["0.000000", "0.200000", "0.400000"]);
    // 467,280 tokens: 80 GiB × 0.9 beside 8.03e9 × 2 bytes of weights, at 131,072 bytes a token, in whole blocks.
    assert!(column("kv_capacity_tokens").iter().all(|tokens| tokens == "467280"));
    assert!(column("block_tokens").iter().all(|tokens| tokens == "16"));
    assert_eq!((&*rows[0]["running"], &*rows[1]["running"]), ("0", "2"));
    let counted =
        |name: &str| column(name).iter().map(|cell| cell.parse::<f64>().unwrap()).collect::<Vec<_>>();
    for counter in ["prompt_tokens", "generation_tokens", "prefix_queries"] {
        let values = counted(counter);
        assert!(
            values[0] == 0.0 && values.is_sorted() && values[values.len() - 1] > 0.0,
            "{counter}: {values:?}"
        );
    }
    let names = a
        .rows("server_extra.csv")
        .iter()
        .map(|row| row["name"].clone())
        .collect::<std::collections::BTreeSet<_>>();
    assert_eq!(
        names.into_iter().collect::<Vec<_>>(),
        ["vllm:iteration_tokens_total_count", "vllm:iteration_tokens_total_sum"]
    );
    let page = &a.manifest()["server"][0];
    assert_eq!(
        (&page["page"], &page["server"], &page["failed"]),
        (&"/metrics".into(), &"vllm".into(), &0.into())
    );
}

#[test]
fn without_the_table_nothing_is_looked_at() {
    let sandbox = Sandbox::with(WATCHED.split("[server]").next().unwrap());
    sandbox.tonnage(&["rehearse", "x.toml", "--out", "a", "--quiet"]).expect(0);
    assert!(!sandbox.has("a/server.csv") && !sandbox.has("a/server_extra.csv"));
}

#[test]
fn dead_pages_are_counted_and_strangers_are_sent_no_header_of_the_target() {
    let dead = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = stranger.local_addr().unwrap();
    let serve = thread::spawn(move || {
        let (mut stream, _) = stranger.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        let page = "sglang:num_running_reqs 7\n";
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{page}", page.len()).unwrap();
        // Closed after one answer: all later looks fail.
        String::from_utf8(request).unwrap()
    });
    let sandbox = Sandbox::with(&format!(
        "{WATCHED}metrics = [\"/metrics\", \"http://{address}/metrics\", \"http://{dead}/metrics\"]\n"
    ));
    let ended = sandbox.tonnage(&["run", "x.toml", "--out", "a"]).expect(0);
    let request = serve.join().unwrap();
    assert!(request.starts_with("GET /metrics HTTP/1.1\r\n"), "{request}");
    assert!(!request.contains("SECRET-OF-THE-TARGET") && !request.contains("x-tenant"), "{request}");
    let results = Results::at(sandbox.path("a"));
    let of = |endpoint: &str| {
        let rows = results.rows("server.csv").into_iter();
        rows.filter(|row| row["endpoint"] == endpoint).collect::<Vec<_>>()
    };
    assert!(of("0").iter().all(|row| row["error"].is_empty() && !row["kv_use"].is_empty()));
    assert_eq!((&*of("1")[0]["running"], &*of("1")[0]["kv_use"]), ("7", ""));
    assert!(of("1")[1..].iter().all(|row| row["running"].is_empty() && !row["error"].is_empty()));
    assert!(
        of("2").len() >= 5 && of("2").iter().all(|row| !row["error"].is_empty() && row["waiting"].is_empty())
    );
    let pages = &results.manifest()["server"];
    assert_eq!(
        [&pages[0]["server"], &pages[1]["server"], &pages[2]["server"]],
        [&"vllm".into(), &"sglang".into(), &serde_json::Value::Null]
    );
    assert_eq!((&pages[0]["failed"], &pages[2]["failed"]), (&0.into(), &pages[2]["looks"]));
    assert!(
        ended.out.contains("looks, 1 of them failed") || ended.out.contains("of them failed ("),
        "{}",
        ended.out
    );
}
