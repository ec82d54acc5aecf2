//! Arbitrary bytes are read as an image header or rejected.

use prep_formats::image::ImageHeader;

pub fn check(data: &[u8]) {
    if let Ok(header) = ImageHeader::read(data) {
        let longer = [data, &[0; 64]].concat();
        assert_eq!(
            ImageHeader::read(longer.as_slice()).expect("more bytes do not matter"),
            header
        );
    }
}
