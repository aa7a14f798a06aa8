//! A small scripted server: one thread a connection, each request answered as the test says.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// `GET /v1/models`.
    pub(crate) line: String,
    pub(crate) headers: String,
    pub(crate) body: String,
    /// How many requests of the same method came before it.
    pub(crate) number: usize,
}

/// What becomes of a request.
pub(crate) enum Reply {
    /// A whole document with this status.
    Document(u16, String),
    /// A complete stream of so many tokens.
    Tokens(usize),
    /// The same, each event with so many bytes beside its token.
    Padded { tokens: usize, bytes: usize },
    /// The same, one token every so often. A server that was kept from it writes all that are due.
    Paced { tokens: usize, every: Duration },
    /// One token, and then nothing while the client holds on.
    Stall,
}

/// A server on a port of its own, until the end of the test process.
pub(crate) struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// One that lists the model `tiny` and answers all else by `script`.
    pub(crate) fn start(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        Server::bare(move |request| match request.is_post() {
            true => script(request),
            false => models(&["tiny"]),
        })
    }

    /// One that answers everything by `script`.
    pub(crate) fn bare(script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        Server::on(TcpListener::bind("127.0.0.1:0").unwrap(), script)
    }

    /// The same behind a listener that is there.
    pub(crate) fn on(
        listener: TcpListener,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (script, all_seen) = (Arc::new(script), Arc::clone(&seen));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (script, seen) = (Arc::clone(&script), Arc::clone(&all_seen));
                // A client that leaves ends its connection, and that is all.
                thread::spawn(move || drop(serve(&stream.unwrap(), &seen, &*script)));
            }
        });
        Server { address, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything asked so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    /// How many requests came that were no questions about the server.
    pub(crate) fn posts(&self) -> usize {
        self.seen().iter().filter(|request| request.is_post()).count()
    }
}

impl Request {
    pub(crate) fn is_post(&self) -> bool {
        self.line.starts_with("POST ")
    }
}

/// A model list.
pub(crate) fn models(names: &[&str]) -> Reply {
    let models: Vec<_> = names.iter().map(|name| format!(r#"{{"id":"{name}"}}"#)).collect();
    Reply::Document(200, format!(r#"{{"object":"list","data":[{}]}}"#, models.join(",")))
}

fn serve(
    stream: &TcpStream,
    seen: &Mutex<Vec<Request>>,
    script: &dyn Fn(&Request) -> Reply,
) -> io::Result<()> {
    let mut reader = BufReader::new(stream);
    while let Some(mut request) = read(&mut reader)? {
        {
            let mut seen = seen.lock().unwrap();
            request.number = seen.iter().filter(|other| other.is_post() == request.is_post()).count();
            seen.push(request.clone());
        }
        write(stream, script(&request))?;
    }
    Ok(())
}

fn read(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let length = lines.iter().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let line = lines.remove(0);
    let body = String::from_utf8(body).unwrap();
    Ok(Some(Request { line, headers: lines.join("\n"), body, number: 0 }))
}

fn write(mut stream: &TcpStream, reply: Reply) -> io::Result<()> {
    let (tokens, padding) = match reply {
        Reply::Document(status, body) => {
            let head = "content-type: application/json\r\ncontent-length";
            return write!(stream, "HTTP/1.1 {status} Status\r\n{head}: {}\r\n\r\n{body}", body.len());
        }
        Reply::Tokens(tokens) => (tokens, 0),
        Reply::Padded { tokens, bytes } => (tokens, bytes),
        Reply::Paced { tokens, .. } => (tokens, 0),
        Reply::Stall => (1, 0),
    };
    let event = |data: &str| {
        let event = format!("data: {data}\n\n");
        format!("{:x}\r\n{event}\r\n", event.len())
    };
    let delta = |delta: &str, finish: &str| {
        event(&format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":{finish}}}]}}"#))
    };
    let mut text =
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    text += &delta(r#"{"role":"assistant","content":""}"#, "null");
    let padding = "x".repeat(padding);
    let token = delta(&format!(r#"{{"content":"tide ","padding":"{padding}"}}"#), "null");
    if let Reply::Paced { tokens, every } = reply {
        stream.write_all(std::mem::take(&mut text).as_bytes())?;
        write_paced(stream, &token, tokens, every)?;
    } else {
        (0..tokens).for_each(|_| text += &token);
    }
    if matches!(reply, Reply::Stall) {
        stream.write_all(text.as_bytes())?;
        return stream.read(&mut [0]).and(Err(io::ErrorKind::ConnectionAborted.into()));
    }
    text += &delta("{}", r#""stop""#);
    text += &event(&format!(
        r#"{{"choices":[],"usage":{{"prompt_tokens":9,"completion_tokens":{tokens},"total_tokens":{}}}}}"#,
        tokens + 9
    ));
    text += &event("[DONE]");
    text += "0\r\n\r\n";
    stream.write_all(text.as_bytes())
}

fn write_paced(mut stream: &TcpStream, token: &str, tokens: usize, every: Duration) -> io::Result<()> {
    let begin = monotonic()?;
    let mut written = 0;
    while written < tokens {
        let since = monotonic()?.saturating_sub(begin);
        let due = tokens.min((since.as_nanos() / every.as_nanos()) as usize);
        if due > written {
            stream.write_all(token.repeat(due - written).as_bytes())?;
            written = due;
        }
        thread::sleep((every * (due as u32 + 1)).saturating_sub(since));
    }
    Ok(())
}

fn monotonic() -> io::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into())
}
