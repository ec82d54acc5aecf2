//! Hash lists of bundles, with which a reader can verify a part of a bundle without the rest.
//!
//! The digest of a bundle is the root of its BLAKE3 hash tree. The hash list contains nodes of this tree, 32 bytes each:
//!
//! - the nodes of all *blocks* of 4 KiB
//! - after them, the nodes of all *regions* of 32 MiB
//!
//! A reader fetches the nodes of all regions, but the nodes of blocks only in regions that it reads. From these nodes, it
//! computes the other nodes.
//!
//! If members have 100 kB and a reader needs every tenth of them, it transfers 12 % more bytes than these members contain.
//! With blocks of 16 KiB and pairs of hashes, as in the library bao, the reader would transfer 20 % more.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};
use prep_cache::Digest;

/// Size in bytes of a block, the smallest part that can be verified.
pub(crate) const BLOCK_BYTES: u64 = 4 << 10;
/// Size in bytes of a region. The hashes of its blocks are fetched together.
pub(crate) const REGION_BYTES: u64 = 32 << 20;
const HASH_BYTES: u64 = 32;
/// Blocks are hashed in batches of at most this number. The hash of a batch is compared with the common parent node of
/// its blocks.
const MAX_BATCH_BLOCKS: usize = 64;
const READ_BYTES: usize = 1 << 20;

fn blocks(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES)
}

pub(crate) fn regions(bytes: u64) -> u64 {
    bytes.div_ceil(REGION_BYTES)
}

/// Returns the length in bytes of the hash list of a bundle of `bytes` bytes.
pub(crate) fn list_bytes(bytes: u64) -> u64 {
    HASH_BYTES * (blocks(bytes) + regions(bytes))
}

/// Returns the byte range of the region hashes in the hash list.
pub(crate) fn region_hash_range(bytes: u64) -> Range<u64> {
    HASH_BYTES * blocks(bytes)..list_bytes(bytes)
}

/// Returns the byte range of the hashes of a region's blocks in the hash list.
pub(crate) fn block_hash_range(bytes: u64, region: u64) -> Range<u64> {
    let all = blocks(bytes);
    let first = (region * (REGION_BYTES / BLOCK_BYTES)).min(all);
    let end = (first + REGION_BYTES / BLOCK_BYTES).min(all);
    HASH_BYTES * first..HASH_BYTES * end
}

fn nodes(list: &[u8]) -> Vec<ChainingValue> {
    let (nodes, _) = list.as_chunks::<{ HASH_BYTES as usize }>();
    nodes.to_vec()
}

fn parent(nodes: &[ChainingValue]) -> Option<ChainingValue> {
    match nodes {
        [] => None,
        [one] => Some(*one),
        _ => {
            let (left, right) = halves(nodes)?;
            let (left, right) = (parent(left)?, parent(right)?);
            Some(merge_subtrees_non_root(&left, &right, Mode::Hash))
        }
    }
}

/// Computes the root of the hash tree from nodes that cover all bytes. Returns `None` for a single node, because BLAKE3
/// computes a root differently from other nodes.
fn root(nodes: &[ChainingValue]) -> Option<Digest> {
    let (left, right) = halves(nodes)?;
    let (left, right) = (parent(left)?, parent(right)?);
    Some(merge_subtrees_root(&left, &right, Mode::Hash).into())
}

/// Splits nodes into the children of their parent. The left child is a complete tree.
fn halves(nodes: &[ChainingValue]) -> Option<(&[ChainingValue], &[ChainingValue])> {
    if nodes.len() < 2 {
        return None;
    }
    // `left_subtree_len` needs a length in bytes. Each node is treated as one chunk, which gives a tree of the same shape.
    let chunk = blake3::CHUNK_LEN as u64;
    let left = left_subtree_len(nodes.len() as u64 * chunk) / chunk;
    nodes.split_at_checked(usize::try_from(left).ok()?)
}

/// Computes the node of `bytes`, which begin at `offset` in the bundle.
fn node(offset: u64, bytes: &[u8]) -> ChainingValue {
    let mut hasher = blake3::Hasher::new();
    hasher.set_input_offset(offset).update(bytes);
    hasher.finalize_non_root()
}

/// The hashes of all regions of a bundle, verified against its digest.
#[derive(Debug)]
pub(crate) struct RegionHashes {
    digest: Digest,
    bytes: u64,
    nodes: Vec<ChainingValue>,
}

