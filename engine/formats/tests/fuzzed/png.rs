//! Arbitrary bytes are decoded or rejected. A decoded image has all its pixels.

use prep_formats::limits::DecodingLimits;
use prep_formats::png::decode_grey;

pub fn check(data: &[u8]) {
    let limits = DecodingLimits {
        pixels: 1 << 20,
        ..DecodingLimits::default()
    };
    if let Ok(image) = decode_grey(data, &limits) {
        assert_eq!(
            image.pixels.len() as u64,
            u64::from(image.width) * u64::from(image.height)
        );
    }
}
