//! Arbitrary bytes are read as an array or rejected. An array that `gather` wrote can be read again.

use prep_formats::npy::{NpyArray, mask_code};

pub fn check(data: &[u8]) {
    let _ = mask_code(data);
    let Ok(array) = NpyArray::open(data, 0..data.len() as u64) else {
        return;
    };
    let elements = array.elements(&[0, 1, 0]);
    let mut out = Vec::new();
    if array.gather([0, 1, 0].into_iter(), &mut out).is_ok() {
        let again =
            NpyArray::open(out.as_slice(), 0..out.len() as u64).expect("a written file is valid");
        let header = again.header();
        assert_eq!(header.data_offset + header.data_bytes(), out.len() as u64);
        // The values are not compared, because a NaN does not equal itself.
        assert_eq!(elements.is_ok(), again.elements(&[0, 1, 2]).is_ok());
    }
}
