//! Who is taken for the server, and who is not.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::version::{TLS12, TLS13};
use tonnage::client::{Client, Connector};
use tonnage::clock::Clock;
use tonnage::record::{Outcome, Timeline};
use tonnage::scenario::{Http, TargetUrl, TlsOptions};

use crate::support::bench::{BODY, outgoing, settings, tell};
use crate::support::frames::{DONE, content, finish};
use crate::support::script::{Framing, stream};
use crate::support::tls::{Authority, Identity, self_signed, server, wrap};

/// What becomes of a request to a server of this configuration, reached as `host`.
fn ask(host: &str, options: &TlsOptions, config: Arc<ServerConfig>) -> Timeline {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = stream().framed(Framing::Length).at(0, [&content("a"), &finish("stop"), DONE].concat());
    let server = std::thread::spawn(move || {
        let mut stream = wrap(config, listener.accept().unwrap().0);
        let mut request = Vec::new();
        while !request.ends_with(BODY.as_bytes()) {
            let mut piece = [0; 4096];
            match stream.read(&mut piece) {
                // The client does not trust us, or we not the client.
                Err(_) | Ok(0) => return,
                Ok(read) => request.extend_from_slice(&piece[..read]),
            }
        }
        stream.write_all(&answer.script().bytes()).unwrap();
        stream.flush().unwrap();
        let _ = stream.read(&mut [0; 1]);
    });
    let timeline = Clock::run_real(|clock| async move {
        let url = TargetUrl::parse(&format!("https://{host}:{port}")).unwrap();
        let connector = Connector::resolve(&url, options, Http::Auto).await.unwrap();
        let client = Client::new(clock.clone(), connector, settings()).unwrap();
        let mut timeline = Timeline::begin(clock.now(), client.stamp_source());
        client.exchange(&outgoing(BODY), &mut timeline, &mut |_| {}).await;
        timeline
    })
    .unwrap();
    server.join().unwrap();
    timeline
}

fn showing(identity: &Identity) -> Arc<ServerConfig> {
    server(identity, None, &[&TLS13])
}

fn trusting(authority: &Authority) -> TlsOptions {
    TlsOptions { ca: Some(authority.file()), ..TlsOptions::default() }
}

/// The error of a request whose handshake failed.
fn refusal(timeline: &Timeline) -> String {
    assert_eq!(timeline.outcome, Outcome::TlsError, "{}", tell(timeline));
    assert_eq!((timeline.first_byte, timeline.upload), (None, None));
    let error = timeline.error.clone().unwrap();
    let start = error.find(" failed: ").unwrap();
    error[start..].to_owned()
}

#[test]
fn a_server_signed_by_the_scenarios_own_authority_is_taken() {
    let authority = Authority::new();
    for version in [&TLS12, &TLS13] {
        for host in ["localhost", "127.0.0.1"] {
            let config = server(&authority.sign(host), None, &[version]);
            let timeline = ask(host, &trusting(&authority), config);
            assert_eq!(timeline.outcome, Outcome::Ok, "{host}: {}", tell(&timeline));
        }
    }
}

#[test]
fn a_server_that_nobody_we_trust_has_signed_is_refused() {
    let authority = Authority::new();
    for options in [TlsOptions::default(), trusting(&Authority::new())] {
        let timeline = ask("localhost", &options, showing(&authority.sign("localhost")));
        insta::allow_duplicates! {
            insta::assert_snapshot!(refusal(&timeline), @" failed: nobody we trust has signed the server's certificate: name its authority with target.tls.ca");
        }
    }
}

#[test]
fn a_server_that_signs_itself_is_refused() {
    let timeline = ask("localhost", &TlsOptions::default(), showing(&self_signed("localhost")));
    insta::assert_snapshot!(refusal(&timeline), @" failed: nobody we trust has signed the server's certificate: name its authority with target.tls.ca");
}

