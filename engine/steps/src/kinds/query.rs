//! `query`: the result of a SQL query as a table, stored as canonical text.

use prep_spec::model::Query;
use prep_sql::Session;

use super::function_step::FunctionStep;
use crate::emit::store_table;

pub(crate) fn query_table(query: &Query, session: &Session) -> FunctionStep {
    let params = serde_json::json!({});
    FunctionStep::of_query("query", query, params, session, |run| {
        Ok(store_table(run)?.into_value())
    })
}
