//! Arbitrary bytes are read as records or rejected, and arbitrary payloads as examples or rejected.

use prep_formats::tfrecord::{Example, TfRecords};

pub fn check(data: &[u8]) {
    for record in TfRecords::new(data).map_while(Result::ok) {
        let _ = Example::new(&record.payload).feature("image_name");
    }
    let _ = Example::new(data).feature("image_name");
}
