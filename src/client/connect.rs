//! Ways to a server: TCP, TLS over TCP, a socket of the file system, or a pair of in-memory pipes. The byte stream is the one seam for I/O:
//! all above it runs alike over each.

use std::cell::Cell;
use std::io::{self, IoSlice};
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::UnixStream;
use tokio_rustls::client::TlsStream;

use super::addresses::{Addresses, refused};
use super::kernel::{KernelTime, TimedTcp};
use super::stamp::{Meter, fill};
use super::tls::{self, Tls};
use crate::record::Outcome;
use crate::scenario::{Http, Scheme, TargetUrl, TlsOptions};

/// Opens byte streams to one server.
pub struct Connector {
    way: Way,
    /// Whether the server speaks HTTP/2, as far as that is known.
    is_http2: Cell<bool>,
}

enum Way {
    Network { addresses: Addresses, tls: Option<Tls> },
    Unix(PathBuf),
    Memory(Box<dyn Fn() -> DuplexStream>),
}

/// Why a connection could not be had.
#[derive(Debug)]
pub struct ConnectError {
    /// `connect_error`, `tls_error` or `client_error`.
    pub outcome: Outcome,
    /// What was tried and what came of it.
    pub message: String,
}

impl Connector {
    /// A way to `url` on which `http` is spoken; its name is resolved here, once.
    ///
    /// # Errors
    /// When the name has no address, or TLS cannot be spoken under these `options`.
    pub async fn resolve(
        url: &TargetUrl,
        options: &TlsOptions,
        http: Http,
    ) -> Result<Connector, ConnectError> {
        let connector = |way| Connector { way, is_http2: Cell::new(http == Http::Two) };
        let tls = match url.scheme {
            Scheme::Unix => return Ok(connector(Way::Unix(PathBuf::from(&url.host)))),
            Scheme::Http => None,
            Scheme::Https => Some(
                Tls::new(&url.host, options, http)
                    .map_err(|message| ConnectError { outcome: Outcome::TlsError, message })?,
            ),
        };
        let unresolved = |why: String| ConnectError {
            outcome: Outcome::ConnectError,
            message: format!("cannot resolve `{}`: {why}", url.host),
        };
        let found = tokio::net::lookup_host((url.host.as_str(), url.port)).await;
        let addresses = Addresses::new(found.map_err(|error| unresolved(error.to_string()))?);
        if addresses.is_empty() {
            return Err(unresolved("the name has no address".into()));
        }
        Ok(connector(Way::Network { addresses, tls }))
    }

    /// A way to a server in this process, which speaks HTTP/1.1: `open` hands one end of a new pipe to it and
    /// returns the other.
    pub fn memory(open: impl Fn() -> DuplexStream + 'static) -> Connector {
        Connector { way: Way::Memory(Box::new(open)), is_http2: Cell::new(false) }
    }

    /// Whether HTTP/2 will be spoken, as far as can be told before a connection: under TLS the server chooses.
    pub(super) fn is_http2(&self) -> bool {
        self.is_http2.get()
    }

    /// Scheme of the URLs of what it leads to.
    pub(super) fn scheme(&self) -> &'static str {
        match &self.way {
            Way::Network { tls: Some(_), .. } => "https",
            Way::Network { .. } | Way::Unix(_) | Way::Memory(_) => "http",
        }
    }

    /// Whether the kernel may keep the times of what arrives on this way.
    pub(super) fn is_network(&self) -> bool {
        matches!(self.way, Way::Network { .. })
    }

    /// Opens a stream, of whose reads `kernel` tells `meter` the times.
    ///
    /// # Errors
    /// When the server cannot be reached, TLS fails, or this machine has no port or descriptor left.
    pub(super) async fn connect(
        &self,
        kernel: Option<&Rc<KernelTime>>,
        meter: &Rc<Meter>,
    ) -> Result<ByteStream, ConnectError> {
        let (addresses, tls) = match &self.way {
            Way::Network { addresses, tls } => (addresses, tls),
            Way::Unix(path) => {
                let opened = UnixStream::connect(path).await;
                return opened.map(ByteStream::Unix).map_err(|error| refused(path.display(), &error));
            }
            Way::Memory(open) => return Ok(ByteStream::Memory(open())),
        };
        let (address, stream) = addresses.connect().await?;
        let stream = TimedTcp::new(stream, kernel.filter(|_| !self.is_http2()), meter);
        match tls {
            None => Ok(ByteStream::Tcp(stream)),
            Some(tls) => match tls.handshake(stream).await {
                Ok(stream) => {
                    self.is_http2.set(stream.get_ref().1.alpn_protocol() == Some(tls::HTTP2));
                    Ok(ByteStream::Tls(Box::new(stream)))
                }
                Err(error) => Err(ConnectError {
                    outcome: Outcome::TlsError,
                    message: format!("TLS with {address} failed: {error}"),
                }),
            },
        }
    }
}

/// An open byte stream to a server.
pub(super) enum ByteStream {
    Tcp(TimedTcp),
    Tls(Box<TlsStream<TimedTcp>>),
    Unix(UnixStream),
    Memory(DuplexStream),
}

/// Runs one expression on whichever stream it is.
macro_rules! on_stream {
    ($self:ident, $stream:ident => $call:expr) => {
        match $self.get_mut() {
            ByteStream::Tcp(inner) => {
                let $stream = Pin::new(inner);
                $call
            }
            ByteStream::Tls(inner) => {
                let $stream = Pin::new(&mut **inner);
                $call
            }
            ByteStream::Unix(inner) => {
                let $stream = Pin::new(inner);
                $call
            }
            ByteStream::Memory(inner) => {
                let $stream = Pin::new(inner);
                $call
            }
        }
    };
}

impl ByteStream {
    /// Reads into `room`; how many bytes, 0 at the end of the stream.
    pub(super) fn poll_fill(
        &mut self,
        context: &mut Context<'_>,
        room: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        if let ByteStream::Tcp(stream) = self {
            return stream.poll_fill(context, room);
        }
        fill(self, context, room)
    }
}

impl AsyncRead for ByteStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        on_stream!(self, stream => stream.poll_read(context, buffer))
    }
}

impl AsyncWrite for ByteStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        on_stream!(self, stream => stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        on_stream!(self, stream => stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            ByteStream::Tcp(stream) => stream.is_write_vectored(),
            ByteStream::Tls(stream) => stream.is_write_vectored(),
            ByteStream::Unix(stream) => stream.is_write_vectored(),
            ByteStream::Memory(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, stream => stream.poll_shutdown(context))
    }
}
