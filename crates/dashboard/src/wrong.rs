//! Wrong passwords, for the audit log of the organization whose account was tried. A name that nobody has is
//! in no log.

use std::net::IpAddr;

use ipnet::IpNet;
use store::{NewAuditEntry, PasswordHash, Person};

use app::App;

/// Told once an hour for an account, so that whoever goes on trying fills no log; and behind the answer, so that
/// what is written tells nobody which names there are.
pub(super) fn tell(app: &App, accounts: &[(Person, PasswordHash)], address: Option<IpAddr>) {
    let from = address.map_or("an unknown address".to_owned(), network);
    for (person, _) in accounts {
        if app.tries.is_first_report(&format!("wrong password {}", person.id)) {
            note(app, person, &from);
        }
    }
}

fn note(app: &App, person: &Person, from: &str) {
    let deed = NewAuditEntry {
        organization: person.organization.clone(),
        who: "somebody".into(),
        what: "gave a wrong password for".into(),
        about: format!("{}, from {from} (told once an hour)", person.name),
    };
    let people = app.people.clone();
    tokio::spawn(async move {
        if let Err(error) = people.record_audit(&deed).await {
            tracing::error!("a wrong password is not in the audit log: {error}");
        }
    });
}

/// Enough to tell one's own office from a stranger, and not whose machine it was.
pub(super) fn network(address: IpAddr) -> String {
    let bits = if address.is_ipv4() { 24 } else { 48 };
    IpNet::new(address, bits).map_or_else(|_| "an unknown address".into(), |net| net.trunc().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        for (address, told) in
            [("192.0.2.77", "192.0.2.0/24"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"), ("::1", "::/48")]
        {
            assert_eq!(network(address.parse().unwrap()), told);
        }
    }
}
