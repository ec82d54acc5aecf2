//! `query`: the result of a SQL query as a table, stored as canonical text.

use prep_spec::model::Query;
use prep_sql::Session;

use super::function_step::FunctionStep;
use super::single_output;
use crate::emit::store_table;
use crate::relation::{QueryRun, query_memory};

pub(crate) fn query_table(query: Query, session: Session) -> FunctionStep {
    let params = serde_json::json!({ "sql": query.normal });
    let memory_query = query.clone();
    let function = FunctionStep::new("query", 4, params, move |context, inputs| {
        let run = QueryRun {
            session: &session,
            query: &query,
            context,
            inputs,
        };
        Ok(single_output(store_table(run)?.into_value()))
    });
    function.memory(move |inputs| query_memory(&memory_query, inputs))
}
