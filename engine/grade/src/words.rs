//! Texts as lists of words.

use crate::python::numeric::is_python_space;

/// The words of a text, as Python's `str.split()` finds them: between blanks of any kind and number.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_python_space).filter(|word| !word.is_empty())
}
