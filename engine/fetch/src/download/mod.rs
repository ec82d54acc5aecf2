//! Downloads one file completely: runs sessions until one completes, then checks the digests.

mod connection;
pub(crate) mod first;
mod order;
mod pace;
mod receive;
mod session;

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

pub(crate) use order::Order;

/// Number of replacements of the object on the server after which a download gives up.
const MAX_REPLACEMENTS: u32 = 3;

/// Number of complete downloads with a wrong MD5 after which a download gives up.
const MAX_DAMAGED: u32 = 2;

/// Fills and checks the partial file of an order, which keeps its partial name. Returns `None` if only some ranges were
/// requested, because those are not checked here.
pub(crate) async fn download(order: &Order) -> Result<Option<Digests>, FetchError> {
    let mut location = None;
    let mut ranges = true;
    let (mut replaced, mut damaged) = (0, 0);
    let mut retry = Retry::default();
    loop {
        match Session::run(order, &mut location, ranges).await? {
            SessionEnd::Complete(None, _) => return Ok(None),
            SessionEnd::Complete(Some(digests), object) => match verdict(order, &digests, &object)?
            {
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
            SessionEnd::Changed => {
                order.partial.clear()?;
                replaced += 1;
                if replaced >= MAX_REPLACEMENTS {
                    return Err(FetchError::KeepsChanging { times: replaced });
                }
            }
            SessionEnd::StartOver(cause) => {
                order.partial.clear()?;
                let kept = || {
                    "this server sends no ranges, so each attempt starts at the front".to_owned()
                };
                if matches!(cause, Trouble::RangeIgnored { .. }) {
                    // Not a failure: from now on, the whole file is requested.
                    ranges = false;
                } else if let RetryAction::After(pause) =
                    retry.next(&order.shared.options, cause, kept)?
                {
                    sleep(pause).await;
                }
            }
        }
        order
            .progress
            .bytes
            .store(0, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Checks the digests. Returns `None` if they are right, otherwise the expected MD5.
fn verdict(
    order: &Order,
    digests: &Digests,
    object: &Identity,
) -> Result<Option<String>, FetchError> {
    let expected = object.md5.as_ref().or(order.md5.as_ref());
    match expected {
        Some(md5) if md5.eq_ignore_ascii_case(&digests.md5) => Ok(None),
        Some(md5) => Ok(Some(md5.clone())),
        None if order.item.is_zip() => {
            complete_zip(order, object.total)?;
            Ok(None)
        }
        None => Ok(None),
    }
}

/// Checks for a zip directory. If there is no checksum, its absence still reveals a truncated archive.
fn complete_zip(order: &Order, total: u64) -> Result<(), FetchError> {
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
