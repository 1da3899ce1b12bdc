//! A GitHub App: a key that signs for a token of an hour, good for one repository.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use net::Secret;
use reqwest::{Method, Url};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::HostKind;
use super::api::{Answer, Line, below};
use super::trouble::{self, Place};
use crate::{Error, Result};

/// A token is renewed when it has less than this left: a push may take a while.
const MARGIN: Duration = Duration::from_secs(5 * 60);

/// The private key of an app.
#[derive(Clone)]
pub struct AppKey(Arc<RsaKeyPair>);

impl AppKey {
    /// From the PEM file that GitHub gives, or the same as PKCS#8.
    pub fn parse(pem: &str) -> Result<Self> {
        let refuse = || Error::BadName("the app's key must be an RSA private key in PEM".to_owned());
        let key = match PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| refuse())? {
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            _ => return Err(refuse()),
        };
        key.map(|key| Self(Arc::new(key))).map_err(|_| refuse())
    }
}

impl fmt::Debug for AppKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AppKey")
    }
}

pub(super) struct App {
    pub(super) line: Arc<Line>,
    pub(super) place: Arc<Place>,
    pub(super) root: Url,
    pub(super) repository: Url,
    /// Its number, or what GitHub calls its client id.
    pub(super) id: String,
    pub(super) key: AppKey,
    pub(super) installation: Option<u64>,
    /// Held while one is fetched, so that many who need one ask for one.
    pub(super) token: Mutex<Option<Token>>,
}

pub(super) struct Token {
    secret: Secret,
    /// In seconds since 1970.
    expires_at: i64,
}

impl App {
    pub(super) async fn token(&self) -> Result<Secret> {
        let mut kept = self.token.lock().await;
        let margin = MARGIN.as_secs().cast_signed();
        if let Some(token) = kept.as_ref().filter(|token| token.expires_at - margin > (self.line.now)()) {
            return Ok(token.secret.clone());
        }
        let token = self.fetch().await?;
        Ok(kept.insert(token).secret.clone())
    }

    /// Whether there was one to forget.
    pub(super) async fn forget(&self) -> bool {
        self.token.lock().await.take().is_some()
    }

    async fn fetch(&self) -> Result<Token> {
        let installation = match self.installation {
            Some(id) => id,
            None => self.find_installation().await?,
        };
        let url = below(&self.root, &["app", "installations", &installation.to_string(), "access_tokens"]);
        let name = self.place.path.rsplit('/').next().unwrap_or_default();
        let wanted = json!({
            "repositories": [name],
            "permissions": { "contents": "write", "pull_requests": "write" },
        });
        let answer = self.ask(Method::POST, url, Some(wanted)).await?;
        if answer.status == 422 {
            let (path, advice) = (&self.place.path, self.place.advice());
            return Err(Error::Denied(format!(
                "the app may not change {path} ({}): install it there, and {advice}",
                answer.said
            )));
        }
        self.read(&self.done(answer)?.body).ok_or_else(|| self.line.no_api())
    }

    async fn find_installation(&self) -> Result<u64> {
        let answer = self.ask(Method::GET, below(&self.repository, &["installation"]), None).await?;
        if answer.status == 404 {
            let (host, path) = (&self.place.host, &self.place.path);
            return Err(Error::Denied(format!(
                "the app is not installed on {path}: check the address, and install it there on {host}"
            )));
        }
        self.done(answer)?.body["id"].as_u64().ok_or_else(|| self.line.no_api())
    }

    fn read(&self, body: &Value) -> Option<Token> {
        let secret = Secret::parse(body["token"].as_str()?)?;
        let expires_at = body["expires_at"].as_str()?.parse::<Timestamp>().ok()?.as_second();
        Some(Token { secret, expires_at })
    }

    async fn ask(&self, method: Method, url: Url, body: Option<Value>) -> Result<Answer> {
        let signed = self.sign()?;
        self.line.ask(&method, &url, body.as_ref(), Some((HostKind::GitHub, &signed))).await
    }

    fn done(&self, answer: Answer) -> Result<Answer> {
        if answer.is_success() { Ok(answer) } else { Err(trouble::refused(&self.place, &answer)) }
    }

    /// A JSON Web Token, from a minute ago because clocks differ, for less than the ten minutes that
    /// GitHub allows.
    fn sign(&self) -> Result<Secret> {
        let now = (self.line.now)();
        let claims = json!({ "iat": now - 60, "exp": now + 9 * 60, "iss": self.id });
        let header = r#"{"alg":"RS256","typ":"JWT"}"#;
        let text =
            format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims.to_string()));
        let mut signature = vec![0; self.key.0.public().modulus_len()];
        let refuse = || Error::Denied("the app's key does not sign".to_owned());
        let signed =
            self.key.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature);
        signed.map_err(|_| refuse())?;
        Secret::parse(&format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))).ok_or_else(refuse)
    }
}
