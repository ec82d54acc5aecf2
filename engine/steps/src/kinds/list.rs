//! `list`: a list of the pipeline as a table, with one row per text.

use prep_formats::pandas::ColumnType;
use prep_sql::VALUE_COLUMN;

use super::function_step::FunctionStep;
use crate::value::{TableWriter, column};

pub(crate) fn list(texts: Vec<String>) -> FunctionStep {
    let params = serde_json::json!({ "texts": texts });
    FunctionStep::new("list", 2, params, move |context, _| {
        let is_nullable = texts.iter().any(String::is_empty);
        let columns = vec![column(VALUE_COLUMN, ColumnType::Text, is_nullable)];
        let mut table = TableWriter::new(context, columns)?;
        for text in &texts {
            table.cells().text(text);
            table.end_row()?;
        }
        Ok(table.finish()?.into_value())
    })
}
