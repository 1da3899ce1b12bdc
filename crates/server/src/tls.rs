//! HTTPS without a proxy: reads a certificate and its key, and reads them again when the files change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context;
use app::settings::Settings;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, interval_at, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;

/// How often to look whether the files changed.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);
/// For a client that connects and doesn't finish its handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The first byte of every TLS handshake.
const HANDSHAKE: u8 = 0x16;

pub(crate) struct Tls {
    files: Files,
    current: RwLock<Current>,
}

struct Files {
    certificates: PathBuf,
    key: PathBuf,
}

struct Current {
    identity: Identity,
    config: Arc<ServerConfig>,
}

/// The content of the files.
#[derive(PartialEq)]
struct Identity {
    /// The server's certificate first, then those that lead to a root.
    certificates: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
}

/// Checks whether a server with these settings would find its certificate and its key, for `docwright doctor`.
pub fn check_tls(settings: &Settings) -> anyhow::Result<()> {
    Tls::open(settings).map(drop)
}

impl Tls {
    /// `None` if the settings name no certificate. Each error is a sentence.
    pub(crate) fn open(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let files = match (&settings.tls_cert, &settings.tls_key) {
            (None, None) => return Ok(None),
            (Some(certificates), Some(key)) => Files { certificates: certificates.clone(), key: key.clone() },
            (Some(_), None) => anyhow::bail!("tls_cert is set, but tls_key is not: set both, or neither"),
            (None, Some(_)) => anyhow::bail!("tls_key is set, but tls_cert is not: set both, or neither"),
        };
        let identity = files.read()?;
        let config = files.config(&identity)?;
        Ok(Some(Self { files, current: RwLock::new(Current { identity, config }) }))
    }

    /// Reads the files again every few seconds until `stop`. New connections use a changed certificate. If the
    /// files are invalid, such as while a program replaces one after the other, the last certificate stays.
    pub(crate) async fn reload_until(self: &Arc<Self>, stop: &CancellationToken) {
        let mut ticks = interval_at(Instant::now() + RELOAD_INTERVAL, RELOAD_INTERVAL);
        let mut last_error = None;
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let tls = self.clone();
            let reloaded = tokio::task::spawn_blocking(move || tls.reload()).await;
            let error = reloaded.ok().and_then(Result::err).map(|error| format!("{error:#}"));
            if let Some(error) = &error
                && last_error.as_ref() != Some(error)
            {
                tracing::warn!(
                    "the server keeps its TLS certificate, because the new one is invalid: {error}"
                );
            }
            last_error = error;
        }
    }

    fn reload(&self) -> anyhow::Result<()> {
        let identity = self.files.read()?;
        if self.current.read().unwrap_or_else(PoisonError::into_inner).identity == identity {
            return Ok(());
        }
        let config = self.files.config(&identity)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Current { identity, config };
        tracing::info!("the server uses the new TLS certificate in {}", self.files.certificates.display());
        Ok(())
    }

    /// Whether the client begins a handshake, or sends something else, such as plain HTTP. `None` if it sends
    /// nothing.
    pub(crate) async fn is_handshake(stream: &TcpStream) -> Option<bool> {
        let mut first = [0];
        match timeout(HANDSHAKE_TIMEOUT, stream.peek(&mut first)).await {
            Ok(Ok(1)) => Some(first[0] == HANDSHAKE),
            _ => None,
        }
    }

    /// `None` if the client doesn't finish its handshake. Clients cause that, so it isn't logged.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(&self, stream: S) -> Option<TlsStream<S>> {
        let config = self.current.read().unwrap_or_else(PoisonError::into_inner).config.clone();
        timeout(HANDSHAKE_TIMEOUT, TlsAcceptor::from(config).accept(stream)).await.ok()?.ok()
    }
}

