//! Compares the sizes of images with Pillow (see `tests/data/images/record_headers.py`).

use crate::hex;
use hex::unhex;
use prep_formats::image::{ImageError, ImageFormat, ImageHeader};
use proptest::prelude::*;
use serde_json::Value;

fn recorded() -> Vec<Value> {
    serde_json::from_str(include_str!("data/images/headers.json")).unwrap()
}

#[test]
fn image_sizes_equal_those_of_pillow() {
    let cases = recorded();
    assert!(cases.len() > 200);
    for case in cases {
        let file = unhex(case["hex"].as_str().unwrap());
        let header = ImageHeader::read(file.as_slice()).unwrap_or_else(|error| {
            panic!("{}: {error}", case["name"]);
        });
        let format = match case["format"].as_str().unwrap() {
            "PNG" => ImageFormat::Png,
            "GIF" => ImageFormat::Gif,
            "BMP" => ImageFormat::Bmp,
            "TIFF" => ImageFormat::Tiff,
            "JPEG" => ImageFormat::Jpeg,
            other => panic!("{other}"),
        };
        let size = &case["size"];
        assert_eq!(header.format, format, "{}", case["name"]);
        assert_eq!(
            (u64::from(header.width), u64::from(header.height)),
            (size[0].as_u64().unwrap(), size[1].as_u64().unwrap()),
            "{}",
            case["name"]
        );
    }
}

#[test]
fn invalid_image_headers_are_errors() {
    let html = ImageHeader::read(&b"<html></html>"[..]).unwrap_err();
    assert_eq!(
        html.to_string(),
        "got HTML, expected an image (PNG, JPEG, GIF, BMP or TIFF)"
    );
    let none = ImageHeader::read(&b""[..]).unwrap_err();
    assert!(matches!(none, ImageError::Truncated { position: 0 }));
    // JPEG: the data begin before the frame header, and a segment is too short. PNG: the first chunk is not IHDR. BigTIFF:
    // offsets of four bytes. TIFF: the directory is inside the header. BMP: a header of one byte.
    for file in [
        &b"\xff\xd8\xff\xda\0\x02"[..],
        b"\xff\xd8\xff\xe0\0\x01",
        b"\x89PNG\r\n\x1a\n\0\0\0\x0dIDAT",
        b"II\x2b\0\x04\0\0\0",
        b"II\x2a\0\x02\0\0\0",
        b"BM0123456789ab\x01\0\0\0",
    ] {
        let found = ImageHeader::read(file);
        assert!(
            matches!(found, Err(ImageError::Damaged { .. })),
            "{found:?}"
        );
    }
}

proptest! {
    /// Truncated or damaged files are read or rejected. Bytes after a complete header do not matter.
    #[test]
    fn damaged_headers_do_not_panic(
        which in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        place in any::<prop::sample::Index>(),
        value in any::<u8>(),
    ) {
        let cases = recorded();
        let file = unhex(which.get(&cases)["hex"].as_str().unwrap());
        let whole = ImageHeader::read(file.as_slice()).unwrap();
        let end = cut.index(file.len());
        if let Ok(header) = ImageHeader::read(&file[..end]) {
            prop_assert_eq!(header, whole);
        }
        let mut damaged = file.clone();
        damaged[place.index(file.len())] = value;
        let _ = ImageHeader::read(damaged.as_slice());
    }
}
