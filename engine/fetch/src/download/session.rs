//! A download session: an object on the server, its partial file, and the connections that fill it.
//!
//! One task owns all state. It runs on the thread of the downloading step, so it may write to the disk and compute
//! digests, one piece at a time. Connections are tasks on the runtime's threads. Each connection fetches one range,
//! passes on the bytes, and ends. Pieces of the range that it did not complete become missing again, and the next
//! connection takes them. Failures of several connections at the same time are counted once, and a completed piece
//! resets the count.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, interval, sleep_until};

use super::connection::SessionAddress;
use super::first::Order;
use crate::download::connection::{Chunk, Sink};
use crate::download::connection::{ReadyAnswer, Request, connection};
use crate::download::first::{FirstRequest, SessionEnd, SessionResult, SessionStop};
use crate::download::pace::Pace;
use crate::download::stored::StoredPieces;
use crate::error::FetchError;
use crate::resume::partial;
use crate::resume::partial::State;
use crate::resume::pieces::Pieces;
use crate::trouble::Trouble;
use crate::wire::answer::{AnswerFailure, ENTIRE};
use crate::wire::identity::Identity;
use crate::wire::location::Location;
use crate::wire::retry::{Retry, RetryAction};
use prep_core::units;

/// Interval between two adjustments of the number of connections.
const ADJUSTMENT_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum number of chunks that wait to be written. A chunk has at most a few hundred kilobytes.
const MAX_QUEUED_CHUNKS: usize = 16;

/// A connection that has ended: its task, its range and its result.
struct ConnectionEnd {
    range: Range<u64>,
    round: u64,
    address: u64,
    result: Result<(), AnswerFailure>,
}

pub(crate) struct Session<'a> {
    order: &'a Order,
    address: SessionAddress<'a>,
    object: Identity,
    /// True if the server does not support ranges.
    whole: bool,
    stored: StoredPieces<'a>,
    sink: Sink,
    connections: JoinSet<ConnectionEnd>,
    pace: Pace,
    /// Failures since the last completed piece.
    retry: Retry,
    /// The number of the current round of failures. A failure of a connection with a smaller number has already been
    /// counted.
    round: u64,
    /// No connection starts before this time.
    pause: Option<Instant>,
}

impl<'a> Session<'a> {
    /// Continues the download of an earlier session, or starts a new one. If `ranges` is false, requests the entire
    /// file.
    pub(crate) async fn run(
        order: &'a Order,
        location: &'a mut Option<Location>,
        ranges: bool,
    ) -> Result<SessionEnd, FetchError> {
        match Self::drive(order, location, ranges).await {
            Ok(end) | Err(SessionStop::End(end)) => Ok(end),
            Err(SessionStop::Error(error)) => Err(error),
        }
    }

    async fn drive(
        order: &'a Order,
        location: &'a mut Option<Location>,
        ranges: bool,
    ) -> SessionResult<SessionEnd> {
        let mut request = FirstRequest {
            shared: &order.shared,
            item: &order.item,
            location: &mut *location,
        };
        let mut retry = Retry::default();
        let start = match partial::load(&order.partial, order.wanted())? {
            Some((object, state)) => {
                Start::again(order, &mut request, &mut retry, object, state).await?
            }
            None => Start::from_beginning(order, &mut request, &mut retry, ranges).await?,
        };
        let Start {
            object,
            state,
            whole,
            first,
        } = start;
        let (chunks, receiver) = channel(MAX_QUEUED_CHUNKS);
        let size = state.size;
        let stored = StoredPieces::new(order, object.total, state);
        let missing = stored.pieces.missing_bytes();
        order.require_space(missing)?;
        let requested = stored.pieces.requested_bytes();
        order.progress.set_total_bytes(requested);
        order.progress.add_bytes(requested - missing);
        let options = &order.shared.options;
        let mut session = Session {
            order,
            address: SessionAddress::new(location, first.is_some()),
            object,
            whole,
            stored,
            sink: Sink {
                size,
                chunks,
                received: Arc::new(AtomicU64::new(0)),
            },
            connections: JoinSet::new(),
            pace: Pace::new(options.first_connections, options.connections),
            retry: Retry::default(),
            round: 0,
            pause: None,
        };
        if let Some((range, ready)) = first {
            session.spawn(range, Some(ready));
        }
        let end = session.serve(receiver).await;
        // All connections must have ended before the file is truncated or renamed.
        session.connections.shutdown().await;
        end
    }

