//! Finds out whether a certificate has expired.
//!
//! No library here reads the dates of a certificate. But the verifier of clients checks them first, so it can tell whether
//! a certificate is expired at some time.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use rustls::CertificateError::{Expired, ExpiredContext};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{Error, RootCertStore};

/// Programs that renew certificates do it earlier, so one that has this time left was forgotten.
const SOON: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// A phrase if the certificate has expired, or soon will.
pub(super) fn problem(certificate: &CertificateDer<'static>) -> Option<&'static str> {
    let now = UnixTime::now();
    let soon = UnixTime::since_unix_epoch(Duration::from_secs(now.as_secs()) + SOON);
    if is_expired(certificate, now) {
        return Some("has expired, and clients refuse it");
    }
    is_expired(certificate, soon).then_some("expires within 3 days")
}

fn is_expired(certificate: &CertificateDer<'static>, time: UnixTime) -> bool {
    let mut roots = RootCertStore::empty();
    if roots.add(certificate.clone()).is_err() {
        return false;
    }
    let Ok(verifier) = WebPkiServerVerifier::builder(Arc::new(roots)).build() else { return false };
    let name = ServerName::from(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let verified = verifier.verify_server_cert(certificate, &[], &name, &[], time);
    matches!(verified, Err(Error::InvalidCertificate(Expired | ExpiredContext { .. })))
}
