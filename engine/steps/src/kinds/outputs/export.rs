//! The rows of a query as a file: what the kinds that write one have in common.

use prep_core::{Context, FileValue, Inputs, Outputs, Step, StepError};
use prep_spec::model::Query;
use prep_sql::Session;

use crate::kinds::one;
use crate::relation::{QueryRun, query_memory};

/// Writes the rows of a query.
type Write = dyn Fn(QueryRun<'_>) -> Result<FileValue, StepError> + Send + Sync;

pub(super) struct Export {
    kind: &'static str,
    query: Query,
    /// Parameters besides the query.
    params: serde_json::Value,
    session: Session,
    write: Box<Write>,
}

impl Export {
    pub fn step(
        kind: &'static str,
        query: &Query,
        params: serde_json::Value,
        session: &Session,
        write: impl Fn(QueryRun<'_>) -> Result<FileValue, StepError> + Send + Sync + 'static,
    ) -> Option<Box<dyn Step>> {
        Some(Box::new(Export {
            kind,
            query: query.clone(),
            params,
            session: session.clone(),
            write: Box::new(write),
        }))
    }
}

impl Step for Export {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn version(&self) -> u32 {
        4
    }

    fn params(&self) -> serde_json::Value {
        let mut params = self.params.clone();
        if let Some(params) = params.as_object_mut() {
            params.insert("sql".to_owned(), self.query.normal.clone().into());
        }
        params
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        query_memory(&self.query, inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let file = (self.write)(QueryRun {
            session: &self.session,
            query: &self.query,
            context,
            inputs,
        })?;
        Ok(one(file.into_value()))
    }
}
