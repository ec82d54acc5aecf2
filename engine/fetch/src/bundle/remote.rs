//! Lists a bundle on the server without downloading it.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::ops::Range;
use std::{fmt, io};

use parking_lot::Mutex;
use prep_core::{Cancel, RateCheck};
use prep_formats::limits::DecodingLimits;
use prep_formats::read_at::ReadAt;
use prep_formats::zip::{ZipDirectory, ZipEntry, ZipError};
use tokio::time::sleep;

use crate::download::FirstRequest;
use crate::error::{FetchError, Stop, Trouble};
use crate::network::Network;
use crate::wire::answer::{Answer, Body};
use crate::wire::identity::Identity;
use crate::wire::location::{Item, Location};
use crate::wire::retry::{Retry, RetryAction};
use crate::wire::shared::Shared;

/// The member list of a bundle on the server.
#[derive(Debug)]
pub struct RemoteZip {
    /// The members, in the order of the central directory.
    pub entries: Vec<ZipEntry>,
    /// Length of the entire bundle in bytes.
    pub bytes: u64,
    /// The bundle's MD5 in hexadecimal, if the server sends it.
    pub md5: Option<String>,
    /// Number of bytes that the listing transferred.
    pub moved: u64,
}

/// The member list of a bundle on the server, with the first bytes of some members.
#[derive(Debug)]
pub struct BundlePreview {
    /// The member list.
    pub zip: RemoteZip,
    /// Paths of members, each with the member's first bytes.
    pub fronts: Vec<(String, Vec<u8>)>,
}

impl Network {
    /// Returns the member list of the bundle of `id`, and the first `max_bytes` bytes of each member for which
    /// `is_selected` returns true. Omits members that cannot be read.
    ///
    /// # Errors
    /// Same as for [`list`](Self::list).
    pub fn preview(
        &self,
        id: &str,
        max_bytes: usize,
        is_selected: impl Fn(&str) -> bool,
        cancel: &Cancel,
    ) -> Result<BundlePreview, FetchError> {
        let zip = self.list(id, cancel)?;
        let remote = Remote::open(self, id, cancel)?;
        let mut fronts = Vec::new();
        for entry in zip.entries.iter().filter(|entry| is_selected(&entry.path)) {
            let mut front = Vec::new();
            let read = entry
                .open(&remote)
                .map(|member| member.take(max_bytes as u64).read_to_end(&mut front));
            if let Some(error) = remote.state.lock().failed.take() {
                return Err(error);
            }
            if let Ok(Ok(_)) = read {
                fronts.push((entry.path.clone(), front));
            }
        }
        Ok(BundlePreview { zip, fronts })
    }

    /// Reads the central directory of the bundle of `id` with range requests. Returns the member list.
    ///
    /// # Errors
    /// [`FetchError::Listing`] if the file is not a readable zip archive, [`FetchError::Cancelled`] if `cancel` is set,
    /// and errors of the network.
    pub fn list(&self, id: &str, cancel: &Cancel) -> Result<RemoteZip, FetchError> {
        let remote = Remote::open(self, id, cancel)?;
        let total = remote.object()?.total;
        let listing =
            ZipDirectory::read(&remote, 0..total, &DecodingLimits::default().budget(total));
        // A failed request is not a defect of the archive.
        if let Some(error) = remote.state.lock().failed.take() {
            return Err(error);
        }
        let listing = listing.map_err(|cause: ZipError| FetchError::Listing {
            id: id.to_owned(),
            cause,
        })?;
        let object = remote.object()?;
        Ok(RemoteZip {
            entries: listing.entries(),
            bytes: object.total,
            md5: object.md5,
            moved: remote.state.lock().moved,
        })
    }
}

/// A bundle on the server that is read by range requests. Every range that was read is kept in memory.
struct Remote<'a> {
    network: &'a Network,
    item: Item,
    cancel: &'a Cancel,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    location: Option<Location>,
    object: Option<Identity>,
    /// The bytes that were read, by their offset.
    blocks: BTreeMap<u64, Vec<u8>>,
    /// Range of the last read. Reads become longer while they are sequential.
    last: Range<u64>,
    /// Number of bytes that were transferred.
    moved: u64,
    /// The first error of a request. The zip reader reports only an I/O error in its place.
    failed: Option<FetchError>,
}

impl fmt::Debug for Remote<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Remote({})", self.item.key())
    }
}

