//! Writes the rows of a query as a file.
//!
//! A column that the query only passed on arrives as origins, and its cells are copied as text. Computed columns are
//! printed like pandas prints their type.

mod cells;
mod csv;
mod json;
mod lines;
mod npy;
mod parquet;
mod table;

pub(crate) use cells::column_type;
pub(crate) use csv::write_csv;
pub(crate) use json::{
    JsonFormat, JsonLibrary, JsonObjectWriter, for_each_record, write_json, write_json_lines,
};
pub(crate) use lines::write_lines;
pub(crate) use npy::write_npy;
pub(crate) use parquet::write_parquet;
pub(crate) use table::{store_table, store_values};
