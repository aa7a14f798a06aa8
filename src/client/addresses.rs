//! The addresses of a target, and what is known of each.

use std::cell::Cell;
use std::fmt::Display;
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpStream;

use super::connect::ConnectError;
use crate::record::Outcome;

/// The addresses of a name, at least one. Connections are spread over those that work, in turn.
pub(super) struct Addresses {
    all: Vec<Address>,
    turn: Cell<usize>,
}

struct Address {
    at: SocketAddr,
    standing: Cell<Standing>,
}

/// What is known of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Untried,
    /// It took a connection once.
    Works,
    /// It never took one.
    Fails,
}

impl Addresses {
    /// Addresses of which nothing is known yet.
    pub(super) fn new(all: impl Iterator<Item = SocketAddr>) -> Addresses {
        let untried = |at| Address { at, standing: Cell::new(Standing::Untried) };
        Addresses { all: all.map(untried).collect(), turn: Cell::new(0) }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Connects to the next address.
    ///
    /// A name may stand for addresses on which nobody listens (`localhost` for `::1`, where the server took
    /// 127.0.0.1 alone): one that never worked gives way to the next. The failure of one that did is told.
    pub(super) async fn connect(&self) -> Result<(SocketAddr, TcpStream), ConnectError> {
        let mut failures: Option<ConnectError> = None;
        for _ in &self.all {
            let Address { at, standing } = self.next();
            let before = standing.get();
            if before == Standing::Untried {
                // Until it works; a time limit may drop this future while it waits.
                standing.set(Standing::Fails);
            }
            let failure = match dial(*at).await {
                Ok(stream) => {
                    standing.set(Standing::Works);
                    return Ok((*at, stream));
                }
                Err(error) => refused(*at, &error),
            };
            if failure.outcome == Outcome::ClientError {
                // Ours, and no sign of what the address is good for.
                standing.set(before);
                return Err(failure);
            }
            if before == Standing::Works {
                return Err(failure);
            }
            match &mut failures {
                Some(failures) => failures.message = format!("{}; {}", failures.message, failure.message),
                None => failures = Some(failure),
            }
        }
        Err(failures.expect("a name has at least one address"))
    }

    fn next(&self) -> &Address {
        let works = |address: &Address| address.standing.get() == Standing::Works;
        let some_work = self.all.iter().any(works);
        loop {
            let turn = self.turn.get();
            self.turn.set(turn.wrapping_add(1));
            let address = &self.all[turn % self.all.len()];
            if !some_work || address.standing.get() != Standing::Fails {
                return address;
            }
        }
    }
}

async fn dial(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    // Without it, a request in two segments may wait 40 ms for the peer's delayed acknowledgement.
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// What a failed attempt to connect to `address` means.
pub(super) fn refused(address: impl Display, error: &io::Error) -> ConnectError {
    use nix::errno::Errno;
    let (outcome, message) = match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::EADDRNOTAVAIL) => (
            Outcome::ClientError,
            "local ports exhausted: reuse connections, lower the rate, or widen net.ipv4.ip_local_port_range"
                .into(),
        ),
        Some(Errno::EMFILE | Errno::ENFILE) => (
            Outcome::ClientError,
            "file descriptors exhausted: raise `ulimit -n`, or lower max_in_flight or users".into(),
        ),
        Some(Errno::ECONNREFUSED) => (Outcome::ConnectError, format!("connection refused by {address}")),
        _ => (Outcome::ConnectError, format!("cannot connect to {address}: {error}")),
    };
    ConnectError { outcome, message }
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;
    use crate::clock::Clock;

    fn to(addresses: &[SocketAddr]) -> Addresses {
        Addresses::new(addresses.iter().copied())
    }

    async fn listen() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// An address on which nobody listens as long as the socket is held.
    fn nobody() -> (TcpSocket, SocketAddr) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = socket.local_addr().unwrap();
        (socket, address)
    }

    async fn reach(addresses: &Addresses) -> Result<SocketAddr, String> {
        addresses.connect().await.map(|(address, _)| address).map_err(|error| error.message)
    }

    #[test]
    fn connections_do_not_wait_for_acknowledgements() {
        Clock::run_real(|_| async {
            let (_listener, address) = listen().await;
            let (_, stream) = to(&[address]).connect().await.unwrap();
            assert!(stream.nodelay().unwrap());
        })
        .unwrap();
    }

    #[test]
    fn connections_are_spread_over_the_addresses_that_work() {
        Clock::run_real(|_| async {
            let ((_first, first), (_second, second)) = (listen().await, listen().await);
            let ((_silent, silent), (_mute, mute)) = (nobody(), nobody());
            let addresses = to(&[silent, first, mute, second]);
            let mut reached = Vec::new();
            for _ in 0..4 {
                reached.push(reach(&addresses).await.unwrap());
            }
            assert_eq!(reached, [first, second, first, second]);
        })
        .unwrap();
    }

    #[test]
    fn the_failure_of_an_address_that_has_worked_is_told() {
        Clock::run_real(|_| async {
            let ((first_listener, first), (_second, second)) = (listen().await, listen().await);
            let addresses = to(&[first, second]);
            assert_eq!(reach(&addresses).await, Ok(first));
            assert_eq!(reach(&addresses).await, Ok(second));
            drop(first_listener);
            assert_eq!(reach(&addresses).await, Err(format!("connection refused by {first}")));
            assert_eq!(reach(&addresses).await, Ok(second));
        })
        .unwrap();
    }

    #[test]
    fn every_address_is_named_where_none_works_and_tried_again() {
        Clock::run_real(|_| async {
            let ((first_socket, first), (_second_socket, second)) = (nobody(), nobody());
            let addresses = to(&[first, second]);
            let refusal = format!("connection refused by {first}; connection refused by {second}");
            assert_eq!(reach(&addresses).await, Err(refusal));
            let _listener = first_socket.listen(1).unwrap();
            assert_eq!(reach(&addresses).await, Ok(first));
        })
        .unwrap();
    }

    #[test]
    fn c158_ports_and_descriptors_that_ran_out_are_ours_and_say_what_to_do() {
        use nix::errno::Errno;
        let told = |errno: Errno| {
            let error = refused("127.0.0.1:80", &io::Error::from_raw_os_error(errno as i32));
            (error.outcome, error.message)
        };
        for errno in [Errno::EADDRNOTAVAIL, Errno::EMFILE, Errno::ENFILE] {
            let (outcome, message) = told(errno);
            assert_eq!(outcome, Outcome::ClientError);
            assert!(message.contains(" exhausted: "), "{message}");
        }
        let (outcome, message) = told(Errno::ENETUNREACH);
        assert_eq!(outcome, Outcome::ConnectError);
        assert!(message.starts_with("cannot connect to 127.0.0.1:80: "), "{message}");
    }
}
