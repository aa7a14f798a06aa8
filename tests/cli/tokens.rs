//! Servers that count tokens otherwise than the scenario's tokenizer does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::results::Results;
use super::sandbox::Sandbox;

/// Serves for the rest of the test; a word is five tokens. Returns the address.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A connection that ends in the middle of a request is none of the test's.
            let _ = answer(stream);
        }
    });
    address
}

fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (kind, text) = match serde_json::from_slice::<serde_json::Value>(&body) {
        Ok(asked) => {
            let words = asked["messages"][0]["content"].as_str().unwrap().split_whitespace().count();
            let usage = format!("{{\"prompt_tokens\": {}, \"completion_tokens\": 1}}", 5 * words);
            let delta = "{\"choices\": [{\"index\": 0, \"delta\": {\"content\": \"able\"}, \"finish_reason\": \"stop\"}]}";
            let last = format!("{{\"choices\": [], \"usage\": {usage}}}");
            ("text/event-stream", format!("data: {delta}\n\ndata: {last}\n\ndata: [DONE]\n\n"))
        }
        Err(_) => ("application/json", "{\"data\": [{\"id\": \"m\"}]}".to_owned()),
    };
    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\n";
    write!(stream, "{head}content-type: {kind}\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}

#[test]
fn c091_a_tokenizer_that_is_not_the_servers_is_said_and_the_servers_number_holds() {
    let sandbox = Sandbox::with(
        "name = \"counts\"\nseed = 3\ntarget.url = \"http://replaced\"\ntarget.tokenizer.file = \"tokenizer.json\"\n\
         [[workload]]\nname = \"w\"\noutput.max_tokens = 1\nprompt.dataset = { path = \"rows.jsonl\", when_exhausted = \"repeat\" }\n\
         [[phase]]\nname = \"p\"\nrequests = 12\nload.closed = 1\n",
    );
    sandbox.write("rows.jsonl", &format!("{{\"prompt\": \"{}\"}}\n", vec!["able"; 1_000].join(" ")));
    let tokenizer = r#"{ "version": "1.0", "added_tokens": [], "normalizer": null, "post_processor": null,
        "decoder": null, "pre_tokenizer": { "type": "Whitespace" },
        "model": { "type": "WordLevel", "unk_token": "?", "vocab": { "?": 0, "able": 1 } } }"#;
    sandbox.write("tokenizer.json", tokenizer);
    let url = format!("http://{}", serve());
    let planned = "workload.w.prompt={ synthetic.tokens = 1000 }";
    for (out, set, words) in [("rows", "seed=3", "5000"), ("planned", planned, "1000")] {
        let ended = sandbox.tonnage(&["run", "x.toml", "--target", &url, "--out", out, "--set", set]);
        ended.says(&["it counts 256 tokens where the server counts 1280", "the server's number holds"]);
        let results = Results::at(sandbox.path(out));
        let rows = results.rows("requests.csv");
        assert_eq!(rows.len(), 12);
        for row in &rows {
            assert_eq!((row["outcome"].as_str(), row["prompt_tokens"].as_str()), ("ok", words), "{out}");
            // Ids of another model's tokenizer say nothing of its cache.
            assert_eq!(row["eligible_tokens"], "", "{out}");
        }
        assert_eq!(results.manifest()["lengths"][0]["tokens_per_word"], 5.0);
        let number = |metric: &str, statistic: &str| {
            let summary = results.rows("summary.csv");
            let found = summary.iter().find(|row| row["metric"] == metric && row["statistic"] == statistic);
            found.unwrap()["value"].parse::<f64>().unwrap()
        };
        let per_request = number("prompt_throughput", "value") / number("request_throughput", "value");
        let expected = words.parse::<f64>().unwrap();
        assert!((per_request / expected - 1.0).abs() < 1e-6, "{per_request}");
    }
}
