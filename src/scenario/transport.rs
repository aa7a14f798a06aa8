//! How the target is reached: the part of `[target]` that the client's connections follow.

use std::path::PathBuf;
use std::time::Duration;

use super::fields::Fields;
use super::read::existing_file;
use super::values::Field;
use super::{Endpoint, Scheme};

/// How connections to the target are made, shared and measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transport {
    /// How long a target that is not there yet is waited for.
    pub ready_within: Duration,
    /// Who shares connections.
    pub connections: Connections,
    /// Requests that are sent again; `None` for none.
    pub retries: Option<Retries>,
    /// How the server's identity is verified and ours proven.
    pub tls: TlsOptions,
    /// What is spoken on connections.
    pub http: Http,
    /// What times the arrival of bytes.
    pub stamps: Stamps,
}

/// Who shares connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// A free one serves the next request, whoever sends it.
    Reuse,
    /// Every request opens its own.
    PerRequest,
    /// Every user of a closed loop keeps to its own.
    PerUser,
}

/// Which refusals are answered by another attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Most attempts of one request, the first included; at least 2.
    pub attempts: u32,
    /// Statuses that are worth another, in ascending order.
    pub on: Vec<u16>,
}

/// How TLS is spoken. The default verifies the server by its URL against the Mozilla roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// PEM file of the authorities that are trusted instead.
    pub ca: Option<PathBuf>,
    /// PEM files of our own certificate chain and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name its certificate must bear, where that is not the URL's.
    pub server_name: Option<String>,
    /// Whether anybody is taken for the server.
    pub insecure: bool,
}

/// Which HTTP is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Http {
    /// Under TLS HTTP/2 where the server offers it, else HTTP/1.1.
    Auto,
    /// HTTP/1.1.
    One,
    /// HTTP/2, without asking where there is no TLS.
    Two,
}

/// What times the arrival of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// The kernel, where it can be had; else the read.
    Kernel,
    /// The read.
    User,
}

impl Default for Transport {
    /// What holds where a scenario says nothing.
    fn default() -> Transport {
        Transport {
            ready_within: Duration::from_secs(30),
            connections: Connections::Reuse,
            retries: None,
            tls: TlsOptions::default(),
            http: Http::Auto,
            stamps: Stamps::Kernel,
        }
    }
}

impl Connections {
    /// All, in the order of the key's values.
    pub const ALL: [Connections; 3] = [Connections::Reuse, Connections::PerRequest, Connections::PerUser];

    /// The value in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Connections::Reuse => "reuse",
            Connections::PerRequest => "per_request",
            Connections::PerUser => "per_user",
        }
    }
}

impl Http {
    /// All, in the order of the key's values.
    pub const ALL: [Http; 3] = [Http::Auto, Http::One, Http::Two];

    /// The value in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Http::Auto => "auto",
            Http::One => "1.1",
            Http::Two => "2",
        }
    }
}

impl Stamps {
    /// All, in the order of the key's values.
    pub const ALL: [Stamps; 2] = [Stamps::Kernel, Stamps::User];

    /// The value in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Stamps::Kernel => "kernel",
            Stamps::User => "user",
        }
    }
}

/// Reads the keys of `[target]` that this is about.
pub(super) fn read(fields: &Fields<'_>, endpoint: Option<&Endpoint>) -> Option<Transport> {
    let ready_within = fields.value("ready_within", Field::duration);
    let connections = fields.value("connections", Field::choice);
    let connections = connections.and_then(|index| Connections::ALL.get(index).copied());
    let retries = match fields.has("retries") {
        true => fields.table("retries").and_then(|fields| retries(&fields)).map(Some),
        false => Some(None),
    };
    let tls = fields.table("tls").and_then(|fields| tls(&fields));
    let speaks_tls = !matches!(endpoint, Some(Endpoint::Url(url)) if url.scheme != Scheme::Https);
    if fields.has("tls") && !speaks_tls {
        let help = "write the URL with `https`, or leave `tls` out";
        fields.problems.warning(fields.place("tls"), "`tls` has no effect: the URL is none of `https`", help);
    }
    let http = fields.value("http", Field::choice).and_then(|index| Http::ALL.get(index).copied());
    if http == Some(Http::Two) && matches!(endpoint, Some(Endpoint::Sim { .. })) {
        let message = "the simulated server speaks HTTP/1.1 alone";
        fields.problems.error(fields.place("http"), message, "leave `http` out, or name a server with `url`");
    }
    let stamps = fields.value("stamps", Field::choice).and_then(|index| Stamps::ALL.get(index).copied());
    Some(Transport {
        ready_within: ready_within?,
        connections: connections?,
        retries: retries?,
        tls: tls?,
        http: http?,
        stamps: stamps?,
    })
}

fn retries(fields: &Fields<'_>) -> Option<Retries> {
    let attempts = fields.value("attempts", Field::integer).and_then(|count| u32::try_from(count).ok());
    let on = fields.value("on", Field::statuses);
    Some(Retries { attempts: attempts?, on: on? })
}

fn tls(fields: &Fields<'_>) -> Option<TlsOptions> {
    let path = |name| fields.own(name, |field| existing_file(field, fields.problems));
    let (ca, cert, key) = (path("ca"), path("cert"), path("key"));
    let server_name = fields.own("server_name", Field::text);
    let insecure = fields.value("insecure", Field::boolean);
    for (name, other) in [("cert", "key"), ("key", "cert")] {
        if fields.has(name) && !fields.has(other) {
            let help = format!("add `{other} = \"…\"`: the certificate and the key are given together");
            fields.problems.error(fields.place(name), format!("`{name}` needs `{other}`"), help);
        }
    }
    for name in ["ca", "server_name"] {
        if fields.has(name) && insecure == Some(true) {
            let message = format!("`{name}` says whom to trust, and `insecure` trusts anybody");
            fields.problems.error(fields.place(name), message, "leave `insecure` out");
        }
    }
    Some(TlsOptions { ca, identity: cert.zip(key), server_name, insecure: insecure? })
}
