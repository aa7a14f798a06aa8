//! Ways to a server other than TCP over IPv4, and who may share a connection.

use tonnage::client::{Client, Connector, Settings};
use tonnage::clock::Clock;
use tonnage::record::{Outcome, StampSource, Timeline};
use tonnage::scenario::{Connections, Http, TargetUrl, TlsOptions, Transport};

use crate::support::bench::{BODY, Bench, ms, outgoing, resolve, settings, tell};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{Reply, stream};
use crate::support::server::Server;

fn answer() -> Reply {
    stream().at(1, [&content("a"), &finish("stop"), DONE].concat())
}

async fn ask(clock: &Clock, connector: Connector) -> Timeline {
    let client = Client::new(clock.clone(), connector, settings()).unwrap();
    let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
    client.exchange(&outgoing(BODY), &mut timeline, &mut |_| {}).await;
    timeline
}

#[test]
fn a_server_is_reached_through_a_socket_of_the_file_system() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("llm.sock");
    let url = TargetUrl::parse(&format!("unix:{}:/api", path.display())).unwrap();
    assert_eq!(url.join("/v1/chat/completions"), "/api/v1/chat/completions");
    let (there, gone) = Clock::run_real(|clock| async move {
        let way = async || Connector::resolve(&url, &TlsOptions::default(), Http::Auto).await.unwrap();
        let gone = ask(&clock, way().await).await;
        Server::new(&clock, [answer()]).on_socket(&path);
        (ask(&clock, way().await).await, gone)
    })
    .unwrap();
    assert_eq!((there.outcome, there.stamp), (Outcome::Ok, StampSource::Read), "{}", tell(&there));
    assert_eq!((gone.outcome, gone.stamp), (Outcome::ConnectError, StampSource::Read));
    assert!(gone.error.as_deref().unwrap().contains("llm.sock: No such file"), "{}", tell(&gone));
}

#[test]
fn a_server_is_reached_over_ipv6() {
    let timeline = Clock::run_real(|clock| async move {
        let address = Server::new(&clock, [answer()]).on("::1").await;
        assert!(address.is_ipv6());
        ask(&clock, resolve(&address.to_string()).await).await
    })
    .unwrap();
    assert_eq!((timeline.outcome, timeline.stamp), (Outcome::Ok, StampSource::Kernel), "{}", tell(&timeline));
}

/// What becomes of requests of these users, one after the other, and of the headers and connections used.
fn ask_as(connections: Connections, users: &[u32]) -> (Vec<Timeline>, Vec<usize>, bool) {
    Clock::run_virtual(|clock| async move {
        let transport = Transport { connections, ..Transport::default() };
        let settings = Settings { transport, ..settings() };
        let bench = Bench::before(Server::new(&clock, [answer()]), &clock, settings);
        let mut timelines = Vec::new();
        for user in users {
            let mut timeline = Timeline::begin(clock.now(), bench.client.stamp_source());
            bench.client.exchange_for(Some(*user), &outgoing(BODY), &mut timeline, &mut |_| {}).await;
            timelines.push(timeline);
            clock.sleep(ms(1)).await;
        }
        let heard = bench.server.heard();
        let used = heard.iter().map(|heard| heard.connection).collect();
        (timelines, used, heard.iter().all(|heard| heard.all("connection") == ["close"]))
    })
    .unwrap()
}

#[test]
fn connections_are_shared_by_all_by_nobody_or_by_a_users_own_requests() {
    let users = [0, 1, 0, 1, 1];
    for (connections, expected) in [
        (Connections::Reuse, [0, 0, 0, 0, 0]),
        (Connections::PerRequest, [0, 1, 2, 3, 4]),
        (Connections::PerUser, [0, 1, 0, 1, 1]),
    ] {
        let (timelines, used, says_so) = ask_as(connections, &users);
        assert!(timelines.iter().all(|timeline| timeline.outcome == Outcome::Ok));
        assert_eq!(used, expected, "{connections:?}");
        assert_eq!(says_so, connections == Connections::PerRequest);
    }
}
