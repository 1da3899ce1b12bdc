//! Imitates a GitHub App: exchanges a signed JWT for a token of one hour.

use anyhow::Context;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ring::rsa::KeyPair;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::Value;

/// A test key in GitHub's format (PKCS#1, PEM).
pub const TEST_APP_KEY: &str = include_str!("../assets/app.pem");

/// GitHub's limit for the lifetime of a JWT.
const MAX_JWT_SECONDS: i64 = 600;
const MAX_CLOCK_SKEW_SECONDS: i64 = 60;

pub(crate) struct App {
    id: u64,
    pub(crate) installation: u64,
    public_key: Vec<u8>,
}

/// Why a JWT is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BadJwt {
    Undecodable,
    Expired,
    TooLong,
    IssuedLater,
    OtherApp,
}

impl App {
    /// `key` is the private key, so that both sides can use the same file.
    pub(crate) fn new(id: u64, installation: u64, key: &str) -> anyhow::Result<Self> {
        let base64: String = key.lines().filter(|line| !line.starts_with("-----")).collect();
        let der = STANDARD.decode(base64).context("the key is not PEM")?;
        let pair = KeyPair::from_der(&der).or_else(|_| KeyPair::from_pkcs8(&der));
        let pair = pair.map_err(|error| anyhow::anyhow!("the key cannot be used: {error}"))?;
        Ok(Self { id, installation, public_key: pair.public_key().as_ref().to_vec() })
    }

    pub(crate) fn check(&self, jwt: &str, now: Timestamp) -> Result<(), BadJwt> {
        let claims = self.claims(jwt).ok_or(BadJwt::Undecodable)?;
        let now = now.as_second();
        let issued = claims["iat"].as_i64().ok_or(BadJwt::IssuedLater)?;
        let expires = claims["exp"].as_i64().ok_or(BadJwt::Expired)?;
        let issuer = claims["iss"].as_u64().or_else(|| claims["iss"].as_str()?.parse().ok());
        match () {
            () if expires <= now => Err(BadJwt::Expired),
            () if expires > now + MAX_JWT_SECONDS => Err(BadJwt::TooLong),
            () if issued > now + MAX_CLOCK_SKEW_SECONDS => Err(BadJwt::IssuedLater),
            () if issuer != Some(self.id) => Err(BadJwt::OtherApp),
            () => Ok(()),
        }
    }

    /// The claims, if the app signed the JWT.
    fn claims(&self, jwt: &str) -> Option<Value> {
        let (signed, signature) = jwt.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let json = |part: &str| -> Option<Value> {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
        };
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.public_key);
        let is_signed = key.verify(signed.as_bytes(), &URL_SAFE_NO_PAD.decode(signature).ok()?).is_ok();
        (json(header)?["alg"] == "RS256" && is_signed).then(|| json(claims)).flatten()
    }
}
