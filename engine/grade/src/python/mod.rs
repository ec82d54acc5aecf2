//! Reproduces Python's and NumPy's number formats, arithmetic and sort order, because the last digits of a score depend
//! on them.

pub(crate) mod integer;
pub mod numeric;
pub(crate) mod python_sort;
