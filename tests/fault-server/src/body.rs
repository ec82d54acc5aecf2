//! Streams the bytes of a response, and interrupts them for faults.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use tokio::time::sleep;

use crate::bundle::Content;

const MAX_WRITE_BYTES: usize = 64 * 1024;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Interruption {
    Drop,
    Stall(Duration),
    Corrupt,
}

struct State {
    content: Content,
    range: Range<u64>,
    /// The interruptions, in descending order of their byte.
    interruptions: Vec<(u64, Interruption)>,
    rate: Option<u64>,
    sent: Arc<AtomicU64>,
}

pub(crate) fn stream(
    content: Content,
    range: Range<u64>,
    mut interruptions: Vec<(u64, Interruption)>,
    rate: Option<u64>,
    sent: Arc<AtomicU64>,
) -> impl Stream<Item = io::Result<Bytes>> + Send + Sync + 'static {
    interruptions.retain(|(byte, _)| range.contains(byte));
    interruptions.sort_by_key(|(byte, _)| std::cmp::Reverse(*byte));
    let state = State {
        content,
        range,
        interruptions,
        rate,
        sent,
    };
    futures::stream::unfold(Some(state), |state| async move {
        let mut state = state?;
        match state.next().await {
            Ok(part) if part.is_empty() => None,
            Ok(part) => Some((Ok(part), Some(state))),
            Err(error) => Some((Err(error), None)),
        }
    })
}

impl State {
    async fn next(&mut self) -> io::Result<Bytes> {
        let mut corrupt = false;
        while let Some(&(byte, what)) = self.interruptions.last() {
            if byte > self.range.start {
                break;
            }
            self.interruptions.pop();
            match what {
                Interruption::Drop => {
                    // This pause gives the system time to send earlier bytes.
                    sleep(Duration::from_millis(10)).await;
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
                Interruption::Stall(time) => sleep(time).await,
                Interruption::Corrupt => corrupt = true,
            }
        }
        let stop = self
            .interruptions
            .last()
            .map_or(self.range.end, |&(byte, _)| byte);
        let most = usize::try_from(stop - self.range.start).unwrap_or(usize::MAX);
        // Slow connections send small parts often, not large parts after long pauses.
        let slow = self
            .rate
            .map_or(MAX_WRITE_BYTES as u64, |rate| (rate / 50).max(1));
        let part = MAX_WRITE_BYTES.min(usize::try_from(slow).unwrap_or(MAX_WRITE_BYTES));
        let mut part = self.content.read(self.range.start, most.min(part));
        if corrupt {
            let mut bytes = part.to_vec();
            if let Some(first) = bytes.first_mut() {
                *first = !*first;
            }
            part = bytes.into();
        }
        let length = part.len() as u64;
        self.range.start += length;
        if let Some(rate) = self.rate {
            let nanos = length.saturating_mul(1_000_000_000) / rate.max(1);
            sleep(Duration::from_nanos(nanos)).await;
        }
        self.sent.fetch_add(length, Ordering::Relaxed);
        Ok(part)
    }
}
