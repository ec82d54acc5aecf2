//! Bundles in the mirror: sent with a tree of hashes, and read where they lie.
//!
//! A bundle's name is its BLAKE3 hash, which is the root of a tree over its stretches. With the tree beside it
//! (`.obao`, as bao has it: the length, then pairs of hashes in pre-order), each stretch can be held against the name
//! without the rest. Stretches are 16 KiB, or longer in bundles so long that the tree would be unwieldy.
//!
//! Whoever is going to read many members says so ([`Ranges::expect`]). Neighbours then move together, in requests of
//! up to 8 MiB, several ahead of the reader; what nobody reads between them does not move, but for small gaps. What was
//! not announced is read as it is asked for, further ahead the longer a reader goes on.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, BufReader};
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex};

use bao_tree::io::outboard::{PreOrderMemOutboard, PreOrderOutboard};
use bao_tree::io::round_up_to_chunks;
use bao_tree::io::sync::{CreateOutboard, encode_ranges_validated};
use bao_tree::{BaoTree, BlockSize, ByteRanges};
use bytes::Bytes;
use prep_cache::{Content, Digest, StoreError};
use prep_core::Ranges;

use crate::error::RemoteError;
use crate::link::{Inner, Link, held};

/// Chunks of BLAKE3 have 1024 bytes; stretches two to the power of this many of them.
const USUAL_STRETCH: u8 = 4;
/// The tree of a bundle takes no more than this.
const LONGEST_TREE: u64 = 32 << 20;
/// Bytes of one request at most.
const REQUEST: u64 = 8 << 20;
/// Requests ahead of the reader.
const AHEAD: usize = 8;
/// Requests whose bytes are kept: threads read side by side, each in its own place.
const KEPT: usize = 16;
/// A gap that is read along with its neighbours.
const GAP: u64 = 128 << 10;
/// Gaps are read along as long as they are at most one such part of what is wanted.
const WASTE: u64 = 32;
/// Bytes of the first request of what was not announced.
const FIRST: u64 = 64 << 10;
/// The length before the tree.
const PREFIX: usize = 8;

/// How long stretches are in a bundle of so many bytes.
fn stretch_of(bytes: u64) -> u8 {
    let mut stretch = USUAL_STRETCH;
    while tree_of(bytes, stretch).outboard_size() > LONGEST_TREE {
        stretch += 1;
    }
    stretch
}

fn tree_of(bytes: u64, stretch: u8) -> BaoTree {
    BaoTree::new(bytes, BlockSize::from_chunk_log(stretch))
}

/// The tree of hashes of a bundle, as it lies beside it.
pub(crate) async fn hashes(
    remote: &str,
    file: Arc<File>,
    content: &Content,
) -> Result<Vec<u8>, RemoteError> {
    let (bytes, digest) = (content.bytes, content.digest);
    let work = tokio::task::spawn_blocking(move || {
        let found = file.metadata()?.len();
        let mut tree = PreOrderOutboard {
            root: [0; 32].into(),
            tree: tree_of(bytes, stretch_of(bytes)),
            data: Vec::new(),
        };
        let size = usize::try_from(tree.tree.outboard_size()).unwrap_or(usize::MAX);
        tree.data.resize(size, 0);
        let whole = At { file: &file, at: 0 };
        tree.init_from(BufReader::with_capacity(1 << 20, whole))?;
        match found == bytes && Digest::from(tree.root) == digest {
            true => {
                let mut beside = bytes.to_le_bytes().to_vec();
                beside.append(&mut tree.data);
                Ok(beside)
            }
            false => Err(io::Error::other("it changed")),
        }
    });
    match work.await {
        Ok(Ok(beside)) => Ok(beside),
        _ => Err(RemoteError::Failed {
            remote: remote.to_owned(),
            cause: "a bundle on this machine cannot be read, or changed; it was not sent"
                .to_owned(),
        }),
    }
}

/// Reads a file from its beginning, whatever others do with its cursor.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl io::Read for At<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// The tree of hashes of a bundle that lies in the mirror.
type Tree = PreOrderMemOutboard<Bytes>;

