//! Writes zip archives byte by byte, so that tests can create any kind of invalid archive.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use flate2::write::DeflateEncoder;
use flate2::{Compress, Compression, FlushCompress};
use prep_formats::limits::DecodingLimits;
use prep_formats::zip::ZipDirectory;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const FILE: u32 = 0o100_644;
const SYMLINK: u32 = 0o120_777;

/// A member of a zip. Its declared values may be wrong.
#[derive(Debug, Clone)]
pub struct Member {
    name: String,
    data: Vec<u8>,
    method: u16,
    size: u32,
    crc: u32,
    mode: u32,
    /// Whether the member refers to the local record of the previous member.
    shared: bool,
}

impl Member {
    pub fn stored(name: &str, content: impl AsRef<[u8]>) -> Member {
        let content = content.as_ref();
        Member {
            name: name.to_owned(),
            data: content.to_vec(),
            method: STORED,
            size: u32::try_from(content.len()).expect("a small member"),
            crc: crc32fast::hash(content),
            mode: FILE,
            shared: false,
        }
    }

    pub fn deflated(name: &str, content: impl AsRef<[u8]>) -> Member {
        let content = content.as_ref();
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).expect("memory");
        Member {
            data: encoder.finish().expect("memory"),
            method: DEFLATED,
            ..Member::stored(name, content)
        }
    }

    /// Returns a member of zeros at deflate's best ratio: 1 MiB becomes about 1 KiB.
    pub fn zeros(name: &str, mebibytes: u32) -> Member {
        Member::repeated(name, &[(&[0; 1 << 20], mebibytes)])
    }

    /// Returns a deflated member. `parts` are pairs of a text and the number of its repetitions. Only one copy of each
    /// text is compressed.
    pub fn repeated(name: &str, parts: &[(&[u8], u32)]) -> Member {
        let mut data = Vec::new();
        let mut crc = crc32fast::Hasher::new();
        let mut size = 0;
        for (part, times) in parts {
            let mut encoder = Compress::new(Compression::best(), false);
            let mut block = Vec::with_capacity(part.len() + 64);
            // A full flush ends at a byte boundary, and later blocks do not refer to earlier ones. So this block can repeat.
            encoder
                .compress_vec(part, &mut block, FlushCompress::Full)
                .expect("memory");
            assert_eq!(encoder.total_in(), part.len() as u64);
            let mut checksum = crc32fast::Hasher::new();
            checksum.update(part);
            data.reserve(block.len() * *times as usize + 2);
            for _ in 0..*times {
                data.extend(&block);
                crc.combine(&checksum);
            }
            size += part.len() * *times as usize;
        }
        data.extend([0x03, 0x00]); // an empty last block
        Member {
            data,
            method: DEFLATED,
            size: u32::try_from(size).expect("a member below 4 GB"),
            crc: crc.finalize(),
            ..Member::stored(name, "")
        }
    }

    pub fn symlink(name: &str, target: &str) -> Member {
        Member {
            mode: SYMLINK,
            ..Member::stored(name, target)
        }
    }

    pub fn named(self, name: &str) -> Member {
        let name = name.to_owned();
        Member { name, ..self }
    }

    pub fn crc(self, crc: u32) -> Member {
        Member { crc, ..self }
    }

    pub fn size(self, size: u32) -> Member {
        Member { size, ..self }
    }

    pub fn shared(self) -> Member {
        Member {
            shared: true,
            ..self
        }
    }

    /// Appends the fields that local and central records have in common.
    fn common(&self, out: &mut Vec<u8>) {
        let length = u32::try_from(self.data.len()).expect("a small member");
        out.extend(20_u16.to_le_bytes()); // version needed
        out.extend(0x0800_u16.to_le_bytes()); // names are UTF-8
        out.extend(self.method.to_le_bytes());
        out.extend(0_u16.to_le_bytes()); // 00:00
        out.extend(0x0021_u16.to_le_bytes()); // 1980-01-01
        out.extend(self.crc.to_le_bytes());
        out.extend(length.to_le_bytes());
        out.extend(self.size.to_le_bytes());
        let name = u16::try_from(self.name.len()).expect("a short name");
        out.extend(name.to_le_bytes());
        out.extend(0_u16.to_le_bytes()); // no extra fields
    }
}

#[derive(Debug, Default, Clone)]
pub struct Archive {
    members: Vec<Member>,
}

impl Archive {
    pub fn new() -> Archive {
        Archive::default()
    }

    pub fn file(self, name: &str, content: impl AsRef<[u8]>) -> Archive {
        self.member(Member::stored(name, content))
    }

    pub fn member(mut self, member: Member) -> Archive {
        self.members.push(member);
        self
    }

    /// Puts the member before all others.
    pub fn first(mut self, member: Member) -> Archive {
        self.members.insert(0, member);
        self
    }

    pub fn damage(mut self, name: &str) -> Archive {
        let member = self.members.iter_mut().find(|member| member.name == name);
        member.expect("a member of this name").crc ^= 1;
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut directory = Vec::new();
        let mut start = 0_u32;
        for member in &self.members {
            if !member.shared {
                start = offset(&out);
                out.extend(b"PK\x03\x04");
                member.common(&mut out);
                out.extend(member.name.as_bytes());
                out.extend(&member.data);
            }
            directory.extend(b"PK\x01\x02");
            directory.extend(0x0314_u16.to_le_bytes()); // made on Unix
            member.common(&mut directory);
            directory.extend([0; 6]); // no comment, disk 0, no attributes
            directory.extend((member.mode << 16).to_le_bytes());
            directory.extend(start.to_le_bytes());
            directory.extend(member.name.as_bytes());
        }
        let (place, count) = (offset(&out), u16::try_from(self.members.len()));
        let count = count.expect("less than 65,536 members").to_le_bytes();
        out.extend(&directory);
        out.extend(b"PK\x05\x06\0\0\0\0");
        out.extend(count);
        out.extend(count);
        out.extend(offset(&directory).to_le_bytes());
        out.extend(place.to_le_bytes());
        out.extend(0_u16.to_le_bytes());
        out
    }
}

pub fn zip_members(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let range = 0..archive.len() as u64;
    let listing = ZipDirectory::read(archive, range, &DecodingLimits::default().budget(1 << 30))
        .expect("a zip");
    let members = listing.entries().into_iter().map(|entry| {
        let mut content = Vec::new();
        let mut reader = entry.open(archive).expect("a member");
        reader.read_to_end(&mut content).expect("its content");
        (entry.path.clone(), content)
    });
    members.collect()
}

fn offset(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("less than 4 GiB")
}
