//! `query`: a table made by SQL, stored as canonical text.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_spec::model::Query;
use prep_sql::Session;

use super::one;
use crate::emit::store_table;
use crate::relation::{QueryRun, query_memory};

pub(crate) struct QueryTable {
    pub query: Query,
    pub session: Session,
}

impl Step for QueryTable {
    fn kind(&self) -> &'static str {
        "query"
    }

    fn version(&self) -> u32 {
        4
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "sql": self.query.normal })
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        query_memory(&self.query, inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let run = QueryRun {
            session: &self.session,
            query: &self.query,
            context,
            inputs,
        };
        Ok(one(store_table(run)?.into_value()))
    }
}
