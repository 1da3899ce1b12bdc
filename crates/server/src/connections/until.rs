//! A body that tells when it is let go of: then it is the other side's turn.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Frame, SizeHint};

/// A body, and what happens once nobody holds it any more; that is told whether it was read to its end.
pub(super) struct Until<B: Body, F: FnMut(bool)> {
    body: B,
    ended: bool,
    then: F,
}

impl<B: Body, F: FnMut(bool)> Until<B, F> {
    pub(super) fn new(body: B, then: F) -> Self {
        Self { body, ended: false, then }
    }
}

impl<B: Body, F: FnMut(bool)> Drop for Until<B, F> {
    fn drop(&mut self) {
        (self.then)(self.ended || self.body.is_end_stream());
    }
}

impl<B: Body + Unpin, F: FnMut(bool) + Unpin> Body for Until<B, F> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        self.ended = frame.is_none();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
