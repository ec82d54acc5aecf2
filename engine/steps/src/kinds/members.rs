//! `members`: searches the tables for the members of JSON values that queries name. A member that no row has is usually
//! misspelled.

use std::collections::{BTreeMap, BTreeSet};

use prep_core::StepError;
use prep_spec::alternatives;
use prep_spec::model::Query;

use super::check::outcome_of;
use super::function_step::FunctionStep;
use crate::relation::open;
use crate::value::input;

/// Creates the step. Its inputs are the tables that `queries` read. Its result is a list of warnings.
pub(crate) fn members(queries: Vec<Query>) -> FunctionStep {
    let keys: Vec<&str> = queries.iter().map(|query| query.key.as_str()).collect();
    let params = serde_json::json!({ "queries": keys });
    FunctionStep::new("members", 1, params, move |context, inputs| {
        let mut warnings = BTreeSet::new();
        for query in &queries {
            let tables = query.tables.iter().map(|name| {
                let table = open(context, input(inputs, name)?)?;
                Ok((name.clone(), table.relation))
            });
            let tables: BTreeMap<_, _> = tables.collect::<Result<_, StepError>>()?;
            let stop = || context.cancel.is_cancelled();
            let absent = prep_sql::absent_members(query, &tables, &stop);
            for member in absent.map_err(StepError::input)? {
                let known = member.known.iter().map(String::as_str);
                let name = member.path.rsplit('.').next().unwrap_or_default();
                warnings.insert(format!(
                    "no row of `{}` has the member `{}` in `{}`; {}",
                    member.table,
                    member.path,
                    member.column,
                    alternatives(name, "the object", known)
                ));
            }
            context.check()?;
        }
        Ok(outcome_of(serde_json::json!(warnings)))
    })
}
