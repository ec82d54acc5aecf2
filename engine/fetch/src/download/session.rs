//! A download session: an object on the server, its partial file, and the connections that fill it.
//!
//! One task owns all state, writes to the disk, and computes digests. It runs on the thread that requested the download.
//!
//! Connections are tasks on the runtime's threads. Each connection fetches one range, passes the bytes to the task that
//! owns the state, and ends. Pieces that the connection did not complete become missing again.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prep_core::units;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, interval, sleep_until};

use crate::download::connection::{
    Chunk, CompletePiece, ReadyAnswer, Request, SessionAddress, Sink, connection,
};
use crate::download::{FirstRequest, Order};
use crate::error::{FetchError, Stop, Trouble};
use crate::resume::partial;
use crate::resume::partial::{DigestProgress, Digester, Digests, State};
use crate::resume::pieces::{Map, Pieces};
use crate::wire::answer::ENTIRE;
use crate::wire::identity::Identity;
use crate::wire::location::Location;
use crate::wire::retry::{Retry, RetryAction};

const ADJUSTMENT_INTERVAL: Duration = Duration::from_millis(500);

/// Limits the memory of a session to a few megabytes, because a chunk has at most a few hundred kilobytes.
const MAX_QUEUED_CHUNKS: usize = 16;

/// The end of a connection. `round` and `address` (the number of an address) are the session's values at the
/// connection's start.
struct ConnectionEnd {
    range: Range<u64>,
    round: u64,
    address: u64,
    result: Result<(), Stop>,
}

pub(crate) struct Session<'a> {
    order: &'a Order,
    address: SessionAddress<'a>,
    object: Identity,
    /// Whether all bytes must come from the first response.
    whole: bool,
    stored: StoredPieces<'a>,
    sink: Sink,
    connections: JoinSet<ConnectionEnd>,
    pace: Pace,
    retry: Retry,
    /// Number of counted failures. Each connection stores this number when it starts, as its *round*. A rejected address
    /// is not counted here.
    ///
    /// If many connections fail at once, for example because the server is overloaded, only the first failure is counted.
    /// After it, the rounds of the other connections are below this number, so their failures are ignored.
    round: u64,
    /// The time before which no connection is started.
    pause: Option<Instant>,
}

