//! A connection that must get on: what is written to it has to be taken within a time.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// A stream whose writes fail when nothing was taken for so long. One that has nothing to write may be silent.
pub(super) struct Progress<S> {
    stream: S,
    patience: Duration,
    /// Set while the other side takes nothing.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<S> Progress<S> {
    pub(super) fn new(stream: S, patience: Duration) -> Progress<S> {
        Progress { stream, patience, alarm: None }
    }

    /// What came of a write. One that waits for too long has failed.
    fn in_time<T>(&mut self, wrote: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.alarm = None;
            return wrote;
        }
        let patience = self.patience;
        ready!(self.alarm.get_or_insert_with(|| Box::pin(sleep(patience))).as_mut().poll(cx));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side takes nothing any more")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Progress<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Progress<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.in_time(wrote, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.in_time(wrote, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(20);

    #[tokio::test]
    async fn a_write_that_nobody_takes_fails() {
        let (ours, _theirs) = duplex(8);
        let failed = Progress::new(ours, PATIENCE).write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn one_that_is_taken_little_by_little_goes_on() {
        let (ours, mut theirs) = duplex(8);
        let mut ours = Progress::new(ours, PATIENCE);
        let writing = tokio::spawn(async move { ours.write_all(&[7; 64]).await });
        let mut taken = [0; 8];
        for _ in 0..8 {
            tokio::time::sleep(PATIENCE / 4).await;
            theirs.read_exact(&mut taken).await.unwrap();
            assert_eq!(taken, [7; 8]);
        }
        writing.await.unwrap().unwrap();
    }
}
