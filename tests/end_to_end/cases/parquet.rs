//! Prints a Parquet table as pandas' `to_csv(index=False)` does.

use std::fs::File;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type};
use prep_formats::pandas::CsvWriter;
use prep_formats::parquet::ParquetTable;

const BATCH_ROWS: usize = 8192;

pub fn to_csv(table: &ParquetTable<File>) -> Vec<u8> {
    let mut out = CsvWriter::new(Vec::new());
    let schema = table.schema().clone();
    out.header(schema.fields().iter().map(|field| field.name().as_str()))
        .expect("memory");
    for batch in table.batches(None, None, BATCH_ROWS).expect("a table") {
        let batch = batch.expect("rows");
        for row in 0..batch.num_rows() {
            for column in batch.columns() {
                print(&mut out, column.as_ref(), row);
            }
            out.end_row().expect("memory");
        }
    }
    out.finish().expect("memory")
}

fn print(out: &mut CsvWriter<Vec<u8>>, column: &dyn Array, row: usize) {
    if column.is_null(row) {
        return out.missing();
    }
    match column.data_type() {
        DataType::Boolean => out.bool(column.as_boolean().value(row)),
        DataType::Int16 => out.integer(column.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => out.integer(column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => out.integer(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => out.f32(column.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => out.f64(column.as_primitive::<Float64Type>().value(row)),
        other => panic!("no case has a column of type {other}"),
    }
}