/// Takes apart what lies beside a bundle. How long its stretches are follows from the tree's length.
fn open_tree(digest: &Digest, bytes: u64, beside: &Bytes) -> Option<Tree> {
    let length: [u8; PREFIX] = beside.get(..PREFIX)?.try_into().ok()?;
    if u64::from_le_bytes(length) != bytes {
        return None;
    }
    let stretch = stretch_of(bytes);
    let tree = tree_of(bytes, stretch);
    let data = beside.slice(PREFIX..);
    (tree.outboard_size() == data.len() as u64).then_some(PreOrderMemOutboard {
        root: (*digest.as_bytes()).into(),
        tree,
        data,
    })
}

/// A stretch of a bundle in memory, by its place in the bundle.
struct Window<'a> {
    start: u64,
    bytes: &'a [u8],
}

impl bao_tree::io::sync::ReadAt for Window<'_> {
    fn read_at(&self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let start = at.checked_sub(self.start).map(usize::try_from);
        let rest = match start {
            Some(Ok(start)) => self.bytes.get(start..).unwrap_or_default(),
            _ => &[],
        };
        let count = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

/// Whether these are the bundle's bytes at `range`, which begins and ends with stretches.
fn fits(tree: &Tree, range: &Range<u64>, bytes: &[u8]) -> bool {
    if bytes.len() as u64 != range.end - range.start {
        return false;
    }
    let chunks = round_up_to_chunks(&ByteRanges::from(range.clone()));
    let start = range.start;
    encode_ranges_validated(Window { start, bytes }, tree, &chunks, io::sink()).is_ok()
}

/// A bundle that is read where it lies. Cheap to make: the remote is asked when it is first read.
pub struct MirroredBundle {
    shared: Arc<Shared>,
}

struct Shared {
    link: Arc<Inner>,
    digest: Digest,
    bytes: u64,
    tree: Mutex<Option<Arc<Tree>>>,
    state: Mutex<State>,
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    /// Announced requests by their ends, disjoint; and how many of their bytes were announced.
    expected: BTreeMap<u64, (Range<u64>, u64)>,
    /// In the order in which they were made.
    requests: VecDeque<Request>,
    /// Where the furthest request that was announced ends.
    front: u64,
    /// Reads so far: when a request was last used.
    reads: u64,
    /// Where the last read that was not announced ended, and how long it was.
    last: Range<u64>,
    /// It cannot be had.
    broken: bool,
}

struct Request {
    range: Range<u64>,
    /// None: on its way.
    bytes: Option<Bytes>,
    /// 0: nobody has read of it yet.
    used: u64,
    /// Announced bytes that nobody has read yet.
    left: u64,
}

impl State {
    /// Lets go of what was used longest ago. What was sent for ahead stays until all of it is read, unless nobody comes for
    /// it.
    fn make_room(&mut self) {
        while self.requests.len() >= KEPT {
            let arrived = self.requests.iter().enumerate();
            let arrived = arrived.filter(|(_, one)| one.bytes.is_some());
            let too_many = self.requests.len() >= 2 * KEPT;
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
    /// The bundle of this content in the mirror.
    pub fn bundle(&self, digest: Digest, bytes: u64) -> Arc<MirroredBundle> {
        let shared = Shared {
            link: self.inner().clone(),
            digest,
            bytes,
            tree: Mutex::default(),
            state: Mutex::default(),
            arrived: Condvar::new(),
        };
        Arc::new(MirroredBundle {
            shared: Arc::new(shared),
        })
    }
}

impl Shared {
    fn lost(&self) -> io::Error {
        let digest = self.digest;
        io::Error::other(StoreError::Missing { digest })
    }

    fn tree(&self) -> io::Result<Arc<Tree>> {
        let mut tree = held(&self.tree);
        if let Some(tree) = &*tree {
            return Ok(tree.clone());
        }
        let (remote, digest) = (self.link.remote.clone(), self.digest);
        let beside = self.link.ask(async move { remote.hashes(&digest).await });
        let Some(beside) = beside.flatten() else {
            return Err(self.lost());
        };
        let Some(opened) = open_tree(&self.digest, self.bytes, &beside) else {
            self.damaged();
            return Err(self.lost());
        };
        let opened = Arc::new(opened);
        *tree = Some(opened.clone());
        Ok(opened)
    }

    fn damaged(&self) {
        let (digest, remote) = (self.digest.short(), self.link.remote.shown());
        self.link.other(format!(
            "the bundle {digest} in the mirror {remote} is damaged; it is got from elsewhere"
        ));
    }

    /// From stretch to stretch.
    fn aligned(&self, tree: &Tree, range: Range<u64>) -> Range<u64> {
        let stretch = 1024u64 << tree.tree.block_size().chunk_log();
        let start = range.start / stretch * stretch;
        start..range.end.next_multiple_of(stretch).min(self.bytes)
    }

    /// Sends for a range unless it is here or on its way.
    fn request(self: &Arc<Self>, state: &mut State, tree: &Arc<Tree>, range: Range<u64>) {
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
        let (shared, tree) = (self.clone(), tree.clone());
        self.link.spawn(async move {
            let got = shared
                .link
                .remote
                .stretch(&shared.digest, range.clone())
                .await;
            let bytes = match got {
                Ok(Some(bytes)) if fits(&tree, &range, &bytes) => Some(bytes),
                Ok(Some(_)) => {
                    shared.damaged();
                    None
                }
                Ok(None) => None,
                Err(error) => {
                    shared.link.trouble(&error, false);
                    None
                }
            };
            let mut state = held(&shared.state);
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

    /// The request that brings the byte at `offset`.
    fn wanted(&self, state: &mut State, tree: &Tree, offset: u64, length: u64) -> Range<u64> {
        let announced = state.expected.range(offset + 1..).next();
        if let Some((_, (range, _))) = announced.filter(|(_, (range, _))| range.contains(&offset)) {
            return range.clone();
        }
        let here = state
            .requests
            .iter()
            .find(|one| one.range.contains(&offset));
        if let Some(here) = here {
            return here.range.clone();
        }
        let length = match state.last.end == offset {
            true => (2 * (state.last.end - state.last.start)).clamp(FIRST, REQUEST),
            false => length.clamp(FIRST, REQUEST),
        };
        let range = self.aligned(tree, offset..(offset + length).min(self.bytes));
        state.last = range.clone();
        range
    }

    fn read(self: &Arc<Self>, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset >= self.bytes || buffer.is_empty() {
            return Ok(0);
        }
        let tree = self.tree()?;
        let mut state = held(&self.state);
        let wanted = self.wanted(&mut state, &tree, offset, buffer.len() as u64);
        loop {
            if state.broken {
                return Err(self.lost());
            }
            // Another thread's requests may have put it out.
            self.request(&mut state, &tree, wanted.clone());
            state.reads += 1;
            let now = state.reads;
            let here = state.requests.iter_mut().find(|one| one.range == wanted);
            // What somebody still waits for was not used, or it would be let go of before he wakes.
            let bytes = here.and_then(|one| {
                let bytes = one.bytes.clone()?;
                one.used = now;
                Some(bytes)
            });
            if let Some(bytes) = bytes {
                self.go_ahead(&mut state, &tree, &wanted);
                let start = usize::try_from(offset - wanted.start).unwrap_or(usize::MAX);
                let rest = bytes.get(start..).unwrap_or_default();
                let count = rest.len().min(buffer.len());
                let here = state.requests.iter_mut().find(|one| one.range == wanted);
                if let Some(here) = here {
                    here.left = here.left.saturating_sub(count as u64);
                }
                if let (Some(to), Some(from)) = (buffer.get_mut(..count), rest.get(..count)) {
                    to.copy_from_slice(from);
                }
                return Ok(count);
            }
            self.go_ahead(&mut state, &tree, &wanted);
            state = self
                .arrived
                .wait(state)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Sends for what is announced behind a request.
    fn go_ahead(self: &Arc<Self>, state: &mut State, tree: &Arc<Tree>, from: &Range<u64>) {
        let next = state.expected.range(from.end + 1..).take(AHEAD);
        // What was sent for once was read, or is: a slow reader does not bring it again.
        let next = next.filter(|(end, _)| **end > state.front);
        let next: Vec<Range<u64>> = next.map(|(_, (range, _))| range.clone()).collect();
        state.front = state.front.max(from.end);
        for range in next {
            state.front = state.front.max(range.end);
            self.request(state, tree, range);
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
        // Without the tree nothing can be read, which the first read says.
        let Ok(tree) = self.shared.tree() else { return };
        let aligned = ranges.iter().cloned();
        let aligned = aligned.map(|range| self.shared.aligned(&tree, range));
        let expected = together(aligned.collect());
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
        let mut state = held(&self.shared.state);
        state.front = 0;
        state.expected = expected;
    }
}

/// Requests that bring all these ranges: neighbours together, with small gaps, none too long.
fn together(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    let (mut useful, mut waste) = (0, 0);
    for range in ranges {
        useful += range.end - range.start;
        if let Some(last) = joined.last_mut() {
            let gap = range.start.saturating_sub(last.end);
            if gap == 0 || (gap <= GAP && (waste + gap) * WASTE <= useful) {
                waste += gap;
                last.end = last.end.max(range.end);
                continue;
            }
        }
        joined.push(range);
    }
    let pieces = joined.into_iter().flat_map(|range| {
        let starts = (range.start..range.end).step_by(REQUEST as usize);
        starts.map(move |start| start..(start + REQUEST).min(range.end))
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(
        clippy::single_range_in_vec_init,
        reason = "one range is what is meant"
    )]
    fn neighbours_move_together_and_gaps_do_not() {
        let k = 1u64 << 10;
        let m = 1u64 << 20;
        assert_eq!(together(vec![]), Vec::<Range<u64>>::new());
        let touching = vec![32 * k..48 * k, 0..16 * k, 16 * k..32 * k];
        assert_eq!(together(touching), [0..48 * k]);
        // A small gap beside much that is wanted; a long one.
        assert_eq!(together(vec![0..4 * m, 4 * m + 64 * k..5 * m]), [0..5 * m]);
        assert_eq!(
            together(vec![0..4 * m, 6 * m..7 * m]),
            [0..4 * m, 6 * m..7 * m]
        );
        let long = together(vec![0..20 * m]);
        assert_eq!(long, [0..8 * m, 8 * m..16 * m, 16 * m..20 * m]);
    }

    #[test]
    fn trees_stay_handy() {
        for (bytes, stretch) in [
            (0, 4),
            (2_000_000_000, 4),
            (8 << 30, 4),
            (450_000_000_000, 10),
        ] {
            assert_eq!(stretch_of(bytes), stretch, "{bytes}");
        }
    }

    #[tokio::test]
    async fn every_changed_byte_is_noticed() {
        use std::io::Write;
        let bytes: Vec<u8> = (0..200_000u32).flat_map(u32::to_le_bytes).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        let content = Content {
            digest: Digest::of(&bytes),
            bytes: bytes.len() as u64,
            md5: None,
            sha256: None,
        };
        let beside = hashes("r", Arc::new(file), &content).await.unwrap();
        let tree = open_tree(&content.digest, content.bytes, &beside.into()).unwrap();
        let range = 65536..131_072;
        let mut piece = bytes[65536..131_072].to_vec();
        assert!(fits(&tree, &range, &piece));
        assert!(!fits(&tree, &(0..65536), &piece));
        assert!(!fits(&tree, &range, &piece[1..]));
        for at in (0..piece.len()).step_by(997) {
            piece[at] ^= 1;
            assert!(!fits(&tree, &range, &piece), "{at}");
            piece[at] ^= 1;
        }
        let end = bytes.len() as u64;
        let last = end / 16384 * 16384;
        assert!(fits(&tree, &(last..end), &bytes[last as usize..]));
    }
}