impl RegionHashes {
    /// Verifies the hashes of all regions, which `list` contains, against the bundle's digest. Returns `None` if they do not
    /// match. If the bundle has a single region, `list` is ignored.
    pub(crate) fn open(digest: Digest, bytes: u64, list: &[u8]) -> Option<RegionHashes> {
        let count = regions(bytes);
        let nodes = match count {
            0 | 1 => Vec::new(),
            _ => nodes(list),
        };
        let fits = count < 2 || (nodes.len() as u64 == count && root(&nodes)? == digest);
        fits.then_some(RegionHashes {
            digest,
            bytes,
            nodes,
        })
    }

    /// Verifies the hashes of a region's blocks. Returns `None` if they do not match the region's hash.
    pub(crate) fn blocks(&self, region: u64, list: &[u8]) -> Option<BlockHashes> {
        let place = block_hash_range(self.bytes, region);
        let nodes = nodes(list);
        if list.len() as u64 != place.end - place.start {
            return None;
        }
        let fits = match regions(self.bytes) {
            // If the bundle is a single block, its hash is not used: `verifies` compares the bytes with the digest.
            1 => nodes.len() < 2 || root(&nodes)? == self.digest,
            _ => parent(&nodes)? == *self.nodes.get(usize::try_from(region).ok()?)?,
        };
        let whole = (blocks(self.bytes) == 1).then_some(self.digest);
        fits.then_some(BlockHashes {
            start: region * REGION_BYTES,
            nodes,
            whole,
        })
    }
}

/// The hashes of a region's blocks, verified against the region's hash.
#[derive(Debug)]
pub(crate) struct BlockHashes {
    start: u64,
    nodes: Vec<ChainingValue>,
    /// The digest of the bundle, if the bundle is a single block.
    whole: Option<Digest>,
}

impl BlockHashes {
    /// Returns whether `bytes` are the bundle's bytes at `offset`. `bytes` must be inside the region whose blocks have these
    /// hashes, and must start and end at the boundaries of blocks.
    pub(crate) fn verifies(&self, offset: u64, bytes: &[u8]) -> bool {
        if let Some(whole) = self.whole {
            return offset == 0 && Digest::of_bytes(bytes) == whole;
        }
        self.verifies_blocks(offset, bytes).unwrap_or(false)
    }

    fn verifies_blocks(&self, offset: u64, mut bytes: &[u8]) -> Option<bool> {
        let inside = offset.checked_sub(self.start)?;
        if inside % BLOCK_BYTES != 0 {
            return None;
        }
        let mut at = usize::try_from(inside / BLOCK_BYTES).ok()?;
        let end = at + bytes.len().div_ceil(BLOCK_BYTES as usize);
        while at < end {
            let aligned = match at {
                0 => MAX_BATCH_BLOCKS,
                _ => MAX_BATCH_BLOCKS.min(1 << at.trailing_zeros()),
            };
            let left = end - at;
            let count = aligned.min(1 << left.ilog2());
            let length = (count * BLOCK_BYTES as usize).min(bytes.len());
            let (these, rest) = bytes.split_at_checked(length)?;
            let place = self.start + at as u64 * BLOCK_BYTES;
            if parent(self.nodes.get(at..at + count)?)? != node(place, these) {
                return Some(false);
            }
            (at, bytes) = (at + count, rest);
        }
        Some(true)
    }
}

/// Computes the hash list of a bundle, region by region.
pub(crate) struct Hashing {
    file: Arc<File>,
    bytes: u64,
    regions: Vec<ChainingValue>,
    /// The digest of a bundle with a single region. It cannot be computed from the hash of that region.
    whole: Option<Digest>,
}

impl Hashing {
    pub(crate) fn new(file: Arc<File>, bytes: u64) -> Hashing {
        Hashing {
            file,
            bytes,
            regions: Vec::new(),
            whole: None,
        }
    }

    /// Computes the hashes of the next region's blocks. Fails if the file has become shorter.
    pub(crate) fn next(&mut self) -> io::Result<Vec<u8>> {
        let start = self.regions.len() as u64 * REGION_BYTES;
        let end = (start + REGION_BYTES).min(self.bytes);
        let mut nodes = Vec::new();
        let mut piece = vec![0; READ_BYTES];
        let mut at = start;
        while at < end {
            let length = usize::try_from(end - at)
                .unwrap_or(READ_BYTES)
                .min(READ_BYTES);
            let piece = piece.get_mut(..length).unwrap_or_default();
            self.file.read_exact_at(piece, at)?;
            for block in piece.chunks(BLOCK_BYTES as usize) {
                nodes.push(node(at, block));
                at += block.len() as u64;
            }
            if self.bytes <= BLOCK_BYTES {
                self.whole = Some(Digest::of_bytes(piece));
            }
        }
        if regions(self.bytes) == 1 && nodes.len() > 1 {
            self.whole = root(&nodes);
        }
        self.regions.extend(parent(&nodes));
        Ok(nodes.concat())
    }