    async fn serve(&mut self, mut chunks: Receiver<Chunk>) -> SessionResult<SessionEnd> {
        let mut ticks = interval(ADJUSTMENT_INTERVAL);
        let mut before = 0;
        loop {
            if self.stored.has_ranges() {
                return Ok(SessionEnd::Complete(None, Box::new(self.object.clone())));
            }
            self.connect().await?;
            let pause = self.pause.unwrap_or_else(Instant::now);
            let can_follow = self.stored.can_follow();
            if self.whole && self.connections.is_empty() && !can_follow {
                return Ok(SessionEnd::StartOver(self.lost_bytes()));
            }
            tokio::select! {
                Some(chunk) = chunks.recv() => self.write(&chunk)?,
                Some(ended) = self.connections.join_next() => {
                    // By now, the channel contains all bytes that the connection passed on.
                    while let Ok(chunk) = chunks.try_recv() {
                        self.write(&chunk)?;
                    }
                    match ended {
                        Ok(ended) => self.handle_connection_end(ended)?,
                        Err(error) => {
                            let cause = format!("the task of a connection failed: {error}");
                            return Err(FetchError::Setup { cause }.into());
                        }
                    }
                }
                // This yields before each piece, so that a task that watches for Ctrl-C can run.
                () = yield_now(), if can_follow => if let Some(digests) = self.stored.follow()? {
                    return Ok(SessionEnd::Complete(Some(digests), Box::new(self.object.clone())));
                },
                _ = ticks.tick() => {
                    let received = self.sink.received.load(Ordering::Relaxed);
                    if !self.whole && self.connections.len() >= self.pace.connections() {
                        self.pace.tick(received - before);
                    }
                    before = received;
                }
                () = sleep_until(pause), if self.pause.is_some() => self.pause = None,
            }
        }
    }

    /// Starts connections for missing pieces, up to the current limit of connections.
    async fn connect(&mut self) -> SessionResult<()> {
        if self.whole || self.pause.is_some() {
            return Ok(());
        }
        let options = &self.order.shared.options;
        while self.connections.len() < self.pace.connections() {
            if !self.address.is_usable() {
                return Ok(());
            }
            // Ranges become shorter toward the end of the download, so that all connections end at about the same time.
            let share = self.stored.pieces.missing_bytes() / (2 * self.pace.connections() as u64);
            let Some(range) = self.stored.pieces.take(share.min(options.range)) else {
                return Ok(());
            };
            self.address.prepare(self.order).await?;
            self.spawn(range, None);
        }
        Ok(())
    }

    /// Returns the failure of a download without ranges whose bytes were written but have to be fetched again, because
    /// the disk returns different bytes.
    fn lost_bytes(&self) -> Trouble {
        Trouble::Broken {
            host: self.order.item.owner(),
            offset: 0,
            cause: "the disk returned different bytes than those written".to_owned(),
        }
    }

    fn spawn(&mut self, range: Range<u64>, ready: Option<ReadyAnswer>) {
        let shared = Arc::clone(&self.order.shared);
        let sink = self.sink.clone();
        let object = self.object.clone();
        // Without ranges, no second request may add bytes to the file.
        let location = self.address.location.clone().filter(|_| !self.whole);
        let (round, address) = (self.round, self.address.number);
        let has_served = Arc::clone(&self.address.has_served);
        self.connections.spawn(async move {
            let request = Request {
                object: &object,
                location,
                has_served: &has_served,
            };
            let result = connection(&shared, &sink, request, &range, ready).await;
            ConnectionEnd {
                range,
                round,
                address,
                result,
            }
        });
    }

    fn write(&mut self, chunk: &Chunk) -> Result<(), FetchError> {
        if self.stored.write(chunk)? {
            self.retry.reset();
        }
        Ok(())
    }

