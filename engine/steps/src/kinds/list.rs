//! `list`: one of the pipeline's lists as a table, a row per text.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_formats::pandas::{Column, ColumnType};
use prep_sql::VALUE;

use super::one;
use crate::value::TableWriter;

pub(crate) struct List {
    pub texts: Vec<String>,
}

impl Step for List {
    fn kind(&self) -> &'static str {
        "list"
    }

    fn version(&self) -> u32 {
        2
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "texts": self.texts })
    }

    fn run(&self, context: &Context, _inputs: &Inputs) -> Result<Outputs, StepError> {
        let column = Column {
            name: VALUE.to_owned(),
            kind: ColumnType::Text,
            nullable: self.texts.iter().any(String::is_empty),
        };
        let mut table = TableWriter::new(context, vec![column])?;
        for text in &self.texts {
            table.cells().text(text);
            table.end_row()?;
        }
        Ok(one(table.finish()?.into_value()))
    }
}
