//! Decodes recorded bytes, which are stored as hexadecimal digits.

pub fn unhex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).unwrap() as u8;
    text.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}
