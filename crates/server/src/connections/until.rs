//! A body that tells when it is let go of: then it is the other side's turn.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Frame, SizeHint};

/// What is left of a body that nobody reads any more.
pub(super) enum Rest<B> {
    Nothing,
    Unread(B),
    /// It cannot be read: it was cut off, or is not what HTTP calls a body.
    Broken,
}

/// A body, and what happens once nobody holds it any more.
pub(super) struct Until<B: Body, F: FnMut(Rest<B>)> {
    rest: Rest<B>,
    then: F,
}

impl<B: Body, F: FnMut(Rest<B>)> Until<B, F> {
    pub(super) fn new(body: B, then: F) -> Self {
        Self { rest: Rest::Unread(body), then }
    }
}

impl<B: Body, F: FnMut(Rest<B>)> Drop for Until<B, F> {
    fn drop(&mut self) {
        let rest = match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Unread(body) if body.is_end_stream() => Rest::Nothing,
            rest => rest,
        };
        (self.then)(rest);
    }
}

impl<B: Body + Unpin, F: FnMut(Rest<B>) + Unpin> Body for Until<B, F> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let Rest::Unread(body) = &mut self.rest else { return Poll::Ready(None) };
        let frame = ready!(Pin::new(body).poll_frame(context));
        match frame {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.rest = Rest::Broken,
            None => self.rest = Rest::Nothing,
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        match &self.rest {
            Rest::Unread(body) => body.is_end_stream(),
            _ => true,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            Rest::Unread(body) => body.size_hint(),
            _ => SizeHint::with_exact(0),
        }
    }
}
