//! Writes the rows of a query as a parquet file.

use std::io::Write;

use prep_core::{FileValue, StepError, Value};
use prep_formats::parquet::{FastparquetWriter, ParquetError, ParquetWriter, WriterVersions};
use prep_sql::ColumnSource;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};

use crate::relation::{QueryRun, RowForm};

/// The two supported writers.
enum AnyWriter<W: Write + Send> {
    Own(Box<ParquetWriter<W>>),
    Fastparquet(FastparquetWriter<W>),
}

impl<W: Write + Send> AnyWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        match self {
            AnyWriter::Own(writer) => writer.write(batch),
            AnyWriter::Fastparquet(writer) => writer.write(batch),
        }
    }

    fn finish(self) -> Result<W, ParquetError> {
        match self {
            AnyWriter::Own(writer) => writer.finish(),
            AnyWriter::Fastparquet(writer) => writer.finish(),
        }
    }
}

/// Writes the values of a query's rows in order. If `versions` is given, writes like these versions of fastparquet.
pub(crate) fn write_parquet(
    run: QueryRun<'_>,
    versions: Option<&WriterVersions>,
) -> Result<Value, StepError> {
    let tables = run.open_tables()?;
    let mut rows = run.start(&tables, RowForm::Values)?;
    let mut fields = Vec::new();
    for column in rows.columns() {
        let ColumnSource::Values(data_type) = &column.source else {
            return Err(StepError::internal("a query for values returned origins"));
        };
        fields.push(Field::new(&column.name, data_type.clone(), true));
    }
    let columns: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let schema = std::sync::Arc::new(Schema::new(fields));
    let out = run.context.store.writer()?;
    let mut writer = match versions {
        None => ParquetWriter::new(out, &schema).map(|writer| AnyWriter::Own(Box::new(writer))),
        Some(versions) => {
            FastparquetWriter::new(out, &schema, versions.clone(), &run.context.temp_dir())
                .map(AnyWriter::Fastparquet)
        }
    }
    .map_err(writer_error)?;
    let mut count = 0;
    while let Some(batch) = rows.next()? {
        count += batch.num_rows() as u64;
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec())
            .map_err(StepError::internal)?;
        writer.write(&batch).map_err(writer_error)?;
    }
    let stored = writer.finish().map_err(writer_error)?.commit()?;
    Ok(FileValue::table(stored, count, columns).into_value())
}

/// Errors about columns concern the pipeline, and all others the system.
fn writer_error(error: ParquetError) -> StepError {
    match error {
        ParquetError::UnsupportedType { .. } | ParquetError::PageTooLarge(_) => {
            StepError::pipeline(error)
        }
        other => StepError::machine(other),
    }
}
