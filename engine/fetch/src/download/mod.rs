//! Downloads one file: runs sessions until one completes, then verifies the digests.

mod connection;
mod session;

use std::ops::Range;
use std::sync::Arc;

use prep_cache::Digest;
use prep_core::Progress;
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipError};
use session::Session;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use crate::error::{FetchError, Stop, Trouble};
use crate::free_space;
use crate::resume::partial::{Digests, Partial, Wanted};
use crate::resume::pieces::max_bytes;
use crate::wire::answer::{Answer, RangeRequest};
use crate::wire::identity::Identity;
use crate::wire::location::{Item, Location};
use crate::wire::queries::address;
use crate::wire::retry::{Retry, RetryAction};
use crate::wire::shared::Shared;

/// If the server replaces the file this number of times during a download, the download fails.
const MAX_REPLACEMENTS: u32 = 3;

/// If a file is downloaded completely this number of times, and each time has a wrong MD5, the download fails.
const MAX_DAMAGED: u32 = 2;

/// Downloads the file of `order` into its partial file, verifies the file, and returns its digests. If `order` requests
/// only ranges of the file, returns `None`, because parts of a file cannot be verified here.
pub(crate) async fn download(order: &Order) -> Result<Option<Digests>, FetchError> {
    let mut location = None;
    let mut ranges = true;
    let (mut replaced, mut damaged) = (0, 0);
    let mut retry = Retry::default();
    loop {
        let bytes = &order.progress.bytes;
        bytes.store(0, std::sync::atomic::Ordering::Relaxed);
        match Session::run(order, &mut location, ranges).await {
            Ok((None, _)) => return Ok(None),
            Ok((Some(digests), object)) => match verify_digests(order, &digests, &object)? {
                None => return Ok(Some(digests)),
                Some(expected) => {
                    order.partial.clear()?;
                    damaged += 1;
                    if damaged >= MAX_DAMAGED {
                        return Err(FetchError::Damaged {
                            item: order.item.to_string(),
                            found: digests.md5,
                            expected,
                            attempts: damaged,
                            server_sent_md5: object.md5.is_some(),
                        });
                    }
                }
            },
            Err(Stop::Changed) => {
                order.partial.clear()?;
                replaced += 1;
                if replaced >= MAX_REPLACEMENTS {
                    return Err(FetchError::KeepsChanging { times: replaced });
                }
                // The machines that serve the file may send different validators for the same file. Therefore the last attempt is a
                // single request, which needs no validator.
                ranges &= replaced < MAX_REPLACEMENTS - 1 || order.ranges.is_some();
            }
            Err(Stop::NoValidator) => {
                order.partial.clear()?;
                ranges = false;
            }
            Err(Stop::Fatal(error) | Stop::Absent(error)) => return Err(error),
            Err(Stop::Trouble(cause, _)) => {
                order.partial.clear()?;
                let kept = || {
                    "this server does not support ranges, so each attempt starts from the beginning"
                        .to_owned()
                };
                if matches!(cause, Trouble::RangeIgnored { .. }) {
                    // The missing support for ranges is not a failure.
                    ranges = false;
                } else if let RetryAction::After(pause) =
                    retry.next(&order.shared.options, cause, kept)?
                {
                    sleep(pause).await;
                }
            }
        }
    }
}

/// Returns the expected MD5 if the file has a different one. If no MD5 is known, checks that a zip archive has a directory.
fn verify_digests(
    order: &Order,
    digests: &Digests,
    object: &Identity,
) -> Result<Option<String>, FetchError> {
    let expected = object.md5.as_ref().or(order.md5.as_ref());
    match expected {
        Some(md5) if md5.eq_ignore_ascii_case(&digests.md5) => Ok(None),
        Some(md5) => Ok(Some(md5.clone())),
        None if order.item.is_zip() => {
            require_zip_directory(order, object.total)?;
            Ok(None)
        }
        None => Ok(None),
    }
}

