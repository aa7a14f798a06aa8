//! A server that does as it is told, over in-memory pipes.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tonnage::clock::Clock;
use tonnage::units::Nanos;

use crate::answer::{Act, Answer};

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// Its number in the run, from its id.
    pub(crate) request: u64,
    /// When it had been read.
    pub(crate) at: Nanos,
    pub(crate) body: serde_json::Value,
}

impl Asked {
    pub(crate) fn prompt(&self) -> &str {
        self.body["messages"][0]["content"].as_str().unwrap()
    }
}

pub(crate) type Script = Box<dyn Fn(&Asked) -> Answer>;

pub(crate) struct ScriptedServer {
    clock: Clock,
    script: Script,
    /// Connections opened before then are closed at once.
    refuses_until: Nanos,
    pub(crate) asked: RefCell<Vec<Asked>>,
    open: Cell<usize>,
    /// The most requests that were open at once.
    pub(crate) peak: Cell<usize>,
}

impl ScriptedServer {
    pub(crate) fn new(clock: Clock, script: Script, refuses_until: Nanos) -> Rc<ScriptedServer> {
        Rc::new(ScriptedServer {
            clock,
            script,
            refuses_until,
            asked: RefCell::default(),
            open: Cell::new(0),
            peak: Cell::new(0),
        })
    }

    /// Serves one connection until it ends.
    pub(crate) async fn serve(self: Rc<ScriptedServer>, mut stream: DuplexStream) {
        if self.clock.now() < self.refuses_until {
            return;
        }
        let mut received = Vec::new();
        while let Some(asked) = self.read(&mut stream, &mut received).await {
            let answer = (self.script)(&asked);
            self.asked.borrow_mut().push(asked.clone());
            self.open.set(self.open.get() + 1);
            self.peak.set(self.peak.get().max(self.open.get()));
            let goes_on = self.play(&mut stream, &answer, asked.at).await;
            self.open.set(self.open.get() - 1);
            if !goes_on {
                return;
            }
        }
    }

    /// Whether the connection takes another request.
    async fn play(&self, stream: &mut DuplexStream, answer: &Answer, since: Nanos) -> bool {
        for (at, act) in &answer.acts {
            self.clock.sleep_until(since + *at).await;
            match act {
                Act::Write(bytes) => {
                    if stream.write_all(bytes).await.is_err() {
                        return false;
                    }
                }
                Act::End => return true,
                Act::Close => return false,
            }
        }
        // Nothing more to say: until the client gives up.
        let _ = stream.read(&mut [0]).await;
        false
    }

    async fn read(&self, stream: &mut DuplexStream, received: &mut Vec<u8>) -> Option<Asked> {
        loop {
            if let Some(asked) = self.parse(received) {
                return Some(asked);
            }
            if stream.read_buf(received).await.unwrap_or(0) == 0 {
                return None;
            }
        }
    }

    fn parse(&self, received: &mut Vec<u8>) -> Option<Asked> {
        let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
        let head = String::from_utf8(received[..end].to_vec()).unwrap();
        let field = |name: &str| {
            let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name)).unwrap();
            line[name.len() + 1..].trim().to_owned()
        };
        let length: usize = field("content-length").parse().unwrap();
        if received.len() < end + length {
            return None;
        }
        let body = serde_json::from_slice(&received[end..end + length]).unwrap();
        received.drain(..end + length);
        let request = field("x-request-id").rsplit('-').next().unwrap().parse().unwrap();
        Some(Asked { request, at: self.clock.now(), body })
    }
}
