//! Tests how the server reads its certificate, and how it treats clients before their first request.

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
    assert_eq!(folder.error(), "tls_cert: cert.pem cannot be read: No such file or directory (os error 2)");
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
    let of_another = "the key in key.pem is not the key of the first certificate in cert.pem";
    assert!(folder.error().starts_with(of_another), "{}", folder.error());
    folder.write(
        "key.pem",
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIG\n-----END ENCRYPTED PRIVATE KEY-----\n",
    );
    assert!(folder.error().starts_with("tls_key: key.pem is protected by a password"), "{}", folder.error());
    std::fs::remove_file(&key).unwrap();
    std::fs::create_dir(&key).unwrap();
    assert_eq!(folder.error(), "tls_key: key.pem cannot be read: it is not a regular file");
    let mut settings = folder.settings();
    settings.tls_key = None;
    assert_eq!(
        check_tls(&settings).unwrap_err().to_string(),
        "tls_cert is set, but tls_key is not: set both, or neither"
    );
}

#[test]
fn a_byte_order_mark_hides_nothing() {
    let folder = Folder::new();
    folder.write_identity();
    for name in ["cert.pem", "key.pem"] {
        let text = std::fs::read(folder.0.path().join(name)).unwrap();
        folder.write(name, &[BYTE_ORDER_MARK, &text].concat());
    }
    assert_eq!(check_tls(&folder.settings()).unwrap(), None);
}

#[test]
fn an_expired_certificate_is_reported() {
    let folder = Folder::new();
    let hour = Duration::from_secs(60 * 60);
    let now = std::time::SystemTime::now();
    for (end, phrase) in [(now - hour, "has expired"), (now + hour, "expires within 3 days")] {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(["docs.example".into()]).unwrap();
        parameters.not_after = end.into();
        parameters.not_before = (end - hour * 48).into();
        folder.write("cert.pem", parameters.self_signed(&key).unwrap().pem().as_bytes());
        folder.write("key.pem", key.serialize_pem().as_bytes());
        let warning = check_tls(&folder.settings()).unwrap().unwrap();
        assert!(warning.contains(phrase), "{warning}");
    }
}
