//! Any bytes are decoded or refused; a decoded image has all its pixels.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prep_formats::png::decode_grey;

fuzz_target!(|data: &[u8]| {
    if let Ok(image) = decode_grey(data, 1 << 20) {
        assert_eq!(
            image.pixels.len() as u64,
            u64::from(image.width) * u64::from(image.height)
        );
    }
});
