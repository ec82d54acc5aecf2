//! Fetching one bundle to its end: sessions until one is complete, then the verdict on its digests.

use std::ops::Range;
use std::sync::Arc;

use prep_core::Progress;
use prep_formats::zip::{Directory, ZipError, ZipLimits};
use tokio::time::sleep;

use crate::backoff;
use crate::error::FetchError;
use crate::first::End;
use crate::hashing::Digests;
use crate::identity::Identity;
use crate::network::Shared;
use crate::partial::Partial;
use crate::session::Session;
use crate::trouble::Trouble;

/// Times that the object may be replaced under our hands.
const REPLACED: u32 = 3;

/// Times that a bundle may arrive with another MD5 than the server told.
const DAMAGED: u32 = 2;

/// What to fetch, and where to.
#[derive(Clone)]
pub(crate) struct Order {
    pub(crate) shared: Arc<Shared>,
    pub(crate) id: String,
    /// Published MD5 in hexadecimal; none when another content is welcome.
    pub(crate) md5: Option<String>,
    pub(crate) partial: Arc<Partial>,
    /// The bytes to fetch; none for all.
    pub(crate) wanted: Option<Vec<Range<u64>>>,
    pub(crate) progress: Arc<Progress>,
}

/// Fills the partial file of the order and checks it. The file keeps its partial name. No digests if only parts are wanted:
/// these are not checked here.
pub(crate) async fn download(order: &Order) -> Result<Option<Digests>, FetchError> {
    let mut location = None;
    let mut ranges = true;
    let (mut replaced, mut broken, mut damaged) = (0, 0, 0);
    loop {
        match Session::run(order, &mut location, ranges).await? {
            End::Complete(None, _) => return Ok(None),
            End::Complete(Some(digests), object) => match verdict(order, &digests, &object)? {
                None => return Ok(Some(digests)),
                Some(expected) => {
                    order.partial.clear()?;
                    damaged += 1;
                    if damaged >= DAMAGED {
                        return Err(FetchError::Damaged {
                            found: digests.md5,
                            expected,
                            attempts: damaged,
                        });
                    }
                }
            },
            End::Changed => {
                order.partial.clear()?;
                replaced += 1;
                if replaced >= REPLACED {
                    return Err(FetchError::KeepsChanging { times: replaced });
                }
            }
            End::StartAnew(cause) => {
                order.partial.clear()?;
                ranges &= !matches!(cause, Trouble::RangeIgnored { .. });
                let options = &order.shared.options;
                broken += 1;
                if broken >= options.attempts {
                    return Err(FetchError::GaveUp {
                        cause,
                        attempts: broken,
                        kept: "this server sends no ranges, so each attempt starts at the front"
                            .into(),
                    });
                }
                sleep(backoff::own_pause(broken, options)).await;
            }
        }
        order
            .progress
            .bytes
            .store(0, std::sync::atomic::Ordering::Relaxed);
    }
}

/// `None`: the bytes are right. Otherwise the MD5 that they should have.
fn verdict(
    order: &Order,
    digests: &Digests,
    object: &Identity,
) -> Result<Option<String>, FetchError> {
    let expected = object.md5.as_ref().or(order.md5.as_ref());
    match expected {
        Some(md5) if md5.eq_ignore_ascii_case(&digests.md5) => Ok(None),
        Some(md5) => Ok(Some(md5.clone())),
        None => {
            complete_zip(order, object.total)?;
            Ok(None)
        }
    }
}

/// Without any checksum, a cut-off archive can still be told by its missing directory.
fn complete_zip(order: &Order, total: u64) -> Result<(), FetchError> {
    let listing = Directory::read(&*order.partial.file, 0..total, &ZipLimits::default());
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
