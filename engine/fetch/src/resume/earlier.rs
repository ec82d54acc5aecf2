//! Continues a download that another process started, or starts a new one.

use std::ops::Range;

use prep_cache::Digest;

use crate::error::FetchError;
use crate::resume::map::{Map, MapContent};
use crate::resume::partial::Partial;
use crate::resume::pieces::{Pieces, max_bytes};
use crate::wire::identity::Identity;

/// The part of a file that a download fetches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Digest of the address of the file.
    pub(crate) source: Digest,
    /// The required ranges. `None` for the entire file.
    pub(crate) ranges: Option<&'a [Range<u64>]>,
}

impl Wanted<'_> {
    fn pieces(&self, total: u64, size: u64) -> Pieces {
        let mut pieces = Pieces::new(total, size);
        if let Some(ranges) = self.ranges {
            pieces.restrict(ranges);
        }
        pieces
    }
}

/// The state with which a session starts.
pub(crate) struct State {
    pub(crate) map: Map,
    /// The pieces. Pieces outside of the ranges are not required.
    pub(crate) pieces: Pieces,
    /// Length of a piece in bytes.
    pub(crate) size: u64,
    /// Existing pieces, each with its CRC-32.
    pub(crate) records: Vec<(u32, u32)>,
}

/// Returns the object and the state of an earlier session if they can be used. The map must be valid and must name the
/// same address, the file must have the length that the map records, and the server must be able to confirm that the
/// object is still the same.
pub(crate) fn load(
    partial: &Partial,
    wanted: Wanted<'_>,
) -> Result<Option<(Identity, State)>, FetchError> {
    let error = |cause| FetchError::io("read", &partial.map, cause);
    let Some((map, known)) = Map::open(&partial.map).map_err(error)? else {
        return Ok(None);
    };
    let length = partial
        .file
        .metadata()
        .map_err(|cause| FetchError::io("examine", &partial.path, cause))?
        .len();
    let MapContent {
        source,
        object,
        piece: size,
        records,
    } = known;
    let total = object.total;
    let is_usable = source == wanted.source
        && length == total
        && total <= max_bytes(size)
        && object.can_be_verified();
    if !is_usable {
        return Ok(None);
    }
    let mut pieces = wanted.pieces(total, size);
    for (piece, _) in &records {
        pieces.set_done(usize::try_from(*piece).unwrap_or(usize::MAX));
    }
    let state = State {
        map,
        pieces,
        size,
        records,
    };
    Ok(Some((object, state)))
}

/// Sets the length of the partial file and creates an empty map.
pub(crate) fn begin(
    partial: &Partial,
    wanted: Wanted<'_>,
    object: &Identity,
    piece: u64,
) -> Result<State, FetchError> {
    partial.clear()?;
    partial
        .file
        .set_len(object.total)
        .map_err(|cause| FetchError::io("enlarge", &partial.path, cause))?;
    let size = piece.max(1);
    let map = Map::create(&partial.map, wanted.source, object, size)
        .map_err(|cause| FetchError::io("write", &partial.map, cause))?;
    Ok(State {
        pieces: wanted.pieces(object.total, size),
        size,
        records: Vec::new(),
        map,
    })
}
