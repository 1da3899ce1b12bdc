//! A body that tells when it is let go of: then it is the other side's turn.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Frame, SizeHint};

/// A body, and what happens once nobody holds it any more; that gets the body, if it was not read to its end.
pub(super) struct Until<B: Body, F: FnMut(Option<B>)> {
    /// There is one until this is dropped.
    body: Option<B>,
    ended: bool,
    then: F,
}

impl<B: Body, F: FnMut(Option<B>)> Until<B, F> {
    pub(super) fn new(body: B, then: F) -> Self {
        Self { body: Some(body), ended: false, then }
    }
}

impl<B: Body, F: FnMut(Option<B>)> Drop for Until<B, F> {
    fn drop(&mut self) {
        let ended = self.ended;
        (self.then)(self.body.take().filter(|body| !ended && !body.is_end_stream()));
    }
}

impl<B: Body + Unpin, F: FnMut(Option<B>) + Unpin> Body for Until<B, F> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let Some(body) = self.body.as_mut() else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        self.ended = frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}
