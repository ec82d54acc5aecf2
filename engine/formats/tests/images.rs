//! Compares PNG images with Pillow (see `tests/data/images/record.py`).

use crate::hex;
use hex::unhex;
use prep_formats::limits::DecodingLimits;
use prep_formats::png::{PngError, decode_grey};

use proptest::prelude::*;
use serde_json::Value;

/// Pillow rejects an image with more pixels as a decompression bomb.
const MAX_PIXELS: u64 = 178_956_970;

/// Returns limits with a maximum number of pixels.
fn pixels(pixels: u64) -> DecodingLimits {
    DecodingLimits {
        pixels,
        ..DecodingLimits::default()
    }
}

fn recorded() -> serde_json::Map<String, Value> {
    serde_json::from_str(include_str!("data/images/grey.json")).unwrap()
}

#[test]
fn grey_values_equal_those_of_pillow() {
    for (name, case) in recorded() {
        let file = unhex(case["png"].as_str().unwrap());
        let found = decode_grey(&file, &pixels(MAX_PIXELS));
        match case["grey"].as_str() {
            Some(grey) => {
                let image = found.unwrap();
                assert_eq!((image.width, image.height), (13, 7), "{name}");
                assert_eq!(image.pixels, unhex(grey), "{name}");
            }
            None => assert!(matches!(found, Err(PngError::SixteenBit)), "{name}"),
        }
    }
}

#[test]
fn invalid_png_images_are_errors() {
    let file = unhex(recorded()["rgb"]["png"].as_str().unwrap());
    let html = decode_grey(b"<html></html>", &pixels(MAX_PIXELS)).unwrap_err();
    assert!(
        html.to_string()
            .starts_with("got HTML, 13 B, expected a PNG"),
        "{html}"
    );
    assert!(matches!(
        decode_grey(&file[..20], &pixels(MAX_PIXELS)),
        Err(PngError::NotAPng { size: 20, .. })
    ));
    assert!(matches!(
        decode_grey(&file, &pixels(90)),
        Err(PngError::TooLarge { cause, .. }) if cause.allowed == 90
    ));
    for length in [40, file.len() / 2, file.len() - 13] {
        assert!(
            matches!(
                decode_grey(&file[..length], &pixels(1000)),
                Err(PngError::Damaged(_))
            ),
            "{length}"
        );
    }
    let mut huge = file.clone();
    huge[16..24].fill(0x7f);
    // If the checksum of the header is wrong, the damage is reported, not the declared size.
    assert!(matches!(
        decode_grey(&huge, &pixels(MAX_PIXELS)),
        Err(PngError::HeaderCrc)
    ));
    let sum = crc32fast::hash(&huge[12..29]);
    huge[29..33].copy_from_slice(&sum.to_be_bytes());
    assert!(matches!(
        decode_grey(&huge, &pixels(MAX_PIXELS)),
        Err(PngError::TooLarge { .. })
    ));
}

proptest! {
    #[test]
    fn damaged_images_do_not_panic(which in 0usize..20, place in any::<prop::sample::Index>(), value in any::<u8>()) {
        let images = recorded();
        let (_, case) = images.iter().nth(which % images.len()).unwrap();
        let mut file = unhex(case["png"].as_str().unwrap());
        let place = place.index(file.len());
        file[place] = value;
        let _ = decode_grey(&file, &pixels(10_000));
    }
}
