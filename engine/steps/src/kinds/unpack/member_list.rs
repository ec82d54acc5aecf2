//! The members of an archive, and their positions in the file that contains their bytes.

use prep_cache::Digest;

use crate::value::{ContentRef, TreeBuilder};

/// Collects members before the digest of the file that contains them is known.
pub(super) struct MemberList {
    prefix: String,
    members: Vec<ListedMember>,
}

struct ListedMember {
    path: String,
    /// Offset and length of its bytes. `None` for a directory.
    range: Option<(u64, u64)>,
    crc32: Option<u32>,
}

impl MemberList {
    pub fn new(prefix: &str) -> MemberList {
        MemberList {
            prefix: prefix.to_owned(),
            members: Vec::new(),
        }
    }

    pub fn add(&mut self, path: &str, range: Option<(u64, u64)>, crc32: Option<u32>) {
        self.members.push(ListedMember {
            path: format!("{}{path}", self.prefix),
            range,
            crc32,
        });
    }

    /// Returns the members as ranges of `base`.
    pub fn files(self, base: Digest, layered: bool) -> TreeBuilder {
        let mut files = TreeBuilder::default();
        for ListedMember { path, range, crc32 } in self.members {
            let content = range.map(|(offset, bytes)| ContentRef::Slice {
                base,
                layered,
                offset,
                bytes,
                crc32,
            });
            files.push(&path, content.as_ref());
        }
        files
    }
}
