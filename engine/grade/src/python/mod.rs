//! Python's and NumPy's numbers, arithmetic and order, where the last digits of a score depend on them.

pub mod integer;
pub mod numeric;
pub mod python_sort;
