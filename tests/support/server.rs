//! A server that plays scripts, over pipes in memory or over loopback, and keeps what it was asked.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Notify;

use tonnage::client::Connector;
use tonnage::clock::Clock;
use tonnage::units::Nanos;

use super::script::{Act, Intake, Script};

/// What a pipe in memory holds by default before a writer must wait.
const PIPE_BYTES: usize = 64 << 10;

/// Plays the n-th script to the n-th request it gets, over however many connections; the last one again to all
/// that follow.
#[derive(Clone)]
pub(crate) struct Server(Rc<State>);

struct State {
    clock: Clock,
    scripts: RefCell<VecDeque<Script>>,
    heard: RefCell<Vec<Heard>>,
    pipe_bytes: usize,
    /// An idle connection is closed after this long.
    patience: Option<Duration>,
    opened: Cell<usize>,
    closed: Cell<usize>,
    has_closed: Notify,
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    /// Which connection it came over, from 0.
    pub(crate) connection: usize,
    /// When it had been read whole.
    pub(crate) at: Nanos,
    pub(crate) method: String,
    pub(crate) path: String,
    /// Names and values in order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Heard {
    /// The values of a header.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.headers.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect()
    }

    fn read(bytes: &[u8], connection: usize, at: Nanos) -> Heard {
        let head_end = head_end(bytes).unwrap();
        let head = str::from_utf8(&bytes[..head_end - 4]).unwrap();
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap().split(' ');
        let (method, path) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
        assert_eq!(words.next(), Some("HTTP/1.1"));
        let headers = lines.map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        });
        let (headers, body) = (headers.collect(), bytes[head_end..].to_vec());
        Heard { connection, at, method, path, headers, body }
    }
}

/// Where the head of a request ends, its blank line included.
fn head_end(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

/// How long the request at the front of `bytes` is, as soon as its head is there.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = head_end(bytes)?;
    let text = str::from_utf8(&bytes[..head]).unwrap();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    Some(head + length.map_or(0, |length| length.parse::<usize>().unwrap()))
}

/// One end of a connection.
trait Wire: AsyncRead + AsyncWrite + Unpin {
    /// Lets the connection go by a reset, where there is such a thing.
    fn reset(self);
}

impl Wire for DuplexStream {
    fn reset(self) {}
}

impl Wire for UnixStream {
    fn reset(self) {}
}

impl Wire for TcpStream {
    fn reset(self) {
        self.set_zero_linger().unwrap();
    }
}

impl Server {
    /// A server of these scripts, at least one.
    pub(crate) fn new<S: Into<Script>>(clock: &Clock, scripts: impl IntoIterator<Item = S>) -> Server {
        let scripts: VecDeque<Script> = scripts.into_iter().map(Into::into).collect();
        assert!(!scripts.is_empty());
        Server(Rc::new(State {
            clock: clock.clone(),
            scripts: RefCell::new(scripts),
            heard: RefCell::default(),
            pipe_bytes: PIPE_BYTES,
            patience: None,
            opened: Cell::new(0),
            closed: Cell::new(0),
            has_closed: Notify::new(),
        }))
    }

    /// The same server before its first connection, with pipes that hold no more than `pipe_bytes`.
    pub(crate) fn with_pipes_of(self, pipe_bytes: usize) -> Server {
        let state = Rc::into_inner(self.0).unwrap();
        Server(Rc::new(State { pipe_bytes, ..state }))
    }

    /// The same server before its first connection, closing those that are idle for `patience`.
    pub(crate) fn with_patience(self, patience: Duration) -> Server {
        let state = Rc::into_inner(self.0).unwrap();
        Server(Rc::new(State { patience: Some(patience), ..state }))
    }

    /// A way to it over memory.
    pub(crate) fn in_memory(&self) -> Connector {
        let server = self.clone();
        Connector::memory(move || {
            let (ours, theirs) = tokio::io::duplex(server.0.pipe_bytes);
            tokio::task::spawn_local(server.clone().attend(ours));
            theirs
        })
    }

    /// Serves on a port of its own on loopback.
    pub(crate) async fn on_loopback(&self) -> SocketAddr {
        self.on("127.0.0.1").await
    }