#[test]
fn a_server_of_another_name_is_refused_unless_that_name_is_asked_for() {
    let authority = Authority::new();
    let other = || showing(&authority.sign("llm.internal"));
    let timeline = ask("localhost", &trusting(&authority), other());
    insta::assert_snapshot!(refusal(&timeline), @r#" failed: the server's certificate is for another name (invalid peer certificate: certificate not valid for name "localhost"; certificate is only valid for DnsName("llm.internal")): connect by that name, or set it with target.tls.server_name"#);
    let named = TlsOptions { server_name: Some("llm.internal".to_owned()), ..trusting(&authority) };
    assert_eq!(ask("localhost", &named, other()).outcome, Outcome::Ok);
}

#[test]
fn a_server_whose_certificate_has_expired_is_refused() {
    let authority = Authority::new();
    let timeline = ask("localhost", &trusting(&authority), showing(&authority.sign_until("localhost", 2001)));
    let told = refusal(&timeline);
    assert!(told.starts_with(" failed: the server's certificate has expired ("), "{told}");
}

#[test]
fn anybody_is_taken_where_the_scenario_says_so() {
    let insecure = TlsOptions { insecure: true, ..TlsOptions::default() };
    for version in [&TLS12, &TLS13] {
        let expired = Authority::new().sign_until("llm.internal", 2001);
        let timeline = ask("localhost", &insecure, server(&expired, None, &[version]));
        assert_eq!(timeline.outcome, Outcome::Ok, "{}", tell(&timeline));
    }
}

#[test]
fn a_server_that_asks_for_our_certificate_is_shown_it() {
    let authority = Authority::new();
    let identity = authority.sign("localhost");
    let asking = |version| server(&identity, Some(&authority), &[version]);
    let known = TlsOptions { identity: Some(authority.client_files()), ..trusting(&authority) };
    for version in [&TLS12, &TLS13] {
        let timeline = ask("localhost", &known, asking(version));
        assert_eq!(timeline.outcome, Outcome::Ok, "{}", tell(&timeline));
    }
    let refused = refusal(&ask("localhost", &trusting(&authority), asking(&TLS12)));
    assert_eq!(refused, " failed: received fatal alert: CertificateRequired");
    // Under TLS 1.3 a server refuses us only after the handshake.
    let timeline = ask("localhost", &trusting(&authority), asking(&TLS13));
    assert_eq!(timeline.outcome, Outcome::TlsError);
    let error = timeline.error.unwrap();
    assert!(error.ends_with("received fatal alert: CertificateRequired"), "{error}");
}

#[test]
fn files_that_are_no_certificates_are_told_by_name() {
    let authority = Authority::new();
    let junk = authority.write("junk.pem", "no certificate");
    let (chain, key) = authority.client_files();
    let url = TargetUrl::parse("https://127.0.0.1:1").unwrap();
    let problem = |options: TlsOptions| {
        let resolved =
            Clock::run_real(|_| async { Connector::resolve(&url, &options, Http::Auto).await.err() });
        let error = resolved.unwrap().unwrap();
        assert_eq!(error.outcome, Outcome::TlsError);
        error.message.replace(junk.parent().unwrap().to_str().unwrap(), "")
    };
    let with = |ca: Option<_>, identity| TlsOptions { ca, identity, ..TlsOptions::default() };
    let gone = junk.with_file_name("gone.pem");
    let told = [
        problem(with(Some(junk.clone()), None)),
        problem(with(Some(gone), None)),
        problem(with(None, Some((chain, junk.clone())))),
        problem(with(None, Some((junk.clone(), key)))),
        problem(TlsOptions { server_name: Some("no name".to_owned()), ..TlsOptions::default() }),
    ];
    insta::assert_snapshot!(told.join("\n"), @r"
    `/junk.pem` holds no PEM of the kind that is wanted
    cannot read `/gone.pem`: No such file or directory (os error 2)
    `/junk.pem` holds no PEM of the kind that is wanted
    `/junk.pem` holds no PEM of the kind that is wanted
    `no name` is no name that a certificate can bear
    ");
}
