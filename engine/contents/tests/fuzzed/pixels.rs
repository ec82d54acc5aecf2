//! Any bytes as an image: decoded or refused, and as large as it says.

use prep_contents::Limits;
use prep_contents::pixels::Pixels;

pub fn check(data: &[u8]) {
    let limits = Limits {
        pixels: 1 << 20,
        ..Limits::default()
    };
    if let Ok(found) = Pixels::decode(data, &limits) {
        let pixels = found.width * found.height;
        assert!(pixels as u64 <= limits.pixels);
        assert_eq!(found.bytes.len(), pixels * found.stride());
    }
}
