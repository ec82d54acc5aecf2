//! Reads bundles in the mirror without downloading them completely.
//!
//! A reader of many members first announces the ranges that it will read ([`Ranges::expect`]). Announced ranges that are
//! close to each other are fetched together, in requests of up to 8 MiB. Several requests are sent ahead of the reader.
//!
//! A range that the reader did not announce is fetched when it is read. The requests for such ranges become longer
//! while the reader reads sequentially.
//!
//! The bytes of each request are verified against the bundle's digest before they are returned.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::{try_join, try_join_all};
use parking_lot::{Condvar, Mutex};
use prep_cache::{Digest, StoreError};
use prep_core::Ranges;
use tokio::sync::OnceCell;

use crate::error::RemoteError;
use crate::hashes;
use crate::hashes::{BLOCK_BYTES, BlockHashes, REGION_BYTES, RegionHashes};
use crate::layout::{self, REQUEST_BYTES, combine};
use crate::link::{Inner, Link};

const MAX_REQUESTS_AHEAD: usize = 32;
const MAX_BYTES_AHEAD: u64 = 64 << 20;
/// Responses are kept until their number or total bytes reach these limits, because other threads may still read from
/// them at different offsets.
const MAX_KEPT_REQUESTS: usize = 64;
const MAX_KEPT_BYTES: u64 = 128 << 20;
/// The hashes of at most this number of regions are kept.
const MAX_KEPT_REGIONS: usize = 64;
/// Size of the first request, in bytes, if a reader reads a range that it did not announce.
const FIRST_REQUEST_BYTES: u64 = 64 << 10;

/// A bundle in the mirror. Nothing is requested before the first read.
pub struct MirroredBundle {
    shared: Arc<BundleReader>,
}

struct BundleReader {
    link: Arc<Inner>,
    digest: Digest,
    bytes: u64,
    regions: OnceCell<RegionHashes>,
    blocks: Mutex<BTreeMap<u64, Arc<OnceCell<BlockHashes>>>>,
    state: Mutex<ReaderState>,
    arrived: Condvar,
}

#[derive(Default)]
struct ReaderState {
    /// Ranges that will be requested because they contain announced bytes. The ranges do not overlap. The key is the end of
    /// a range, and the value contains the range and the number of announced bytes in it.
    expected: BTreeMap<u64, (Range<u64>, u64)>,
    requests: VecDeque<Request>,
    /// End of the furthest announced range that was requested so far.
    front: u64,
    /// Number of reads so far. [`Request::used`] uses it as a clock.
    reads: u64,
    /// Range of the last request for bytes that the reader did not announce.
    last: Range<u64>,
    /// Whether a request has failed. Afterwards all reads fail.
    broken: bool,
}

struct Request {
    range: Range<u64>,
    /// `None` until the response has arrived.
    bytes: Option<Bytes>,
    /// Sequence number of the read that last used the request. 0 if no read used it.
    used: u64,
    /// Number of announced bytes in this request that no read has used yet.
    left: u64,
}

impl ReaderState {
    /// Drops the least recently used requests until the number of requests and their bytes are below the limits.
    ///
    /// A request with announced bytes that were not read yet is kept, unless the number of requests or their bytes reach
    /// twice the limit.
    fn make_room(&mut self) {
        loop {
            let lengths = self.requests.iter();
            let bytes: u64 = lengths.map(|one| one.range.end - one.range.start).sum();
            let count = self.requests.len();
            if count < MAX_KEPT_REQUESTS && bytes < MAX_KEPT_BYTES {
                return;
            }
            let arrived = self.requests.iter().enumerate();
            let arrived = arrived.filter(|(_, one)| one.bytes.is_some());
            let too_many = count >= 2 * MAX_KEPT_REQUESTS || bytes >= 2 * MAX_KEPT_BYTES;
            let may_go = arrived.filter(|(_, one)| one.used > 0 && one.left == 0 || too_many);
            let oldest = may_go
                .min_by_key(|(_, one)| one.used)
                .map(|(place, _)| place);
            match oldest {
                Some(place) => drop(self.requests.remove(place)),
                None => return,
            }
        }
    }
}

impl Link {
    /// Returns the bundle in the mirror with this digest and length.
    pub fn bundle(&self, digest: Digest, bytes: u64) -> Arc<MirroredBundle> {
        let shared = BundleReader {
            link: self.inner().clone(),
            digest,
            bytes,
            regions: OnceCell::new(),
            blocks: Mutex::default(),
            state: Mutex::default(),
            arrived: Condvar::new(),
        };
        Arc::new(MirroredBundle {
            shared: Arc::new(shared),
        })
    }
}

