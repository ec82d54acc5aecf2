//! Reads any bytes as an image. It is decoded or rejected, and has the size of its header.

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