impl<'a> Remote<'a> {
    fn open(network: &'a Network, id: &str, cancel: &'a Cancel) -> Result<Remote<'a>, FetchError> {
        let remote = Remote {
            network,
            item: Item::Bundle(id.to_owned()),
            cancel,
            state: Mutex::default(),
        };
        let piece = network.shared().options.piece;
        remote.fetch(&mut remote.state.lock(), 0..piece)?;
        Ok(remote)
    }

    fn object(&self) -> Result<Identity, FetchError> {
        self.state
            .lock()
            .object
            .clone()
            .ok_or(FetchError::Cancelled)
    }

    /// Same as [`fetch`](Self::fetch), but keeps the error in `state.failed`, because a reader can only return an I/O
    /// error.
    fn fetch_or_fail(&self, state: &mut State, range: Range<u64>) -> io::Result<()> {
        self.fetch(state, range).map_err(|error| {
            let text = prep_core::chain(&error);
            state.failed.get_or_insert(error);
            io::Error::other(text)
        })
    }

    /// Requests `range`, and keeps its bytes as a block.
    fn fetch(&self, state: &mut State, range: Range<u64>) -> Result<(), FetchError> {
        let request = FirstRequest {
            shared: self.network.shared(),
            item: &self.item,
            location: &mut state.location,
        };
        let reading = fetch(request, &range, state.object.as_ref());
        let (object, bytes) = self.network.block_on_unless(self.cancel, reading)?;
        state.object = Some(object);
        state.moved += bytes.len() as u64;
        state.last = range.start..range.start + bytes.len() as u64;
        state.blocks.insert(range.start, bytes);
        Ok(())
    }
}

impl State {
    /// Returns the bytes from `offset` to the end of their block. Returns `None` if they have not been read.
    fn read(&self, offset: u64) -> Option<&[u8]> {
        let (start, block) = self.blocks.range(..=offset).next_back()?;
        let rest = block.get(usize::try_from(offset - start).ok()?..)?;
        (!rest.is_empty()).then_some(rest)
    }
}

impl ReadAt for Remote<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.state.lock();
        let total = state.object.as_ref().map_or(0, |object| object.total);
        if offset >= total || buf.is_empty() {
            return Ok(0);
        }
        if state.read(offset).is_none() {
            let options = &self.network.shared().options;
            let length = if state.last.end == offset {
                (2 * (state.last.end - state.last.start)).min(options.range)
            } else {
                options.piece
            };
            // A reader of a zip archive needs the end of the archive, and then the bytes before the end. Therefore a read in
            // the last piece fetches this entire piece.
            let start = offset.min(total.saturating_sub(options.piece));
            let start = match state.read(start) {
                Some(_) => offset,
                None => start,
            };
            let range = start..start.saturating_add(length).max(offset + 1).min(total);
            self.fetch_or_fail(&mut state, range.clone())?;
            // A server may send a shorter range than requested.
            if state.read(offset).is_none() {
                self.fetch_or_fail(&mut state, offset..range.end)?;
            }
        }
        let found = state.read(offset).unwrap_or_default();
        let count = found.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..count), found.get(..count)) {
            to.copy_from_slice(from);
        }
        Ok(count)
    }
}

/// Returns the bytes of `range`, and the object to which they belong. Retries after temporary failures.
async fn fetch(
    mut request: FirstRequest<'_>,
    range: &Range<u64>,
    known: Option<&Identity>,
) -> Result<(Identity, Vec<u8>), FetchError> {
    let shared = request.shared;
    let mut retry = Retry::default();
    loop {
        let answer = match request.answer(range.clone(), known, &mut retry).await {
            Ok((answer, _permit)) if answer.is_complete => {
                Err(Trouble::RangeIgnored { host: answer.host })
            }
            Ok((answer, _permit)) => {
                let object = answer.object.clone();
                read(shared, answer).await.map(|bytes| (object, bytes))
            }
            Err(Stop::Trouble(trouble, _)) => Err(trouble),
            Err(Stop::Fatal(error) | Stop::Absent(error)) => return Err(error),
            Err(_) => return Err(FetchError::KeepsChanging { times: 1 }),
        };
        let trouble = match answer {
            Ok(done) => return Ok(done),
            Err(trouble) => trouble,
        };
        let kept = || "run again later".to_owned();
        match retry.next(&shared.options, trouble, kept)? {
            RetryAction::After(pause) => sleep(pause).await,
            RetryAction::NewAddress => {}
            // A listing is impossible without ranges.
            RetryAction::WithoutRanges(cause) => {
                return Err(FetchError::GaveUp {
                    cause: Box::new(cause),
                    attempts: retry.failures(),
                    kept: kept(),
                });
            }
        }
    }
}

async fn read(shared: &Shared, answer: Answer) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    let mut body = Body::new(answer);
    let mut rate = RateCheck::new(shared.options.stall);
    while let Some(chunk) = body.next(shared, &mut rate).await? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}
