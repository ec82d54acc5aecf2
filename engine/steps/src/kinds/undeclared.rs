//! Steps without a declaration: tables of lists and queries, and the trees of further sources.

use prep_core::{DirectoryValue, FileValue, StepError};
use prep_formats::pandas::ColumnType;
use prep_spec::model::Query;
use prep_sql::{Session, VALUE_COLUMN};

use super::function_step::FunctionStep;
use crate::emit::store_table;
use crate::value::{ContentRef, TableWriter, TreeBuilder, column, input};

/// Creates the step of a table whose values the pipeline lists. The table has a single column of strings.
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

/// Creates the step of a table that a query computes.
pub(crate) fn query_table(query: &Query, session: &Session) -> FunctionStep {
    let params = serde_json::json!({});
    FunctionStep::of_query("query", query, params, session, |run| {
        Ok(store_table(run)?.into_value())
    })
}

/// Creates the step that builds the tree of the source `name`. If the source is a single file, `file` is the file's name.
pub(crate) fn source_tree(name: String, file: Option<String>) -> FunctionStep {
    let params = serde_json::json!({ "name": name, "file": file });
    FunctionStep::new("source", 2, params, move |context, inputs| {
        let value = input(inputs, "source")?;
        let mut files = TreeBuilder::default();
        let mut push = |path: &str, digest, bytes| {
            let content = ContentRef::Object { digest, bytes };
            files.push(&format!("{name}:{path}"), Some(&content));
        };
        match &file {
            Some(name) => {
                let file = FileValue::from_value(value)?;
                push(name, file.digest, file.bytes);
            }
            None => {
                for (path, file) in DirectoryValue::from_value(value)?.files {
                    push(&path, file.digest, file.bytes);
                }
            }
        }
        let tree = files.finish(&context.cancel).map_err(StepError::internal)?;
        tree.save(context)
    })
}