/// Checks that a downloaded zip archive has a directory. The directory is at the end, so this detects truncated archives.
fn require_zip_directory(order: &Order, total: u64) -> Result<(), FetchError> {
    let listing = ZipDirectory::read(
        &*order.partial.file,
        0..total,
        &DecodingLimits::default().budget(total),
    );
    match listing {
        Err(error @ (ZipError::Truncated { .. } | ZipError::NotAZip { .. })) => {
            order.partial.clear()?;
            Err(FetchError::Incomplete {
                reason: error.to_string(),
            })
        }
        _ => Ok(()),
    }
}

/// The first request of a session or of a listing, which finds the location of the item if necessary.
pub(crate) struct FirstRequest<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) item: &'a Item,
    pub(crate) location: &'a mut Option<Location>,
}

impl FirstRequest<'_> {
    /// Sends a request for `range`, and repeats it after temporary failures, which `retry` counts. If `known` is given and
    /// the server now has a different object, returns [`Stop::Changed`].
    pub(crate) async fn answer(
        &mut self,
        range: Range<u64>,
        known: Option<&Identity>,
        retry: &mut Retry,
    ) -> Result<(Answer, OwnedSemaphorePermit), Stop> {
        let FirstRequest { shared, item, .. } = *self;
        loop {
            let permit = shared.permit().await?;
            let location = match &*self.location {
                Some(location) => location.clone(),
                None => self.location.insert(address(shared, item).await?).clone(),
            };
            let request = RangeRequest {
                location: &location,
                range: range.clone(),
                expected: known,
            };
            let trouble = match request.send(shared).await {
                Ok(answer) => return Ok((answer, permit)),
                Err(Stop::Trouble(trouble, _)) => trouble,
                Err(stop) => return Err(stop),
            };
            drop(permit);
            let kept = || "no data was lost; run again to continue".into();
            match retry.next(&shared.options, trouble, kept)? {
                RetryAction::After(pause) => sleep(pause).await,
                RetryAction::NewAddress => {
                    *self.location = None;
                    shared.addresses.forget(&item.key());
                }
                RetryAction::WithoutRanges(trouble) => return Err(trouble.into()),
            }
        }
    }
}

/// A file to download, or ranges of it, and the partial file that receives the bytes.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) shared: Arc<Shared>,
    pub(crate) item: Item,
    /// The published MD5 in hexadecimal. `None` accepts any content.
    pub(crate) md5: Option<String>,
    pub(crate) partial: Arc<Partial>,
    /// The ranges to fetch. `None` for the entire file.
    pub(crate) ranges: Option<Vec<Range<u64>>>,
    pub(crate) progress: Arc<Progress>,
}

impl Order {
    pub(crate) fn new(
        shared: &Arc<Shared>,
        item: Item,
        partial: &Arc<Partial>,
        progress: &Arc<Progress>,
    ) -> Order {
        Order {
            shared: Arc::clone(shared),
            item,
            md5: None,
            partial: Arc::clone(partial),
            ranges: None,
            progress: Arc::clone(progress),
        }
    }

    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            source: Digest::of_bytes(self.item.key().as_bytes()),
            ranges: self.ranges.as_deref(),
        }
    }

    /// Returns the disk space in bytes that the download needs. A part of a bundle needs twice the length of its ranges,
    /// because the downloaded bytes are copied into an archive.
    pub(crate) fn needed(&self, object: &Identity) -> u64 {
        match &self.ranges {
            None => object.total,
            Some(ranges) => ranges.iter().fold(0, |sum: u64, range| {
                sum.saturating_add(range.end.saturating_sub(range.start).saturating_mul(2))
            }),
        }
    }

    /// Returns an error if the piece map of the file might not fit into memory. This map lists all pieces of the entire
    /// file, even if the order requests only a small part of a very long bundle.
    pub(crate) fn require_map(&self, object: &Identity) -> Result<(), FetchError> {
        match object.total <= max_bytes(self.shared.options.piece.max(1)) {
            true => Ok(()),
            false => Err(FetchError::TooLong {
                item: self.item.to_string(),
                bytes: object.total,
            }),
        }
    }

    pub(crate) fn require_space(&self, needed: u64) -> Result<(), FetchError> {
        match free_space(&self.partial.path) {
            Some(free) if free < needed => Err(FetchError::NoSpace {
                path: self.partial.path.clone(),
                needed,
                free,
            }),
            _ => Ok(()),
        }
    }
}