enum ReadError {
    Absent,
    Damaged,
    Failed(RemoteError),
}

impl From<RemoteError> for ReadError {
    fn from(error: RemoteError) -> ReadError {
        ReadError::Failed(error)
    }
}

impl BundleReader {
    fn read_failure(&self) -> io::Error {
        let digest = self.digest;
        io::Error::other(StoreError::Missing { digest })
    }

    fn report(&self, error: &ReadError) {
        match error {
            ReadError::Absent => self.link.record_absent(self.digest),
            ReadError::Failed(error) => self.link.report_error(error, false),
            ReadError::Damaged => self.link.mark_damaged("bundle", self.digest),
        }
    }

    /// Extends a range to the boundaries of blocks.
    fn aligned(&self, range: Range<u64>) -> Range<u64> {
        let start = range.start / BLOCK_BYTES * BLOCK_BYTES;
        start..range.end.next_multiple_of(BLOCK_BYTES).min(self.bytes)
    }

    async fn list(&self, place: Range<u64>) -> Result<Bytes, ReadError> {
        let name = layout::hashes(&self.digest);
        let list = self.link.remote.part(&name, place).await?;
        list.ok_or(ReadError::Absent)
    }

    async fn regions(&self) -> Result<&RegionHashes, ReadError> {
        let open = async || {
            // While the remote is skipped, no further bundle is opened. Bundles that are already open are still read.
            if !self.link.accepts_reads() {
                return Err(ReadError::Absent);
            }
            let list = match hashes::regions(self.bytes) {
                0 | 1 => Bytes::new(),
                _ => self.list(hashes::region_hash_range(self.bytes)).await?,
            };
            RegionHashes::open(self.digest, self.bytes, &list).ok_or(ReadError::Damaged)
        };
        self.regions.get_or_try_init(open).await
    }

    async fn blocks(&self, region: u64) -> Result<Arc<OnceCell<BlockHashes>>, ReadError> {
        let cell = {
            let mut kept = self.blocks.lock();
            let cell = kept.entry(region).or_default().clone();
            // Drop the hashes of the first region, because a reader usually proceeds from the beginning to the end. If the
            // new region is the first one, drop the hashes of the last region.
            if kept.len() > MAX_KEPT_REGIONS {
                match kept
                    .first_key_value()
                    .is_some_and(|(first, _)| *first < region)
                {
                    true => kept.pop_first(),
                    false => kept.pop_last(),
                };
            }
            cell
        };
        let open = async || {
            let place = hashes::block_hash_range(self.bytes, region);
            let (regions, list) = try_join(self.regions(), self.list(place)).await?;
            regions.blocks(region, &list).ok_or(ReadError::Damaged)
        };
        cell.get_or_try_init(open).await?;
        Ok(cell)
    }

    /// Fetches and verifies a range, which must start and end at the boundaries of blocks.
    async fn fetch(&self, range: Range<u64>) -> Result<Bytes, ReadError> {
        let bytes = async {
            let name = layout::bundle(&self.digest);
            let got = self.link.remote.part(&name, range.clone()).await?;
            got.ok_or(ReadError::Absent)
        };
        let regions = range.start / REGION_BYTES..range.end.div_ceil(REGION_BYTES);
        let hashes = try_join_all(regions.map(|region| self.blocks(region)));
        let (bytes, hashes) = try_join(bytes, hashes).await?;
        if bytes.len() as u64 != range.end - range.start {
            return Err(ReadError::Damaged);
        }
        let mut at = range.start;
        for own in &hashes {
            let end = range.end.min((at / REGION_BYTES + 1) * REGION_BYTES);
            let places = [at, end].map(|place| usize::try_from(place - range.start));
            let [Ok(from), Ok(to)] = places else {
                return Err(ReadError::Damaged);
            };
            let piece = bytes.get(from..to).ok_or(ReadError::Damaged)?;
            if !own.get().is_some_and(|own| own.verifies(at, piece)) {
                return Err(ReadError::Damaged);
            }
            at = end;
        }
        Ok(bytes)
    }

