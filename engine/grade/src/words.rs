//! Splits texts into words.

use crate::python::numeric::is_python_space;

/// Returns the words of a text like Python's `str.split()`: separated by any amount of white space.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_python_space).filter(|word| !word.is_empty())
}