impl<'a> Session<'a> {
    /// Continues the download of an earlier session, or starts a new one. If `ranges` is false, requests the entire file
    /// without ranges. Returns the identity of the downloaded object. If the order is for an entire file, also returns the
    /// digests of the file.
    pub(crate) async fn run(
        order: &'a Order,
        location: &'a mut Option<Location>,
        ranges: bool,
    ) -> Result<(Option<Digests>, Identity), Stop> {
        let mut request = FirstRequest {
            shared: &order.shared,
            item: &order.item,
            location: &mut *location,
        };
        let mut retry = Retry::default();
        let start = match partial::load(&order.partial, order.wanted())? {
            Some((object, state)) => {
                Start::resume(order, &mut request, &mut retry, object, state).await?
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
        Ok((end?, session.object))
    }

    /// Runs the session until all requested bytes are on disk. Returns the digests if the order is for an entire file.
    async fn serve(&mut self, mut chunks: Receiver<Chunk>) -> Result<Option<Digests>, Stop> {
        let mut ticks = interval(ADJUSTMENT_INTERVAL);
        let mut before = 0;
        loop {
            if self.stored.has_ranges() {
                return Ok(None);
            }
            self.connect().await?;
            let pause = self.pause.unwrap_or_else(Instant::now);
            let can_digest = self.stored.can_digest();
            if self.whole && self.connections.is_empty() && !can_digest {
                return Err(self.lost_bytes().into());
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
                            let cause = format!("the task that serves a connection failed: {error}");
                            return Err(FetchError::Setup { cause }.into());
                        }
                    }
                }
                // Yields before each piece, so that a task that watches for Ctrl-C can run.
                () = yield_now(), if can_digest => {
                    if let Some(digests) = self.stored.digest_next_piece()? {
                        return Ok(Some(digests));
                    }
                }
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

    /// Starts connections until there are as many as `pace` allows. Starts none while the session pauses or another
    /// connection tries the address.
    async fn connect(&mut self) -> Result<(), Stop> {
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

    /// Returns the failure of a download without ranges whose bytes on disk differ from the written bytes. Without
    /// ranges, single pieces cannot be fetched again, so the entire download fails.
    fn lost_bytes(&self) -> Trouble {
        Trouble::Broken {
            host: self.order.item.owner().into(),
            offset: 0,
            cause: "the disk returned different bytes than those written".to_owned(),
        }
    }

    /// Starts a connection that receives `range`. If the request was already sent, `ready` is its response.
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

    fn handle_connection_end(&mut self, ended: ConnectionEnd) -> Result<(), Stop> {
        self.stored.pieces.give_back(&ended.range);
        self.address.end_connection(ended.address);
        let trouble = match ended.result {
            Ok(()) => return Ok(()),
            Err(Stop::Trouble(trouble, _)) if !self.whole => trouble,
            Err(Stop::Fatal(error)) => {
                return Err(error.needing(self.stored.pieces.missing_bytes()).into());
            }
            Err(stop) => return Err(stop),
        };
        if matches!(trouble, Trouble::Address { .. }) {
            if !self.address.reject(ended.address, self.order) {
                return Ok(());
            }
        } else {
            // Another connection of the same round already failed and was counted.
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
            RetryAction::WithoutRanges(trouble) => return Err(trouble.into()),
        }
        Ok(())
    }
}

struct Start {
    object: Identity,
    state: State,
    /// Whether all bytes must come from the first response.
    whole: bool,
    /// The range and the response of the first request. `None` if all bytes of the object are on disk.
    first: Option<(Range<u64>, ReadyAnswer)>,
}

impl Start {
    /// Continues an earlier session. Requests the first missing range.
    async fn resume(
        order: &Order,
        request: &mut FirstRequest<'_>,
        retry: &mut Retry,
        object: Identity,
        mut state: State,
    ) -> Result<Start, Stop> {
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

    /// Starts a download without an earlier session.
    async fn from_beginning(
        order: &Order,
        request: &mut FirstRequest<'_>,
        retry: &mut Retry,
        ranges: bool,
    ) -> Result<Start, Stop> {
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
                None => Stop::NoValidator,
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

/// Returns the help for a download that gave up: the number of bytes on disk.
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

/// Compares the MD5 that the server sent with the published MD5, so that a wrong file is not downloaded completely.
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

/// Number of pieces that may be fetched again because the disk returned different bytes than were written.
const MAX_REREADS: u32 = 3;

/// The pieces of the partial file, their map, and the digests of the file.
pub(crate) struct StoredPieces<'a> {
    order: &'a Order,
    pub(crate) pieces: Pieces,
    map: Map,
    /// `None` if the order requests only ranges of the file.
    digester: Option<Digester>,
    /// Number of pieces that were fetched again.
    rereads: u32,
}

impl<'a> StoredPieces<'a> {
    pub(crate) fn new(order: &'a Order, total: u64, state: State) -> StoredPieces<'a> {
        let digester = order.ranges.is_none().then(|| {
            let file = Arc::clone(&order.partial.file);
            Digester::new(file, total, state.size, &state.records)
        });
        StoredPieces {
            order,
            pieces: state.pieces,
            map: state.map,
            digester,
            rereads: 0,
        }
    }

    /// Returns whether all ranges of the order are on disk. Always `false` for an order of an entire file.
    pub(crate) fn has_ranges(&self) -> bool {
        self.digester.is_none() && self.pieces.is_complete()
    }

    /// Returns whether the piece that the digests need next is on disk.
    pub(crate) fn can_digest(&self) -> bool {
        self.digester.as_ref().is_some_and(Digester::is_ready)
    }

    /// Writes a chunk to the partial file. Returns whether it completed a piece.
    pub(crate) fn write(&mut self, chunk: &Chunk) -> Result<bool, FetchError> {
        let written = self.order.partial.write(&chunk.bytes, chunk.offset);
        written.map_err(|error| error.needing(self.pieces.missing_bytes()))?;
        if let Some(piece) = chunk.completes {
            self.record(piece)?;
        }
        Ok(chunk.completes.is_some())
    }

    /// Records that a piece is on disk.
    fn record(&mut self, written: CompletePiece) -> Result<(), FetchError> {
        let CompletePiece { piece, crc } = written;
        let error = |cause| FetchError::io("write", &self.order.partial.map, cause);
        let number =
            u32::try_from(piece).map_err(|_| error(std::io::ErrorKind::FileTooLarge.into()))?;
        self.map.append(number, crc).map_err(error)?;
        self.pieces.set_done(piece);
        if let Some(digester) = &mut self.digester {
            digester.add_piece(piece, crc);
        }
        let bytes = self.pieces.range(piece);
        self.order.progress.add_bytes(bytes.end - bytes.start);
        Ok(())
    }

    /// Adds the next piece to the digests. Returns the digests after the last piece. A piece whose bytes on disk do not
    /// match its CRC is fetched again.
    pub(crate) fn digest_next_piece(&mut self) -> Result<Option<Digests>, FetchError> {
        let Some(digester) = &mut self.digester else {
            return Ok(None);
        };
        let failed = |cause| FetchError::io("read", &self.order.partial.path, cause);
        match digester.process_next_piece().map_err(failed)? {
            Some(DigestProgress::Digests(digests)) => Ok(Some(digests)),
            Some(DigestProgress::Bad(piece)) => self.reread(piece).map(|()| None),
            None => Ok(None),
        }
    }

    /// Marks a piece as missing, because the disk returned different bytes than were written. Fails if there were more
    /// than [`MAX_REREADS`] such pieces and no other piece is missing.
    fn reread(&mut self, piece: usize) -> Result<(), FetchError> {
        let range = self.pieces.range(piece);
        self.rereads += 1;
        if self.rereads > MAX_REREADS && self.pieces.missing_bytes() == 0 {
            let path = self.order.partial.path.clone();
            let offset = range.start;
            return Err(FetchError::Disk { path, offset });
        }
        self.pieces.set_missing(piece);
        let bytes = range.end - range.start;
        self.order
            .progress
            .bytes
            .fetch_sub(bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// If more connections do not multiply the throughput by at least this factor, their number is reduced again.
const MIN_THROUGHPUT_RATIO: f64 = 1.05;

/// After the number of connections was reduced, it stays unchanged for this number of ticks.
const HOLD_TICKS: u32 = 20;

/// Controls the number of connections: increases it while the throughput rises.
#[derive(Debug)]
pub(crate) struct Pace {
    connections: usize,
    max_connections: usize,
    /// Number of connections and throughput before the last increase.
    before: Option<(usize, f64)>,
    /// Number of ticks during which the number of connections does not change.
    hold: u32,
}

impl Pace {
    pub(crate) fn new(first: usize, max_connections: usize) -> Pace {
        let max_connections = max_connections.max(1);
        Pace {
            connections: first.clamp(1, max_connections),
            max_connections,
            before: None,
            hold: 0,
        }
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections
    }

    /// Adjusts the number of connections after a tick in which all connections were busy and `bytes` bytes arrived.
    pub(crate) fn tick(&mut self, bytes: u64) {
        #[allow(clippy::cast_precision_loss, reason = "a throughput, not a count")]
        let rate = bytes as f64;
        if self.hold > 0 {
            self.hold -= 1;
            return;
        }
        match self.before.take() {
            Some((connections, earlier)) if rate < earlier * MIN_THROUGHPUT_RATIO => {
                self.connections = connections;
                self.hold = HOLD_TICKS;
            }
            _ if self.connections < self.max_connections => {
                self.before = Some((self.connections, rate));
                let more = (self.connections / 2).max(1);
                self.connections = (self.connections + more).min(self.max_connections);
            }
            _ => {}
        }
    }

    /// Halves the number of connections, because the server is overloaded or limits connections.
    pub(crate) fn slow_down(&mut self) {
        self.connections = (self.connections / 2).max(1);
        self.before = None;
        self.hold = HOLD_TICKS;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of connections after 15 ticks. It begins with 4 and is at most 32. `rate` converts a number
    /// of connections to the number of bytes that arrive in a tick.
    fn final_connections(rate: impl Fn(usize) -> u64) -> usize {
        let mut pace = Pace::new(4, 32);
        for _ in 0..15 {
            pace.tick(rate(pace.connections()));
        }
        pace.connections()
    }

    #[test]
    fn connections_increase_only_while_the_throughput_rises() {
        // The server throttles each connection.
        assert_eq!(
            final_connections(|connections| connections as u64 * 1000),
            32
        );
        // The first four connections already saturate the line.
        assert_eq!(final_connections(|_| 1000), 4);
        // Ten connections saturate the line. The attempts are 4, 6, 9, 13 and 19, and 19 are not faster than 13.
        assert_eq!(
            final_connections(|connections| connections.min(10) as u64 * 1000),
            13
        );
    }

    #[test]
    fn an_overloaded_server_gets_fewer_connections() {
        let mut pace = Pace::new(8, 32);
        for expected in [4, 2, 1, 1] {
            pace.slow_down();
            assert_eq!(pace.connections(), expected);
        }
        pace.tick(1_000_000);
        assert_eq!(pace.connections(), 1);
    }
}
