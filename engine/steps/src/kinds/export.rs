//! `csv`, `json`, `parquet`, `npy`, `lines`: the rows of a query as a file.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_spec::model::{Query, Quoting};
use prep_sql::Session;

use super::{QUERY_MEMORY, one};
use crate::emit::{write_csv, write_json, write_lines, write_npy, write_parquet};

/// The form of the file.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    Csv { delimiter: u8, quoting: Quoting },
    Json { indent: Option<usize> },
    Parquet,
    Npy,
    Lines,
}

pub(crate) struct Export {
    pub query: Query,
    pub form: Form,
    pub session: Session,
}

impl Step for Export {
    fn kind(&self) -> &'static str {
        match self.form {
            Form::Csv { .. } => "csv",
            Form::Json { .. } => "json",
            Form::Parquet => "parquet",
            Form::Npy => "npy",
            Form::Lines => "lines",
        }
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        let sql = &self.query.normal;
        match self.form {
            Form::Csv { delimiter, quoting } => {
                let quoting = match quoting {
                    Quoting::Minimal => "minimal",
                    Quoting::NonNumeric => "nonnumeric",
                };
                serde_json::json!({ "sql": sql, "delimiter": char::from(delimiter), "quoting": quoting })
            }
            Form::Json { indent } => serde_json::json!({ "sql": sql, "indent": indent }),
            Form::Parquet | Form::Npy | Form::Lines => serde_json::json!({ "sql": sql }),
        }
    }

    fn memory(&self, _inputs: &Inputs) -> u64 {
        QUERY_MEMORY
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let file = match self.form {
            Form::Csv { delimiter, quoting } => write_csv(
                &self.session,
                &self.query,
                context,
                inputs,
                delimiter,
                quoting,
            )?,
            Form::Json { indent } => {
                write_json(&self.session, &self.query, context, inputs, indent)?
            }
            Form::Parquet => write_parquet(&self.session, &self.query, context, inputs)?,
            Form::Npy => write_npy(&self.session, &self.query, context, inputs)?,
            Form::Lines => write_lines(&self.session, &self.query, context, inputs)?,
        };
        Ok(one(file.into_value()))
    }
}