    /// Handles the end of a connection.
    fn handle_connection_end(&mut self, ended: ConnectionEnd) -> SessionResult<()> {
        self.stored.pieces.give_back(&ended.range);
        self.address.end_connection(ended.address);
        let trouble = match ended.result {
            Ok(()) => return Ok(()),
            Err(AnswerFailure::Changed) => return Err(SessionStop::End(SessionEnd::Changed)),
            Err(AnswerFailure::Refused(error)) => {
                return Err(error.needing(self.stored.pieces.missing_bytes()).into());
            }
            Err(AnswerFailure::Trouble(trouble)) if self.whole => {
                return Err(SessionStop::End(SessionEnd::StartOver(trouble)));
            }
            Err(AnswerFailure::Trouble(trouble)) => trouble,
        };
        if matches!(trouble, Trouble::Address { .. }) {
            if !self.address.reject(ended.address, self.order) {
                return Ok(());
            }
        } else {
            if ended.round < self.round {
                return Ok(());
            }
            self.round += 1;
            if trouble.is_overload() {
                self.pace.slow_down();
            }
        }
        let kept = || describe_state(self.order, &self.stored.pieces);
        match self.retry.next(&self.order.shared.options, trouble, kept)? {
            RetryAction::After(pause) => self.pause = Some(Instant::now() + pause),
            RetryAction::NewAddress => {}
            RetryAction::WithoutRanges(trouble) => {
                return Err(SessionStop::End(SessionEnd::StartOver(trouble)));
            }
        }
        Ok(())
    }
}

/// The object of a session, and the answer with which it starts.
struct Start {
    object: Identity,
    state: State,
    /// Whether all bytes come from the first answer.
    whole: bool,
    /// The first answer, with the range of its connection. `None` if nothing is missing.
    first: Option<(Range<u64>, ReadyAnswer)>,
}

impl Start {
    /// Continues an earlier session. Requests the first missing range.
    async fn again(
        order: &Order,
        request: &mut FirstRequest<'_>,
        retry: &mut Retry,
        object: Identity,
        mut state: State,
    ) -> SessionResult<Start> {
        let first = match state.pieces.take(order.shared.options.range) {
            Some(range) => {
                let ready = request.answer(range.clone(), Some(&object), retry).await?;
                Some((range, ready))
            }
            None => None,
        };
        check_md5(order, &object)?;
        Ok(Start {
            object,
            state,
            whole: false,
            first,
        })
    }

    /// Starts from the beginning. If `ranges` is false, requests the entire file.
    async fn from_beginning(
        order: &Order,
        request: &mut FirstRequest<'_>,
        retry: &mut Retry,
        ranges: bool,
    ) -> SessionResult<Start> {
        let range = match ranges {
            true => first_range(order, order.shared.options.range),
            false => ENTIRE,
        };
        let ready = request.answer(range, None, retry).await?;
        let answer = &ready.0;
        let object = answer.object.clone();
        let covers_all = answer.range == (0..object.total);
        let whole = !ranges || answer.is_complete || covers_all && !object.can_be_verified();
        if !whole && !object.can_be_verified() {
            let host = answer.host.clone();
            return Err(match order.ranges {
                Some(_) => FetchError::NoValidator { host }.into(),
                None => SessionStop::End(SessionEnd::NoValidator),
            });
        }
        check_md5(order, &object)?;
        order.require_space(order.needed(&object))?;
        order.require_map(&object)?;
        let piece = order.shared.options.piece;
        let mut state = partial::begin(&order.partial, order.wanted(), &object, piece)?;
        let length = answer.range.end - answer.range.start;
        let taken = state.pieces.take(length.next_multiple_of(state.size));
        Ok(Start {
            object,
            state,
            whole,
            first: taken.map(|taken| (taken, ready)),
        })
    }
}

/// Describes how much of a failed download was kept.
fn describe_state(order: &Order, pieces: &Pieces) -> String {
    let requested = pieces.requested_bytes();
    let existing = requested - pieces.missing_bytes();
    format!(
        "{} of {} are kept in {}; run again to continue",
        units::bytes(existing),
        units::bytes(requested),
        order.partial.path.display()
    )
}

/// Returns the range of the first request, before the object's length is known.
fn first_range(order: &Order, limit: u64) -> Range<u64> {
    let size = order.shared.options.piece.max(1);
    match order.ranges.as_ref().and_then(|ranges| ranges.first()) {
        Some(first) => {
            let start = first.start / size * size;
            let end = first.end.div_ceil(size).saturating_mul(size);
            start..end.min(start.saturating_add(limit))
        }
        None => 0..limit,
    }
}

/// Compares the MD5 that the server sent with the published one before more bytes are downloaded.
fn check_md5(order: &Order, object: &Identity) -> Result<(), FetchError> {
    match (&order.md5, &object.md5) {
        (Some(expected), Some(found)) if !expected.eq_ignore_ascii_case(found) => {
            Err(FetchError::OtherMd5 {
                item: order.item.to_string(),
                owner: order.item.owner(),
                found: found.clone(),
                expected: expected.clone(),
            })
        }
        _ => Ok(()),
    }
}
