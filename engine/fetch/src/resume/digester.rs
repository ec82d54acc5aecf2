//! The thread that computes the digests, as the session sees it.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::error::FetchError;
use crate::resume::hashing::{Digests, Written, follow};
use crate::resume::partial::Partial;

/// What the thread tells.
#[derive(Debug)]
pub(crate) enum News {
    /// The whole is there.
    Digests(Digests),
    /// A piece does not hold what it should; the thread waits for it.
    Bad(usize),
    /// The file cannot be read.
    Failed(io::Error),
}

/// Stops its thread when it is dropped.
#[derive(Debug)]
pub(crate) struct Digester {
    written: Arc<Written>,
    news: UnboundedReceiver<News>,
    thread: Option<JoinHandle<()>>,
}

impl Digester {
    /// Follows a partial file in which the pieces of `records` are there already.
    pub(crate) fn start(
        partial: &Partial,
        total: u64,
        size: u64,
        records: &[(u32, u32)],
    ) -> Result<Digester, FetchError> {
        let pieces = usize::try_from(total.div_ceil(size)).unwrap_or(usize::MAX);
        let written = Written::new(pieces);
        for (piece, crc) in records {
            written.set(usize::try_from(*piece).unwrap_or(usize::MAX), *crc);
        }
        let (sender, news) = unbounded_channel();
        let (file, known) = (Arc::clone(&partial.file), Arc::clone(&written));
        let thread = std::thread::Builder::new()
            .name("fetch-digest".into())
            .spawn(move || {
                let bad = |piece| drop(sender.send(News::Bad(piece)));
                let last = match follow(&file, total, size, &known, &bad) {
                    Ok(Some(digests)) => News::Digests(digests),
                    Ok(None) => return,
                    Err(error) => News::Failed(error),
                };
                // Nobody listens once the session is over.
                let _ = sender.send(last);
            })
            .map_err(|error| FetchError::Setup {
                cause: error.to_string(),
            })?;
        Ok(Digester {
            written,
            news,
            thread: Some(thread),
        })
    }

    /// A piece was written.
    pub(crate) fn written(&self, piece: usize, crc: u32) {
        self.written.set(piece, crc);
    }

    /// What the thread tells next.
    pub(crate) async fn news(&mut self) -> News {
        match self.news.recv().await {
            Some(news) => news,
            None => News::Failed(io::Error::other("the thread of the digests died")),
        }
    }
}

impl Drop for Digester {
    fn drop(&mut self) {
        self.written.stop();
        if let Some(thread) = self.thread.take() {
            // It looks at the flag after each piece.
            let _ = thread.join();
        }
    }
}