    /// Serves on a port of its own of this address.
    pub(crate) async fn on(&self, address: &str) -> SocketAddr {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                tokio::task::spawn_local(server.clone().attend(stream));
            }
        });
        address
    }

    /// Serves on a socket of the file system.
    pub(crate) fn on_socket(&self, path: &Path) {
        let listener = UnixListener::bind(path).unwrap();
        let server = self.clone();
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::task::spawn_local(server.clone().attend(stream));
            }
        });
    }

    /// The requests read so far.
    pub(crate) fn heard(&self) -> Vec<Heard> {
        self.0.heard.borrow().clone()
    }

    /// How many connections were opened.
    pub(crate) fn opened(&self) -> usize {
        self.0.opened.get()
    }

    /// How many connections have ended, by whomever.
    pub(crate) fn closed(&self) -> usize {
        self.0.closed.get()
    }

    /// Waits until so many connections have ended.
    pub(crate) async fn has_closed(&self, connections: usize) {
        while self.closed() < connections {
            self.0.has_closed.notified().await;
        }
    }

    async fn attend(self, stream: impl Wire) {
        let connection = self.0.opened.get();
        self.0.opened.set(connection + 1);
        // What breaks a connection here is what the client did to it: its own account is what tests look at.
        let _ = self.converse(connection, stream).await;
        self.0.closed.set(self.0.closed.get() + 1);
        self.0.has_closed.notify_one();
    }

    async fn converse(&self, connection: usize, mut stream: impl Wire) -> io::Result<()> {
        let mut inbox = Vec::new();
        loop {
            if !self.acts_unasked() && !self.wait_for_request(&mut stream, &mut inbox).await? {
                return Ok(());
            }
            let script = self.next_script();
            self.take_in(script.intake, connection, &mut stream, &mut inbox).await?;
            let start = self.0.clock.now();
            let last = script.acts.last().cloned();
            let again = std::iter::repeat_n(last, script.repeats - 1).flatten();
            for (after, act) in script.acts.into_iter().chain(again) {
                self.0.clock.sleep_until(start + after).await;
                match act {
                    Act::Write(bytes) => {
                        stream.write_all(&bytes).await?;
                        stream.flush().await?;
                    }
                    Act::Close => return Ok(()),
                    Act::Reset => {
                        stream.reset();
                        return Ok(());
                    }
                }
            }
            if matches!(script.intake, Intake::Nothing | Intake::Beginning) {
                // Nothing more is read: only the client can end this.
                std::future::pending::<()>().await;
            }
        }
    }

    fn acts_unasked(&self) -> bool {
        matches!(self.0.scripts.borrow()[0].intake, Intake::Nothing)
    }

    fn next_script(&self) -> Script {
        let mut scripts = self.0.scripts.borrow_mut();
        if scripts.len() > 1 { scripts.pop_front().unwrap() } else { scripts[0].clone() }
    }

    /// Waits for the first bytes of a request; whether there were any before the end.
    async fn wait_for_request(&self, stream: &mut impl Wire, inbox: &mut Vec<u8>) -> io::Result<bool> {
        if !inbox.is_empty() {
            return Ok(true);
        }
        // Bytes are left in the connection for a slow reader to take in.
        let mut first = [0];
        let idle = async {
            match self.0.patience {
                Some(patience) => self.0.clock.sleep(patience).await,
                None => std::future::pending().await,
            }
        };
        let read = tokio::select! {
            biased;
            read = stream.read(&mut first) => read?,
            () = idle => 0,
        };
        inbox.extend_from_slice(&first[..read]);
        Ok(read > 0)
    }

    async fn take_in(
        &self,
        intake: Intake,
        connection: usize,
        stream: &mut impl Wire,
        inbox: &mut Vec<u8>,
    ) -> io::Result<()> {
        let (bytes, pause) = match intake {
            Intake::Whole => (usize::MAX, None),
            Intake::Slow { bytes, pause } => (bytes, Some(pause)),
            Intake::Beginning | Intake::Nothing => return Ok(()),
        };
        let length = loop {
            if let Some(length) = request_length(inbox).filter(|length| inbox.len() >= *length) {
                break length;
            }
            if let Some(pause) = pause {
                self.0.clock.sleep(pause).await;
            }
            let mut piece = vec![0; bytes.min(PIPE_BYTES)];
            let read = stream.read(&mut piece).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            inbox.extend_from_slice(&piece[..read]);
        };
        let request: Vec<u8> = inbox.drain(..length).collect();
        let heard = Heard::read(&request, connection, self.0.clock.now());
        self.0.heard.borrow_mut().push(heard);
        Ok(())
    }
}