    /// Requests a range, unless it was already requested.
    fn request(self: &Arc<Self>, state: &mut ReaderState, range: Range<u64>) {
        if state.requests.iter().any(|one| one.range == range) {
            return;
        }
        state.make_room();
        let announced = state.expected.get(&range.end);
        let announced = announced.filter(|(expected, _)| *expected == range);
        state.requests.push_back(Request {
            range: range.clone(),
            bytes: None,
            used: 0,
            left: announced.map_or(0, |(_, bytes)| *bytes),
        });
        let shared = self.clone();
        self.link.spawn(async move {
            let bytes = match shared.fetch(range.clone()).await {
                Ok(bytes) => Some(bytes),
                Err(error) => {
                    shared.report(&error);
                    None
                }
            };
            let mut state = shared.state.lock();
            state.broken |= bytes.is_none();
            for one in &mut state.requests {
                if one.range == range {
                    one.bytes.clone_from(&bytes);
                }
            }
            drop(state);
            shared.arrived.notify_all();
        });
    }

    fn request_range(&self, state: &mut ReaderState, offset: u64, length: u64) -> Range<u64> {
        let announced = state.expected.range(offset + 1..).next();
        if let Some((_, (range, _))) = announced.filter(|(_, (range, _))| range.contains(&offset)) {
            return range.clone();
        }
        let request = state
            .requests
            .iter()
            .find(|one| one.range.contains(&offset));
        if let Some(request) = request {
            return request.range.clone();
        }
        let length = match state.last.end == offset {
            true => {
                (2 * (state.last.end - state.last.start)).clamp(FIRST_REQUEST_BYTES, REQUEST_BYTES)
            }
            false => length.clamp(FIRST_REQUEST_BYTES, REQUEST_BYTES),
        };
        let range = self.aligned(offset..(offset + length).min(self.bytes));
        state.last = range.clone();
        range
    }

    fn read(self: &Arc<Self>, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.bytes || buffer.is_empty() {
            return Ok(0);
        }
        let mut state = self.state.lock();
        let requested = self.request_range(&mut state, offset, buffer.len() as u64);
        loop {
            if state.broken {
                return Err(self.read_failure());
            }
            // Requests of other threads may have dropped this request.
            self.request(&mut state, requested.clone());
            state.reads += 1;
            let now = state.reads;
            let request = state.requests.iter_mut().find(|one| one.range == requested);
            // Mark a request as used only after its bytes have arrived. Otherwise another thread could drop it before this
            // thread wakes up.
            let bytes = request.and_then(|one| {
                let bytes = one.bytes.clone()?;
                one.used = now;
                Some(bytes)
            });
            if let Some(bytes) = bytes {
                self.read_ahead(&mut state, &requested);
                let start = usize::try_from(offset - requested.start).unwrap_or(usize::MAX);
                let rest = bytes.get(start..).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                let request = state.requests.iter_mut().find(|one| one.range == requested);
                if let Some(request) = request {
                    request.left = request.left.saturating_sub(count as u64);
                }
                if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
                    to.copy_from_slice(from);
                }
                return Ok(count);
            }
            self.read_ahead(&mut state, &requested);
            self.arrived.wait(&mut state);
        }
    }

    fn read_ahead(self: &Arc<Self>, state: &mut ReaderState, from: &Range<u64>) {
        let mut bytes = 0;
        let next = state
            .expected
            .range(from.end + 1..)
            .take(MAX_REQUESTS_AHEAD);
        let next = next.map(|(_, (range, _))| range).take_while(|range| {
            bytes += range.end - range.start;
            bytes <= MAX_BYTES_AHEAD
        });
        // Ranges before `front` were already requested. A slow reader must not request them again.
        let next = next.filter(|range| range.end > state.front);
        let next: Vec<Range<u64>> = next.cloned().collect();
        state.front = state.front.max(from.end);
        for range in next {
            state.front = state.front.max(range.end);
            self.request(state, range);
        }
    }
}

impl Ranges for MirroredBundle {
    fn bytes(&self) -> u64 {
        self.shared.bytes
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.shared.read(buffer, offset)
    }

    fn expect(&self, ranges: Vec<Range<u64>>) {
        let aligned = ranges.iter().cloned();
        let aligned = aligned.map(|range| self.shared.aligned(range));
        let expected = combine(aligned.collect());
        let mut expected: BTreeMap<u64, (Range<u64>, u64)> = expected
            .into_iter()
            .map(|range| (range.end, (range, 0)))
            .collect();
        for range in ranges {
            let over = expected.range_mut(range.start + 1..);
            for (request, bytes) in over.map(|(_, (request, bytes))| (&*request, bytes)) {
                let common = request.start.max(range.start)..request.end.min(range.end);
                if common.is_empty() {
                    break;
                }
                *bytes += common.end - common.start;
            }
        }
        let mut state = self.shared.state.lock();
        state.front = 0;
        state.expected = expected;
    }
}
