//! Authenticates as a GitHub App: signs a JWT with the app's key and exchanges it for a token of one hour for
//! one repository.

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
use super::api::{ApiClient, ApiResponse, append_path};
use super::api_errors::{self, RepositoryContext};
use crate::{Error, Result};

/// A token is renewed this long before it expires, because a push can be slow.
const RENEWAL_MARGIN: Duration = Duration::from_secs(5 * 60);

/// The private key of an app.
#[derive(Clone)]
pub struct AppKey(Arc<RsaKeyPair>);

impl AppKey {
    /// Accepts GitHub's PEM file (PKCS#1) and PKCS#8.
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
    pub(super) client: Arc<ApiClient>,
    pub(super) context: Arc<RepositoryContext>,
    pub(super) root: Url,
    pub(super) repository: Url,
    /// The app's number or its client id.
    pub(super) id: String,
    pub(super) key: AppKey,
    pub(super) installation: Option<u64>,
    /// Locked during the request, so that concurrent callers share one token.
    pub(super) token: Mutex<Option<Token>>,
}

pub(super) struct Token {
    secret: Secret,
    /// In seconds since 1970.
    expires_at: i64,
}

impl App {
    pub(super) async fn token(&self) -> Result<Secret> {
        let mut cached = self.token.lock().await;
        let margin = RENEWAL_MARGIN.as_secs().cast_signed();
        if let Some(token) = cached.as_ref().filter(|token| token.expires_at - margin > (self.client.now)()) {
            return Ok(token.secret.clone());
        }
        let token = self.fetch().await?;
        Ok(cached.insert(token).secret.clone())
    }

    /// Returns whether a token was cached.
    pub(super) async fn discard_token(&self) -> bool {
        self.token.lock().await.take().is_some()
    }

    async fn fetch(&self) -> Result<Token> {
        let installation = match self.installation {
            Some(id) => id,
            None => self.find_installation().await?,
        };
        let url =
            append_path(&self.root, &["app", "installations", &installation.to_string(), "access_tokens"]);
        let name = self.context.path.rsplit('/').next().unwrap_or_default();
        let wanted = json!({
            "repositories": [name],
            "permissions": { "contents": "write", "pull_requests": "write" },
        });
        let response = self.request(Method::POST, url, Some(wanted)).await?;
        if response.status == 422 {
            let (path, advice) = (&self.context.path, self.context.advice());
            return Err(Error::Denied(format!(
                "the app may not change {path} ({}): install the app on it, and {advice}",
                response.message
            )));
        }
        self.parse_token(&self.check_status(response)?.body).ok_or_else(|| self.client.not_an_api_error())
    }

    async fn find_installation(&self) -> Result<u64> {
        let response =
            self.request(Method::GET, append_path(&self.repository, &["installation"]), None).await?;
        if response.status == 404 {
            let (host, path) = (&self.context.host, &self.context.path);
            return Err(Error::Denied(format!(
                "the app is not installed on {path}: check the address, or install the app on {host}"
            )));
        }
        self.check_status(response)?.body["id"].as_u64().ok_or_else(|| self.client.not_an_api_error())
    }

    fn parse_token(&self, body: &Value) -> Option<Token> {
        let secret = Secret::parse(body["token"].as_str()?)?;
        let expires_at = body["expires_at"].as_str()?.parse::<Timestamp>().ok()?.as_second();
        Some(Token { secret, expires_at })
    }

    async fn request(&self, method: Method, url: Url, body: Option<Value>) -> Result<ApiResponse> {
        let jwt = self.signed_jwt()?;
        self.client.request(&method, &url, body.as_ref(), Some((HostKind::GitHub, &jwt))).await
    }

    fn check_status(&self, response: ApiResponse) -> Result<ApiResponse> {
        if response.is_success() {
            Ok(response)
        } else {
            Err(api_errors::status_error(&self.context, &response))
        }
    }

    /// A JSON Web Token. It starts a minute ago because clocks differ, and expires before GitHub's limit of
    /// ten minutes.
    fn signed_jwt(&self) -> Result<Secret> {
        let now = (self.client.now)();
        let claims = json!({ "iat": now - 60, "exp": now + 9 * 60, "iss": self.id });
        let header = r#"{"alg":"RS256","typ":"JWT"}"#;
        let text =
            format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims.to_string()));
        let mut signature = vec![0; self.key.0.public().modulus_len()];
        let refuse = || Error::Denied("the app's key cannot sign a request: check the key".to_owned());
        let signed =
            self.key.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature);
        signed.map_err(|_| refuse())?;
        Secret::parse(&format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))).ok_or_else(refuse)
    }
}
