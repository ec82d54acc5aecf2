//! Reads arbitrary bytes as an image. The image must be decoded with the size in its header, or rejected.

use prep_contents::DecodingLimits;
use prep_contents::pixels::Pixels;

pub fn check(data: &[u8]) {
    let limits = DecodingLimits {
        pixels: 1 << 20,
        ..DecodingLimits::default()
    };
    if let Ok(found) = Pixels::decode(data, &limits) {
        let pixels = found.width * found.height;
        assert!(pixels as u64 <= limits.pixels);
        assert_eq!(found.bytes.len(), pixels * found.stride());
    }
}
