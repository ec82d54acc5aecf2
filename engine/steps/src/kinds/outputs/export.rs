//! Steps that write the rows of a query as a file.

use prep_core::{FileValue, Step, StepError};
use prep_spec::model::Query;
use prep_sql::Session;

use crate::kinds::function_step::FunctionStep;
use crate::kinds::single_output;
use crate::relation::{QueryRun, query_memory};

/// A step that writes the rows of a query. `params` are its parameters other than the query.
pub(super) fn export(
    kind: &'static str,
    query: &Query,
    mut params: serde_json::Value,
    session: &Session,
    write: impl Fn(QueryRun<'_>) -> Result<FileValue, StepError> + Send + Sync + 'static,
) -> Option<Box<dyn Step>> {
    if let Some(params) = params.as_object_mut() {
        params.insert("sql".to_owned(), query.normal.clone().into());
    }
    let (session, memory_query, query) = (session.clone(), query.clone(), query.clone());
    let function = FunctionStep::new(kind, 4, params, move |context, inputs| {
        let file = write(QueryRun {
            session: &session,
            query: &query,
            context,
            inputs,
        })?;
        Ok(single_output(file.into_value()))
    });
    function
        .memory(move |inputs| query_memory(&memory_query, inputs))
        .step()
}