    /// Returns the hashes of all regions, and the digest of all bytes that were read.
    pub(crate) fn finish(self) -> (Vec<u8>, Digest) {
        let root = root(&self.regions).or(self.whole);
        let root = root.unwrap_or_else(|| Digest::of_bytes(b""));
        (self.regions.concat(), root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn bundle(bytes: u64) -> (Arc<File>, Vec<u8>) {
        let content: Vec<u8> = (0..bytes.div_ceil(4) as u32)
            .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
            .take(bytes as usize)
            .collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&content).unwrap();
        (Arc::new(file), content)
    }

    fn list_of(file: &Arc<File>, bytes: u64) -> (Vec<u8>, Digest) {
        let mut hashing = Hashing::new(file.clone(), bytes);
        let mut list = Vec::new();
        for _ in 0..regions(bytes) {
            list.extend(hashing.next().unwrap());
        }
        let (regions, root) = hashing.finish();
        list.extend(regions);
        (list, root)
    }

    fn part(list: &[u8], range: Range<u64>) -> &[u8] {
        &list[range.start as usize..range.end as usize]
    }

    #[test]
    fn the_root_is_the_digest_and_all_blocks_verify_for_any_length() {
        for bytes in [
            0,
            1,
            BLOCK_BYTES - 1,
            BLOCK_BYTES,
            BLOCK_BYTES + 1,
            5 * BLOCK_BYTES - 3,
            REGION_BYTES - 1,
            REGION_BYTES,
            REGION_BYTES + 1,
            2 * REGION_BYTES + 77 * BLOCK_BYTES + 13,
        ] {
            let (file, content) = bundle(bytes);
            let (list, root) = list_of(&file, bytes);
            let digest = Digest::of_bytes(&content);
            assert_eq!(root, digest, "{bytes}");
            assert_eq!(list.len() as u64, list_bytes(bytes));
            let regions_list = part(&list, region_hash_range(bytes));
            let all = RegionHashes::open(digest, bytes, regions_list).unwrap();
            for region in 0..regions(bytes) {
                let place = block_hash_range(bytes, region);
                let own = all.blocks(region, part(&list, place)).unwrap();
                let (start, end) = (
                    region * REGION_BYTES,
                    ((region + 1) * REGION_BYTES).min(bytes),
                );
                for (from, to) in [
                    (0, REGION_BYTES),
                    (BLOCK_BYTES, 7 * BLOCK_BYTES),
                    (3 * BLOCK_BYTES, REGION_BYTES),
                    (63 * BLOCK_BYTES, 200 * BLOCK_BYTES),
                ] {
                    let (from, to) = ((start + from).min(end), (start + to).min(end));
                    let piece = part(&content, from..to);
                    assert!(
                        piece.is_empty() || own.verifies(from, piece),
                        "{bytes} {from}"
                    );
                }
            }
        }
    }

    #[test]
    fn any_changed_byte_is_detected() {
        let bytes = REGION_BYTES + 500_003;
        let (file, content) = bundle(bytes);
        let (list, digest) = list_of(&file, bytes);
        let top = part(&list, region_hash_range(bytes)).to_vec();
        for at in 0..top.len() {
            let mut changed = top.clone();
            changed[at] ^= 1;
            assert!(
                RegionHashes::open(digest, bytes, &changed).is_none(),
                "{at}"
            );
        }
        assert!(RegionHashes::open(digest, bytes, &top[32..]).is_none());
        let all = RegionHashes::open(digest, bytes, &top).unwrap();
        let own = part(&list, block_hash_range(bytes, 1)).to_vec();
        for at in (0..own.len()).step_by(97) {
            let mut changed = own.clone();
            changed[at] ^= 1;
            assert!(all.blocks(1, &changed).is_none(), "{at}");
        }
        assert!(all.blocks(0, &own).is_none());
        assert!(all.blocks(1, &own[32..]).is_none());
        let own = all.blocks(1, &own).unwrap();
        let start = REGION_BYTES + 3 * BLOCK_BYTES;
        let mut piece = part(&content, start..start + 90 * BLOCK_BYTES).to_vec();
        assert!(own.verifies(start, &piece));
        assert!(!own.verifies(start + BLOCK_BYTES, &piece));
        assert!(!own.verifies(start + 1, &piece));
        assert!(!own.verifies(start, &piece[1..]));
        for at in (0..piece.len()).step_by(997) {
            piece[at] ^= 1;
            assert!(!own.verifies(start, &piece), "{at}");
            piece[at] ^= 1;
        }
        let mut tail = part(&content, start..bytes).to_vec();
        assert!(own.verifies(start, &tail));
        tail.push(0);
        assert!(!own.verifies(start, &tail));
    }
}
