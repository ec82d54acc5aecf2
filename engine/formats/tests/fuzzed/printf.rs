//! Arbitrary formats and run-length codes are parsed or rejected.

use prep_formats::printf::{PrintfArgument, PrintfFormat};
use prep_formats::rle;

pub fn check(data: &[u8]) {
    // The first 16 bytes are a double and an integer.
    let Some((numbers, text)) = data.split_first_chunk::<16>() else {
        return;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let (number, integer) = numbers.split_at(8);
    let number = f64::from_le_bytes(number.try_into().expect("8 bytes"));
    let integer = i64::from_le_bytes(integer.try_into().expect("8 bytes"));
    let _ = rle::area(text);
    if let Ok(format) = PrintfFormat::new(text) {
        for value in [
            PrintfArgument::Number(number),
            PrintfArgument::Integer(integer),
            PrintfArgument::Text(text),
        ] {
            let values = vec![value; format.values()];
            let _ = format.push(&values, &mut String::new());
        }
    }
}
