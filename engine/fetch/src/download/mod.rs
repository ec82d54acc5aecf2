//! Downloads one file: runs sessions until one completes, then verifies the digests.

mod connection;
pub(crate) mod first;
mod pace;
mod session;
mod stored;

use prep_formats::limits::DecodingLimits;
use prep_formats::zip::{ZipDirectory, ZipError};
use tokio::time::sleep;

use crate::error::FetchError;
use crate::resume::hashing::Digests;
use crate::trouble::Trouble;
use crate::wire::identity::Identity;
use crate::wire::retry::{Retry, RetryAction};
use first::SessionEnd;
use session::Session;

pub(crate) use first::Order;

/// Number of times that the object on the server may be replaced before a download fails.
const MAX_REPLACEMENTS: u32 = 3;

/// Number of complete downloads with a wrong MD5 before a download fails.
const MAX_DAMAGED: u32 = 2;

/// Fills and verifies the partial file of an order. The file keeps its partial name. Returns `None` if the order has
/// ranges, because the parts of a file are not verified here.
pub(crate) async fn download(order: &Order) -> Result<Option<Digests>, FetchError> {
    let mut location = None;
    let mut ranges = true;
    let (mut replaced, mut damaged) = (0, 0);
    let mut retry = Retry::default();
    loop {
        let bytes = &order.progress.bytes;
        bytes.store(0, std::sync::atomic::Ordering::Relaxed);
        match Session::run(order, &mut location, ranges).await? {
            SessionEnd::Complete(None, _) => return Ok(None),
            SessionEnd::Complete(Some(digests), object) => {
                match verify_digests(order, &digests, &object)? {
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
                }
            }
            SessionEnd::Changed => {
                order.partial.clear()?;
                replaced += 1;
                if replaced >= MAX_REPLACEMENTS {
                    return Err(FetchError::KeepsChanging { times: replaced });
                }
                // The validators may depend on the server that answers. A single request needs none.
                ranges &= replaced < MAX_REPLACEMENTS - 1 || order.ranges.is_some();
            }
            SessionEnd::NoValidator => {
                order.partial.clear()?;
                ranges = false;
            }
            SessionEnd::StartOver(cause) => {
                order.partial.clear()?;
                let kept = || {
                    "this server does not support ranges, so each attempt starts from the beginning"
                        .to_owned()
                };
                if matches!(cause, Trouble::RangeIgnored { .. }) {
                    // This is not counted as a failure. From now on, the entire file is requested.
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

/// Verifies the digests. Returns `None` if they are correct, otherwise the expected MD5.
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

/// Verifies that the file has a zip directory. It is at the end of an archive, so this detects truncated archives that
/// have no checksum.
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
