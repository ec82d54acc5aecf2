//! Any bytes are listed and read, or refused; both ways of reading agree, and
//! nothing beyond the declared size is handed out.

use std::io::Read;

use prep_formats::zip::{MemberInflater, ZipLimits, ZipListing};

pub fn check(data: &[u8]) {
    let limits = ZipLimits {
        max_total: 1 << 24,
        ..ZipLimits::default()
    };
    let Ok(zip) = ZipListing::read(data, 0..data.len() as u64, &limits) else {
        return;
    };
    let mut inflater = MemberInflater::default();
    let (mut whole, mut streamed) = (Vec::new(), Vec::new());
    for entry in &zip.entries {
        assert!(!entry.path.starts_with('/') && !entry.path.split('/').any(|part| part == ".."));
        streamed.clear();
        let read = inflater.read_into(data, entry, &mut whole);
        let stream = entry
            .open(data)
            .map_err(std::io::Error::from)
            .and_then(|mut reader| reader.read_to_end(&mut streamed));
        assert_eq!(read.is_ok(), stream.is_ok());
        assert!(streamed.len() as u64 <= entry.size);
        if read.is_ok() {
            assert_eq!(whole, streamed);
        }
    }
}
