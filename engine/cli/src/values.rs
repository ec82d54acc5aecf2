//! Values of options that more than one module reads.

/// Reads an integer of at least 1.
///
/// # Errors
/// If the text is not such a number.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected an integer of at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}
