//! TLS towards the target: rustls over ring, verified against the Mozilla roots compiled in.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

/// Makes TLS sessions to one named server.
pub(super) struct Tls {
    connector: TlsConnector,
    server_name: ServerName<'static>,
}

impl Tls {
    /// Prepares sessions to `host`, whose certificate must be valid for that name or address.
    ///
    /// # Errors
    /// When `host` cannot stand in a certificate.
    pub(super) fn new(host: &str) -> io::Result<Tls> {
        let server_name = ServerName::try_from(host.to_owned()).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("`{host}` is no name that TLS can verify"))
        })?;
        let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { connector: TlsConnector::from(Arc::new(config)), server_name })
    }

    /// Shakes hands over `stream`.
    ///
    /// # Errors
    /// What rustls says of the certificate, or what broke the connection.
    pub(super) async fn handshake<S>(&self, stream: S) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.connector.connect(self.server_name.clone(), stream).await
    }
}
