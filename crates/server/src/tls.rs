//! HTTPS without a proxy: reads a certificate and its key, and reads them again when the files change.

mod expiry;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use app::settings::Settings;
use base::read_small_file;
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
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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

/// Checks whether a server with these settings would find its certificate and its key, for `docwright doctor`. Returns a
/// warning if the certificate has expired, or soon will.
pub fn check_tls(settings: &Settings) -> anyhow::Result<Option<String>> {
    Ok(Tls::open(settings)?.and_then(|tls| tls.expiry_problem()))
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
        let mut last_problem = None;
        let mut problem = self.expiry_problem();
        loop {
            if let Some(problem) = &problem
                && last_problem.as_ref() != Some(problem)
            {
                tracing::warn!("{problem}");
            }
            last_problem = problem;
            let tls = self.clone();
            let next = async {
                ticks.tick().await;
                tokio::task::spawn_blocking(move || tls.reload()).await
            };
            problem = match stop.run_until_cancelled(next).await {
                None => return,
                Some(Ok(Err(error))) => Some(format!(
                    "the server keeps its TLS certificate, because the new one is invalid: {error:#}"
                )),
                Some(_) => self.expiry_problem(),
            };
        }
    }

    fn expiry_problem(&self) -> Option<String> {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        let when = expiry::problem(current.identity.certificates.first()?)?;
        Some(format!("the TLS certificate in {} {when}: replace it", self.files.certificates.display()))
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
        let text = read_pem("tls_cert", &self.certificates)?;
        let certificates = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
        let certificates = certificates
            .and_then(|found| if found.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(found) })
            .map_err(|error| not_pem("tls_cert", &self.certificates, "certificate", &error))?;
        let text = read_pem("tls_key", &self.key)?;
        let is_encrypted = text.windows(9).any(|word| word == b"ENCRYPTED");
        anyhow::ensure!(
            !is_encrypted,
            "tls_key: {0} is protected by a password: remove it with `openssl pkey -in {0} -out FILE`",
            self.key.display()
        );
        let key = PrivateKeyDer::from_pem_slice(&text)
            .map_err(|error| not_pem("tls_key", &self.key, "private key", &error))?;
        Ok(Identity { certificates, key })
    }

    fn config(&self, identity: &Identity) -> anyhow::Result<Arc<ServerConfig>> {
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(identity.certificates.clone(), identity.key.clone_key());
        let mut config = config.map_err(|error| self.unusable(&error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    fn unusable(&self, error: &rustls::Error) -> anyhow::Error {
        let (certificates, key) = (self.certificates.display(), self.key.display());
        match error {
            rustls::Error::InconsistentKeys(_) => anyhow::anyhow!(
                "the key in {key} is not the key of the first certificate in {certificates}: the server's certificate must come first"
            ),
            rustls::Error::General(_) => anyhow::anyhow!(
                "the key in {key} cannot be used: create an RSA key of 2048 bits or more, or one of P-256, P-384 or Ed25519"
            ),
            error => anyhow::anyhow!("the certificate in {certificates} cannot be used: {error}"),
        }
    }
}

/// Without the byte order mark that some editors write, which would hide the first line.
fn read_pem(setting: &str, file: &Path) -> anyhow::Result<Vec<u8>> {
    let unreadable =
        |error: io::Error| anyhow::anyhow!("{setting}: {} cannot be read: {error}", file.display());
    let text = read_small_file(file).map_err(unreadable)?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).map(<[u8]>::to_vec).unwrap_or(text))
}

fn not_pem(setting: &str, file: &Path, what: &str, error: &pem::Error) -> anyhow::Error {
    let file = file.display();
    match error {
        pem::Error::NoItemsFound => anyhow::anyhow!("{setting}: {file} has no {what} in PEM format"),
        _ => anyhow::anyhow!("{setting}: {file} is not valid PEM"),
    }
}

#[cfg(test)]
mod tests;
