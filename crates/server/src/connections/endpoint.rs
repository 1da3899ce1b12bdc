//! Takes the port that the server listens on, and reads its certificate.

use std::sync::Arc;

use anyhow::Context;
use app::settings::Settings;
use tokio::net::TcpListener;

use crate::tls::Tls;

pub(crate) struct Endpoint {
    pub(super) listener: TcpListener,
    pub(crate) tls: Option<Arc<Tls>>,
}

impl Endpoint {
    /// Each error is a sentence.
    pub(crate) async fn open(settings: &Settings) -> anyhow::Result<Self> {
        let tls = Tls::open(settings)?.map(Arc::new);
        let listen = settings.listen;
        let listener = TcpListener::bind(listen).await.with_context(|| {
            format!("cannot listen on {listen}: stop the program that uses it, or choose another address with --listen")
        })?;
        Ok(Self { listener, tls })
    }

    /// The URL of the address that the server listens on.
    pub(crate) fn url(&self) -> anyhow::Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}", self.listener.local_addr()?))
    }
}
