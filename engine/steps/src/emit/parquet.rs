//! Rows of a query as a parquet file.

use prep_core::{Context, FileValue, Inputs, StepError};
use prep_formats::parquet::ParquetWriter;
use prep_spec::model::Query;
use prep_sql::{ColumnSource, Session};

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, Schema};

use crate::relation::{Running, Wanted, open_tables};

/// Writes the values of a query's rows, in order.
pub(crate) fn write_parquet(
    session: &Session,
    query: &Query,
    context: &Context,
    inputs: &Inputs,
) -> Result<FileValue, StepError> {
    let tables = open_tables(context, inputs)?;
    let mut rows = Running::start(session, query, context, inputs, &tables, Wanted::Values)?;
    let mut fields = Vec::new();
    for column in rows.columns() {
        let ColumnSource::Values(data_type) = &column.source else {
            return Err(StepError::internal("a query for values returned origins"));
        };
        fields.push(Field::new(&column.name, data_type.clone(), true));
    }
    let columns: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let schema = std::sync::Arc::new(Schema::new(fields));
    let mut writer =
        ParquetWriter::new(context.store.writer()?, &schema).map_err(StepError::pipeline)?;
    let mut count = 0;
    while let Some(batch) = rows.next()? {
        count += batch.num_rows() as u64;
        let batch = RecordBatch::try_new(schema.clone(), batch.columns().to_vec())
            .map_err(StepError::internal)?;
        writer.write(&batch).map_err(StepError::machine)?;
    }
    let stored = writer.finish().map_err(StepError::machine)?.commit()?;
    Ok(FileValue::table(stored, count, columns))
}