impl Files {
    fn read(&self) -> anyhow::Result<Identity> {
        let certificates = CertificateDer::pem_file_iter(&self.certificates)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| cannot_read("tls_cert", &self.certificates, "certificate", error))?;
        anyhow::ensure!(
            !certificates.is_empty(),
            "tls_cert: {} has no certificate in PEM format",
            self.certificates.display()
        );
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| cannot_read("tls_key", &self.key, "private key", error))?;
        Ok(Identity { certificates, key })
    }

    fn config(&self, identity: &Identity) -> anyhow::Result<Arc<ServerConfig>> {
        let config = ServerConfig::builder().with_no_client_auth();
        let mut config = config
            .with_single_cert(identity.certificates.clone(), identity.key.clone_key())
            .with_context(|| {
                format!(
                    "the certificate in {} and the key in {} cannot be used together",
                    self.certificates.display(),
                    self.key.display()
                )
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }
}

fn cannot_read(setting: &str, file: &Path, what: &str, error: pem::Error) -> anyhow::Error {
    let file = file.display();
    match error {
        pem::Error::Io(error) => anyhow::anyhow!("{setting}: {file} cannot be read: {error}"),
        pem::Error::NoItemsFound => anyhow::anyhow!("{setting}: {file} has no {what} in PEM format"),
        _ => anyhow::anyhow!("{setting}: {file} is not valid PEM"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::ErrorKind;
    use std::sync::atomic::AtomicBool;

    use rustls::pki_types::ServerName;
    use rustls::{ClientConfig, RootCertStore};
    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio_rustls::TlsConnector;

    use super::*;
    use crate::connections::ClientStream;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            let _ = rustls::crypto::ring::default_provider().install_default();
            Self(tempfile::tempdir().unwrap())
        }

        /// Writes a new certificate and its key, and returns the certificate.
        fn write_identity(&self) -> CertificateDer<'static> {
            let identity = rcgen::generate_simple_self_signed(["docs.example".into()]).unwrap();
            self.write("cert.pem", identity.cert.pem().as_bytes());
            self.write("key.pem", identity.signing_key.serialize_pem().as_bytes());
            identity.cert.der().clone()
        }

        fn write(&self, name: &str, bytes: &[u8]) {
            std::fs::write(self.0.path().join(name), bytes).unwrap();
        }

        fn settings(&self) -> Settings {
            let mut settings = Settings::new(self.0.path().into());
            settings.tls_cert = Some(self.0.path().join("cert.pem"));
            settings.tls_key = Some(self.0.path().join("key.pem"));
            settings
        }

        fn open(&self) -> Arc<Tls> {
            Arc::new(Tls::open(&self.settings()).unwrap().unwrap())
        }

        fn error(&self) -> String {
            let error = format!("{:#}", check_tls(&self.settings()).unwrap_err());
            error.replace(&format!("{}/", self.0.path().display()), "")
        }
    }

    type Connected = (tokio_rustls::client::TlsStream<DuplexStream>, TlsStream<ClientStream<DuplexStream>>);

    /// A connection of a client that trusts this certificate alone.
    async fn connect(tls: &Tls, trusted: &CertificateDer<'static>) -> Option<Connected> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let (client, server) = duplex(4096);
        let server = ClientStream::new(server, Arc::new(AtomicBool::new(false)), CancellationToken::new());
        let name = ServerName::try_from("docs.example").unwrap();
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, client);
        let (client, server) = tokio::join!(connecting, tls.accept(server));
        Some((client.ok()?, server?))
    }

    #[tokio::test(start_paused = true)]
    async fn a_changed_certificate_is_used_and_an_invalid_one_is_not() {
        let folder = Folder::new();
        let first = folder.write_identity();
        let tls = folder.open();
        let stop = CancellationToken::new();
        let reloading = tokio::spawn({
            let (tls, stop) = (tls.clone(), stop.clone());
            async move { tls.reload_until(&stop).await }
        });
        let (mut client, mut server) = connect(&tls, &first).await.unwrap();

        let second = folder.write_identity();
        let key = std::fs::read(folder.0.path().join("key.pem")).unwrap();
        for half_written in [&b""[..], b"-----BEGIN PRIVATE KEY-----\nMIG", &[0xff; 9]] {
            folder.write("key.pem", half_written);
            tokio::time::sleep(RELOAD_INTERVAL * 2).await;
            assert!(connect(&tls, &first).await.is_some() && connect(&tls, &second).await.is_none());
        }
        folder.write("key.pem", &key);
        tokio::time::sleep(RELOAD_INTERVAL * 2).await;
        assert!(connect(&tls, &second).await.is_some() && connect(&tls, &first).await.is_none());

        client.write_all(b"old connections stay").await.unwrap();
        let mut read = [0; 20];
        server.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"old connections stay");
        stop.cancel();
        reloading.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_disconnected() {
        let folder = Folder::new();
        let certificate = folder.write_identity();
        let (_client, mut server) = connect(&folder.open(), &certificate).await.unwrap();
        let began = Instant::now();
        let writing = async {
            server.write_all(&[0; 100_000]).await?;
            server.flush().await
        };
        assert_eq!(writing.await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(began.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_does_not_finish_its_handshake_is_disconnected() {
        let folder = Folder::new();
        folder.write_identity();
        let (mut client, server) = duplex(4096);
        client.write_all(&[HANDSHAKE, 3, 1]).await.unwrap();
        let began = Instant::now();
        assert!(folder.open().accept(server).await.is_none());
        assert_eq!(began.elapsed(), HANDSHAKE_TIMEOUT);
    }

    #[test]
    fn each_problem_with_the_files_is_a_sentence() {
        let folder = Folder::new();
        assert_eq!(
            folder.error(),
            "tls_cert: cert.pem cannot be read: No such file or directory (os error 2)"
        );
        folder.write_identity();
        let (cert, key) = (folder.0.path().join("cert.pem"), folder.0.path().join("key.pem"));
        let key_text = std::fs::read(&key).unwrap();
        folder.write("key.pem", &std::fs::read(&cert).unwrap());
        assert_eq!(folder.error(), "tls_key: key.pem has no private key in PEM format");
        folder.write("cert.pem", &key_text);
        assert_eq!(folder.error(), "tls_cert: cert.pem has no certificate in PEM format");
        folder.write("cert.pem", b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
        assert_eq!(folder.error(), "tls_cert: cert.pem is not valid PEM");
        folder.write_identity();
        folder.write("key.pem", &key_text);
        let of_another = "the certificate in cert.pem and the key in key.pem cannot be used together";
        assert!(folder.error().starts_with(of_another), "{}", folder.error());
        let mut settings = folder.settings();
        settings.tls_key = None;
        assert_eq!(
            check_tls(&settings).unwrap_err().to_string(),
            "tls_cert is set, but tls_key is not: set both, or neither"
        );
    }
}
