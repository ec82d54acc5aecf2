//! Reads a NumPy array: extracts it into the cache, where its entries are read in place.

use prep_core::{Context, StepError};
use prep_formats::npy::NpyArray;
use prep_formats::pandas::{ColumnType, Schema};
use prep_spec::words::{CellContent, Word};
use prep_sql::{RECORD_COLUMN, VALUE_COLUMN};

use super::{ReadFormat, ReadSpec, check_columns, extracted, failed};
use crate::relation::element_type;
use crate::value::{ContentRef, Opener, TableStorage, TableValue, column};

pub(super) const FORMAT: ReadFormat = ReadFormat {
    word: Word {
        name: "npy",
        doc: "a NumPy array, `.npy`: one row per entry of the first axis, in the hidden column `record`. If there is no other axis, the column `value` has its value",
    },
    endings: &["npy"],
    record: Some(CellContent::Entries),
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
    let array = NpyArray::open(file, 0..content.bytes()).map_err(|cause| failed(read, cause))?;
    let header = array.header();
    let mut columns = Vec::new();
    if let (1, Some(kind)) = (header.shape.len(), header.element_kind()) {
        columns.push(column(VALUE_COLUMN, element_type(kind), true));
    }
    let record = columns.len();
    // No cell of this column is read as text.
    columns.push(column(RECORD_COLUMN, ColumnType::Text, false));
    let mut schema = Schema {
        columns,
        rows: header.rows(),
    };
    let declared = check_columns(read, &mut schema).map_err(|error| error.error_at(read))?;
    let object = *content.base();
    let storage = TableStorage::Npy { object };
    let mut table = declared.table(schema, storage, content.bytes());
    table.hidden.insert(record);
    Ok(table)
}
