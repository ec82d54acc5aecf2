//! `to_csv(index=False)` of a query's rows.

use std::io::Write;

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use prep_core::{Context, FileValue, Inputs, StepError};
use prep_formats::pandas::{CsvWriter, GatherOptions, Quoting, gather};
use prep_spec::model::Query;
use prep_sql::Session;

use super::cells::{Cell, Layout};
use crate::relation::{Running, Wanted, open_tables};

/// Writes the rows of a query as a CSV object.
pub(crate) fn write_csv(
    session: &Session,
    query: &Query,
    context: &Context,
    inputs: &Inputs,
    delimiter: u8,
    quoting: Quoting,
) -> Result<FileValue, StepError> {
    let tables = open_tables(context, inputs)?;
    let rows = Running::start(session, query, context, inputs, &tables, Wanted::Cells)?;
    let mut layout = Layout::new(rows.columns(), &tables)?;
    let mut out = context.store.writer()?;
    let count = write_rows(context, rows, &mut layout, delimiter, quoting, &mut out)?;
    let columns = layout.columns.into_iter().map(|column| column.name);
    Ok(FileValue::table(out.commit()?, count, columns.collect()))
}

/// Writes header and rows; returns the number of rows.
pub(super) fn write_rows(
    context: &Context,
    mut rows: Running<'_>,
    layout: &mut Layout,
    delimiter: u8,
    quoting: Quoting,
    out: &mut impl Write,
) -> Result<u64, StepError> {
    let mut writer = CsvWriter::with(&mut *out, delimiter, quoting);
    writer
        .header(layout.columns.iter().map(|column| column.name.as_str()))
        .map_err(StepError::machine)?;
    let copies_rows = rows.has_single_origin() && delimiter == b',' && quoting == Quoting::Minimal;
    if let Some((table, _, places)) = layout.single_table().filter(|_| copies_rows) {
        writer.finish().map_err(StepError::machine)?;
        let mut failed = None;
        let origins = Origins {
            rows: &mut rows,
            batch: Vec::new().into_iter(),
            failed: &mut failed,
        };
        let scratch = context.temp_dir();
        let count = gather(&table, origins, &places, out, &GatherOptions::new(&scratch))
            .map_err(StepError::machine)?;
        return match failed {
            Some(error) => Err(error),
            None => Ok(count),
        };
    }
    let mut count = 0;
    while let Some(batch) = rows.next()? {
        count += batch.num_rows() as u64;
        layout.for_each_row(&batch, |cells| {
            for cell in cells {
                match *cell {
                    Cell::Missing => writer.missing(),
                    Cell::Integer(value) => writer.integer(value),
                    Cell::Unsigned(value) => writer.integer(value),
                    Cell::Float(value) => writer.f64(value),
                    Cell::Single(value) => writer.f32(value),
                    Cell::Bool(value) => writer.bool(value),
                    Cell::Text(value) => writer.text(value),
                    Cell::Slice(cell, kind) => writer.slice(cell, kind),
                }
            }
            writer.end_row().map_err(StepError::machine)
        })?;
    }
    writer.finish().map_err(StepError::machine)?;
    Ok(count)
}

/// The origins of a result's rows, pulled batch by batch; ends early on an error, which it leaves behind.
struct Origins<'a, 'r> {
    rows: &'a mut Running<'r>,
    batch: std::vec::IntoIter<u64>,
    failed: &'a mut Option<StepError>,
}

impl Iterator for Origins<'_, '_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            if let Some(origin) = self.batch.next() {
                return Some(origin);
            }
            match self.rows.next() {
                Ok(Some(batch)) => {
                    self.batch = batch
                        .column(0)
                        .as_primitive::<UInt64Type>()
                        .values()
                        .to_vec()
                        .into_iter();
                }
                Ok(None) => return None,
                Err(error) => {
                    *self.failed = Some(error);
                    return None;
                }
            }
        }
    }
}
