//! Reads a parquet file: extracts it into the cache, where it is read in place.

use prep_core::{Context, StepError};
use prep_formats::pandas::{ColumnType, Schema};
use prep_formats::parquet::ParquetTable;
use prep_spec::words::Word;

use super::{ReadFormat, ReadSpec, check_columns, extracted, failed};
use crate::emit::column_type;
use crate::limits::limits;
use crate::value::{ContentRef, Opener, TableStorage, TableValue, column};

pub(super) const FORMAT: ReadFormat = ReadFormat {
    word: Word {
        name: "parquet",
        doc: "Apache Parquet, `.parquet`",
    },
    endings: &["parquet"],
    record: None,
    read,
    plain: None,
};

fn read(
    context: &Context,
    opener: &Opener,
    content: &ContentRef,
    read: &ReadSpec,
) -> Result<TableValue, StepError> {
    let (content, file) = extracted(context, opener, content, read)?;
    let table = ParquetTable::open(file, 0..content.bytes(), &limits(context))
        .map_err(|cause| failed(read, cause))?;
    let columns = table.schema().fields().iter().map(|field| {
        // Only used to check declarations.
        let kind = column_type(field.data_type()).unwrap_or(ColumnType::Text);
        column(field.name(), kind, field.is_nullable())
    });
    let mut schema = Schema {
        columns: columns.collect(),
        rows: table.rows(),
    };
    let declared = check_columns(read, &mut schema).map_err(|error| error.error_at(read))?;
    let names: Vec<&str> = schema
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    let bytes = table.decoded_bytes(&names);
    let object = *content.base();
    Ok(declared.table(schema, TableStorage::Parquet { object }, bytes))
}
