//! Tests a real host. `scripts/hosts` starts it and checks the requests.

use forge::{AppKey, Credential, Host as _, NewPull, Oid, State, Web, WebSettings};
use net::{NetworkPolicy, Secret};

/// The branches must exist, each one commit ahead of `main`.
const MERGED: &str = "docwright/merged";
const CLOSED: &str = "docwright/closed";

fn environment_variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is to name a host: run scripts/hosts"))
}

/// A token, or the app with the id 7.
fn credential() -> Credential {
    let Ok(path) = std::env::var("HOST_APP_KEY") else {
        return Credential::Token(Secret::parse(&environment_variable("HOST_TOKEN")).unwrap());
    };
    let key = AppKey::parse(&std::fs::read_to_string(path).unwrap()).unwrap();
    Credential::App { id: "7".to_owned(), installation: None, key }
}

fn new_pull(head: &str, body: &str) -> NewPull {
    let unused = Oid::parse(&"0".repeat(40)).unwrap();
    NewPull {
        title: "Use pnpm".to_owned(),
        body: format!("{body}\n\nDocwright-Job: {head}\n"),
        head: head.to_owned(),
        base: "main".to_owned(),
        head_commit: unused.clone(),
        base_commit: unused,
        job: head.to_owned(),
        draft: false,
        is_first: true,
    }
}

#[tokio::test]
#[ignore = "needs a host, as scripts/hosts starts them"]
async fn a_running_host_takes_everything() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut settings = WebSettings::new(environment_variable("HOST_URL"));
    settings.kind = Some(environment_variable("HOST_KIND").parse().unwrap());
    settings.credential = credential();
    settings.labels = vec!["docs".to_owned(), "from docwright".to_owned()];
    settings.reviewers = vec!["noor".to_owned()];
    settings.reach = NetworkPolicy { allow_private: true, use_proxy: false };
    let web = Web::open(settings).await.unwrap();

    assert_eq!(web.check(None).await.unwrap(), "main");
    assert_eq!(web.check(Some(MERGED)).await.unwrap(), MERGED);
    assert!(web.check(Some("docwright/nothing")).await.is_err());
    for head in [MERGED, CLOSED] {
        assert_eq!(web.find(head).await.unwrap(), []);
        let opened = web.open(&new_pull(head, "As asked.")).await.unwrap();
        let adopted = web.open(&new_pull(head, "And more.")).await.unwrap();
        assert_eq!(adopted.number, opened.number);
        let found = web.find(head).await.unwrap();
        assert_eq!((found.len(), found[0].job.as_deref()), (1, Some(head)));
        assert!(found[0].body.contains("As asked.") && found[0].body.contains("And more."));
        let done = match head {
            MERGED => web.merge(opened.number, Some(&found[0].head_commit)).await.unwrap(),
            _ => web.close(opened.number).await.unwrap(),
        };
        assert_eq!(done.state, if head == MERGED { State::Merged } else { State::Closed });
    }
}
