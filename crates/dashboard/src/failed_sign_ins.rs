//! Records failed sign-ins in the audit log of the account's organization.
//!
//! A name without an account is recorded nowhere.

use std::net::IpAddr;

use ipnet::IpNet;
use store::{NewAuditEntry, PasswordHash, Person};

use app::App;

/// Records at most one entry per account and hour, so that an attacker can't fill the log. The entries are written
/// in the background, so that the response time doesn't reveal which names have an account.
pub(super) fn record(app: &App, accounts: &[(Person, PasswordHash)], address: Option<IpAddr>) {
    let from = address.map_or("an unknown address".to_owned(), network);
    for (person, _) in accounts {
        if app.sign_in_limit.is_first_report(&format!("wrong password {}", person.id)) {
            spawn_audit_write(app, person, &from);
        }
    }
}

fn spawn_audit_write(app: &App, person: &Person, from: &str) {
    let entry = NewAuditEntry {
        organization: person.organization.clone(),
        who: "somebody".into(),
        what: "gave a wrong password for".into(),
        about: format!("{}, from {from} (told once an hour)", person.name),
    };
    let people = app.people.clone();
    tokio::spawn(async move {
        if let Err(error) = people.record_audit(&entry).await {
            tracing::error!("failed to record a failed sign-in in the audit log: {error}");
        }
    });
}

/// The /24 or /48 network of an address: enough to recognize an office, too little to identify a machine.
pub(super) fn network(address: IpAddr) -> String {
    let bits = if address.is_ipv4() { 24 } else { 48 };
    IpNet::new(address, bits).map_or_else(|_| "an unknown address".into(), |net| net.trunc().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_reduced_to_their_network() {
        for (address, expected) in
            [("192.0.2.77", "192.0.2.0/24"), ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"), ("::1", "::/48")]
        {
            assert_eq!(network(address.parse().unwrap()), expected);
        }
    }
}
