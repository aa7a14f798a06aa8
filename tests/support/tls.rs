//! Certificates made for a test, and servers that show them.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;

use rcgen::{BasicConstraints, Certificate, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned, SupportedProtocolVersion};
use tempfile::TempDir;

/// An authority, and a folder with what it gives out.
pub(crate) struct Authority {
    folder: TempDir,
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key.
pub(crate) struct Identity {
    certificate: CertificateDer<'static>,
    key: KeyPair,
}

impl Authority {
    pub(crate) fn new() -> Authority {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, folder.path().to_str().unwrap());
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Authority { folder, certificate, issuer: Issuer::new(params, key) }
    }

    /// Its own certificate as a PEM file.
    pub(crate) fn file(&self) -> PathBuf {
        self.write("ca.pem", &self.certificate.pem())
    }

    /// A certificate for `name`, good for long.
    pub(crate) fn sign(&self, name: &str) -> Identity {
        self.sign_until(name, 4000)
    }

    /// A certificate for `name`, good until the first day of `year`.
    pub(crate) fn sign_until(&self, name: &str, year: i32) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { certificate: certificate.der().clone(), key }
    }

    /// PEM files of a certificate that it signs for a client, and of its key.
    pub(crate) fn client_files(&self) -> (PathBuf, PathBuf) {
        let params = CertificateParams::new(vec!["client".to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (self.write("client.pem", &certificate.pem()), self.write("client.key", &key.serialize_pem()))
    }

    /// A file of this text in its folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

/// A certificate for `name` that nobody but itself has signed.
pub(crate) fn self_signed(name: &str) -> Identity {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    Identity { certificate: params.self_signed(&key).unwrap().der().clone(), key }
}

/// How a server shows `identity`, and whom it lets in: clients of `clients` alone, where given.
pub(crate) fn server(
    identity: &Identity,
    clients: Option<&Authority>,
    versions: &[&'static SupportedProtocolVersion],
) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_protocol_versions(versions).unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.certificate.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::try_from(identity.key.serialize_der()).unwrap();
    Arc::new(builder.with_single_cert(vec![identity.certificate.clone()], key).unwrap())
}

/// Speaks TLS over `stream`, as a server.
pub(crate) fn wrap(config: Arc<ServerConfig>, stream: TcpStream) -> StreamOwned<ServerConnection, TcpStream> {
    StreamOwned::new(ServerConnection::new(config).unwrap(), stream)
}
