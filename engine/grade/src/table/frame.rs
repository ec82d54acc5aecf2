//! The tables that are graded: CSV files as pandas reads them.

pub use prep_formats::pandas::{ColumnData, Frame, ObjectValue};
