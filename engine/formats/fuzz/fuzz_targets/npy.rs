//! Any bytes are an array or refused; a gathered array is read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prep_formats::npy::{NpyHeader, gather_rows};

fuzz_target!(|data: &[u8]| {
    let mut out = Vec::new();
    let positions = [0, 1, 0].into_iter();
    if gather_rows(data, 0..data.len() as u64, positions, &mut out).is_ok() {
        let header = NpyHeader::read(out.as_slice()).expect("own output is read");
        assert_eq!(header.data_offset + header.data_bytes(), out.len() as u64);
    }
});
