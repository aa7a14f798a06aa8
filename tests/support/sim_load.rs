//! Many streams of an embedded server, each asked for without a client of ours.

use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};

use tonnage::sim::{CostModel, Embedded, FixedCost, Options, Parameters, Profile};

/// A server whose steps take what `cost` says.
pub(crate) fn start(cost: FixedCost) -> Embedded {
    let parameters = Parameters {
        cost: CostModel::Fixed(cost),
        max_num_seqs: 1_024,
        max_model_len: 1 << 20,
        ..Parameters::default()
    };
    let profile = Profile::new("load", parameters).expect("a possible profile");
    Embedded::start(profile, Options::default()).expect("a free port")
}

/// Asks it for a stream of so many tokens.
pub(crate) fn ask(addr: SocketAddr, tokens: u64) -> TcpStream {
    let body = format!(
        r#"{{"messages":[{{"role":"user","content":"{}"}}],"max_tokens":{tokens},"ignore_eos":true,"stream":true}}"#,
        "word ".repeat(300)
    );
    let mut stream = TcpStream::connect(addr).expect("it listens");
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).expect("it reads");
    stream
}
