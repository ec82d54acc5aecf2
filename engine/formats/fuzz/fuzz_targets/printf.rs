//! Any format and any run-length code is read or refused.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prep_formats::printf::{Argument, Format};
use prep_formats::rle;

fuzz_target!(|data: (&str, f64, i64)| {
    let (text, number, integer) = data;
    let _ = rle::area(text);
    if let Ok(format) = Format::new(text) {
        for value in [Argument::Number(number), Argument::Integer(integer), Argument::Text(text)] {
            let values = vec![value; format.values()];
            let _ = format.push(&values, &mut String::new());
        }
    }
});
