//! Tests `docwright serve` with a certificate, and the commands beside such a server.

use std::path::{Path, PathBuf};
use std::process::Output;

use tempfile::TempDir;

use crate::support::{Client, Serving, docwright, home};

struct Certificate {
    _folder: TempDir,
    cert: PathBuf,
    key: PathBuf,
}

impl Certificate {
    fn new() -> Self {
        let identity = rcgen::generate_simple_self_signed(["127.0.0.1".into()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = (folder.path().join("cert.pem"), folder.path().join("key.pem"));
        std::fs::write(&cert, identity.cert.pem()).unwrap();
        std::fs::write(&key, identity.signing_key.serialize_pem()).unwrap();
        Self { _folder: folder, cert, key }
    }

    fn serve(&self, home: &Path) -> Serving {
        Serving::start_with(home, "127.0.0.1:0", |command| {
            command.arg("--tls-cert").arg(&self.cert).arg("--tls-key").arg(&self.key);
        })
    }
}

fn run(home: &Path, args: &[&str], variables: &[(&str, &str)]) -> Output {
    docwright(home).args(args).envs(variables.iter().copied()).output().unwrap()
}

#[test]
fn commands_reach_a_server_with_a_certificate() {
    let (home, certificate) = (home(), Certificate::new());
    let serving = certificate.serve(home.path());
    let address = serving.url.strip_prefix("https://").unwrap().to_owned();
    let cert = certificate.cert.to_str().unwrap();

    // The certificate of a server is rarely for the address that a health check uses.
    let healthy =
        run(home.path(), &["health"], &[("DOCWRIGHT_LISTEN", &address), ("DOCWRIGHT_TLS_CERT", cert)]);
    assert_eq!((healthy.status.code(), healthy.stdout.as_slice()), (Some(0), &b"ready\n"[..]), "{healthy:?}");
    let client = Client::of(home.path(), &serving);
    let list = |trusted: &str| {
        let mut command = client.docwright();
        command.args(["job", "list", &client.project]).env("SSL_CERT_FILE", trusted).output().unwrap()
    };
    let trusting = list(cert);
    assert!(trusting.status.success(), "{trusting:?}");
    let other = Certificate::new();
    let refusing = String::from_utf8(list(other.cert.to_str().unwrap()).stderr).unwrap();
    assert!(refusing.contains("certificate"), "{refusing}");
}

#[test]
fn a_server_without_the_key_of_its_certificate_does_not_start() {
    let (home, certificate) = (home(), Certificate::new());
    let cert = certificate.cert.to_str().unwrap();
    let refused = run(home.path(), &["serve", "--listen", "127.0.0.1:0", "--tls-cert", cert], &[]);
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("tls_cert is set, but tls_key is not"), "{error}");
    let checked = run(home.path(), &["doctor"], &[("DOCWRIGHT_TLS_KEY", "/nowhere")]);
    let report = String::from_utf8(checked.stdout).unwrap();
    assert!(report.contains("tls_key is set, but tls_cert is not"), "{report}");
}
