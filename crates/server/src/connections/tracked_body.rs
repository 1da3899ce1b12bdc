//! Wraps a body and calls a function when the body is dropped, with what is left of it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Frame, SizeHint};

/// What is left of a dropped body.
pub(super) enum Rest<B> {
    Nothing,
    Unread(B),
    /// The rest can't be read: the client disconnected, or the body isn't valid HTTP.
    Broken,
}

pub(super) struct TrackedBody<B: Body, F: FnMut(Rest<B>)> {
    rest: Rest<B>,
    on_drop: F,
}

impl<B: Body, F: FnMut(Rest<B>)> TrackedBody<B, F> {
    pub(super) fn new(body: B, on_drop: F) -> Self {
        Self { rest: Rest::Unread(body), on_drop }
    }
}

impl<B: Body, F: FnMut(Rest<B>)> Drop for TrackedBody<B, F> {
    fn drop(&mut self) {
        let rest = match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Unread(body) if body.is_end_stream() => Rest::Nothing,
            rest => rest,
        };
        (self.on_drop)(rest);
    }
}

impl<B: Body + Unpin, F: FnMut(Rest<B>) + Unpin> Body for TrackedBody<B, F> {
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
