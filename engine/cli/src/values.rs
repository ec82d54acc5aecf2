//! Parses values of options that several modules use.

/// Parses an integer of at least 1.
///
/// # Errors
/// Returns an error if the text is not an integer of at least 1.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected an integer of at least 1".to_owned()),
        Ok(number) => Ok(number),
    }
}
