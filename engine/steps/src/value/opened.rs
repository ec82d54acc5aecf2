//! Opened texts of tables, kept for the steps that come next.

use std::sync::Arc;

use prep_cache::Digest;
use prep_core::{Context, StepError};
use prep_formats::pandas::{RowIndex, Schema, TextTable};

/// Opens a table that was just written, whose rows start where `index` says, for the steps that come next.
pub(crate) fn keep_text(
    context: &Context,
    object: &Digest,
    schema: &Schema,
    index: RowIndex,
) -> Result<(), StepError> {
    let open = || {
        let object = context.store.open_private(object)?;
        TextTable::open_with(object.file(), schema.clone(), index).map_err(StepError::internal)
    };
    context.kept(object, open, TextTable::index_bytes).map(drop)
}

/// Opens a text as a table with a schema, or finds it open.
pub(crate) fn open_text(
    context: &Context,
    object: &Digest,
    schema: &Schema,
) -> Result<Arc<TextTable>, StepError> {
    let open = || {
        let object = context.store.open_private(object)?;
        TextTable::open(object.file(), schema.clone()).map_err(StepError::internal)
    };
    let text = context.kept(object, open, TextTable::index_bytes)?;
    // The same bytes may have been read with other types.
    match text.schema() == schema {
        true => Ok(text),
        false => {
            let own = text.with_schema(schema.clone());
            Ok(Arc::new(own.map_err(StepError::internal)?))
        }
    }
}
