//! TLS towards the target: rustls over ring, verified against the Mozilla roots compiled in unless the scenario
//! names authorities of its own.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::scenario::{Http, TlsOptions};

/// What HTTP/2 is called in a handshake.
pub(super) const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Makes TLS sessions to one named server.
pub(super) struct Tls {
    connector: TlsConnector,
    server_name: ServerName<'static>,
    http: Http,
}

impl Tls {
    /// Prepares sessions to `host`, whose certificate must be valid for that name or address, or for the one of
    /// `options`, to speak `http` in.
    ///
    /// # Errors
    /// When the name cannot stand in a certificate, or a file of `options` does not hold what it should.
    pub(super) fn new(host: &str, options: &TlsOptions, http: Http) -> Result<Tls, String> {
        let name = options.server_name.as_deref().unwrap_or(host);
        let server_name = ServerName::try_from(name.to_owned())
            .map_err(|_| format!("`{name}` is no name that a certificate can bear"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?;
        let builder = match options.insecure {
            true => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
            false => builder.with_root_certificates(roots(options.ca.as_deref())?),
        };
        let mut config = match &options.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let name = chain.display();
                builder
                    .with_client_auth_cert(certificates(chain)?, private_key(key)?)
                    .map_err(|error| format!("the certificate of `{name}` cannot be shown: {error}"))?
            }
        };
        let spoken: &[&[u8]] = match http {
            Http::Auto => &[HTTP2, HTTP1],
            Http::One => &[HTTP1],
            Http::Two => &[HTTP2],
        };
        config.alpn_protocols = spoken.iter().map(|name| name.to_vec()).collect();
        Ok(Tls { connector: TlsConnector::from(Arc::new(config)), server_name, http })
    }

    /// Shakes hands over `stream`.
    ///
    /// # Errors
    /// What is wrong with the certificate, what broke the connection, or that the server does not speak what the
    /// scenario asks for.
    pub(super) async fn handshake<S>(&self, stream: S) -> Result<TlsStream<S>, String>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let shaken = self.connector.connect(self.server_name.clone(), stream).await;
        let shaken = shaken.map_err(|error| describe(&error))?;
        if self.http == Http::Two && shaken.get_ref().1.alpn_protocol() != Some(HTTP2) {
            return Err(NO_HTTP2.to_owned());
        }
        Ok(shaken)
    }
}

const NO_HTTP2: &str = "the server does not offer HTTP/2: leave target.http out, or set it to \"1.1\"";

/// What a failed handshake means and, where the scenario can mend it, how.
fn describe(error: &io::Error) -> String {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<Error>());
    if matches!(cause, Some(Error::AlertReceived(AlertDescription::NoApplicationProtocol))) {
        return NO_HTTP2.to_owned();
    }
    let Some(Error::InvalidCertificate(reason)) = cause else {
        return match error.kind() {
            io::ErrorKind::UnexpectedEof => "the server hung up during the handshake".to_owned(),
            _ => error.to_string(),
        };
    };
    match reason {
        // A bad signature is that of another authority of the same name.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "nobody we trust has signed the server's certificate: \
             name its authority with target.tls.ca"
                .to_owned()
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!("the server's certificate has expired ({error})")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => format!(
            "the server's certificate is for another name ({error}): \
             connect by that name, or set it with target.tls.server_name"
        ),
        _ => format!("the server's certificate is not valid ({error})"),
    }
}

/// The authorities of a file; the Mozilla roots without one.
fn roots(file: Option<&Path>) -> Result<RootCertStore, String> {
    let Some(file) = file else {
        return Ok(RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() });
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots
            .add(certificate)
            .map_err(|error| format!("`{}` holds a broken certificate: {error}", file.display()))?;
    }
    Ok(roots)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let unreadable = |error| unreadable(file, &error);
    let all = CertificateDer::pem_slice_iter(&read(file)?).collect::<Result<Vec<_>, _>>();
    let all = all.map_err(unreadable)?;
    if all.is_empty() { Err(unreadable(pem::Error::NoItemsFound)) } else { Ok(all) }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|error| unreadable(file, &error))
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("cannot read `{}`: {error}", file.display()))
}

fn unreadable(file: &Path, error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => format!("`{}` holds no PEM of the kind that is wanted", file.display()),
        error => format!("`{}` is no PEM file: {error}", file.display()),
    }
}

/// Takes any certificate, as long as the server has its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
