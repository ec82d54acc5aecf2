//! Checks the function calls of a query: known functions, and clauses that have an effect on them.
//!
//! DataFusion's planner ignores clauses that a function does not support. For example, it would plan `upper(name)
//! FILTER (WHERE ...)` as `upper(name)`. This check runs before planning and reports such clauses with their position
//! in the query.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use datafusion::sql::sqlparser::ast::{
    DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, ObjectNamePart, Query as Ast, Visit, Visitor,
};
use prep_spec::{construct, nearest};

use crate::functions::{AGGREGATE, NON_DETERMINISTIC, SCALAR, WINDOW};
use crate::{QueryError, Session};

/// `unnest` creates a row for each element of a list. The planner handles it itself, so it is not in the list of
/// functions.
const UNNEST: &str = "unnest";

/// Aggregates whose result depends on the order of the rows. `ORDER BY` in the parentheses of other aggregates has no
/// effect.
pub(crate) const ORDER_SENSITIVE: [&str; 5] = [
    "first_value",
    "last_value",
    "nth_value",
    "array_agg",
    "string_agg",
];

/// Functions that accept `IGNORE NULLS`.
const NULL_TREATMENT: [&str; 5] = ["first_value", "last_value", "nth_value", "lag", "lead"];

/// Returns an error for an unknown function, and for a clause that has no effect on its function.
pub(crate) fn check(session: &Session, query: &Ast) -> Result<(), QueryError> {
    let mut checker = CallChecker {
        state: &session.state,
    };
    match Visit::visit(query, &mut checker) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Returns the scalar function `name` if queries may call it. Ignores the case of `name`.
pub(crate) fn scalar(state: &SessionState, name: &str) -> Option<Arc<ScalarUDF>> {
    let found = state.scalar_functions().get(&name.to_lowercase())?;
    SCALAR.contains(&found.name()).then(|| found.clone())
}

/// Returns the aggregate `name` if queries may call it. Ignores the case of `name`.
pub(crate) fn aggregate(state: &SessionState, name: &str) -> Option<Arc<AggregateUDF>> {
    let found = state.aggregate_functions().get(&name.to_lowercase())?;
    AGGREGATE.contains(&found.name()).then(|| found.clone())
}

/// Returns the window function `name` if queries may call it. Ignores the case of `name`.
pub(crate) fn window(state: &SessionState, name: &str) -> Option<Arc<WindowUDF>> {
    let found = state.window_functions().get(&name.to_lowercase())?;
    WINDOW.contains(&found.name()).then(|| found.clone())
}

/// Returns the sorted names of all functions that queries may call. They are candidates for suggestions.
fn names(state: &SessionState) -> Vec<String> {
    let scalar_names = state.scalar_functions().keys();
    let scalar_names = scalar_names.filter(|name| scalar(state, name).is_some());
    let aggregate_names = state.aggregate_functions().keys();
    let aggregate_names = aggregate_names.filter(|name| aggregate(state, name).is_some());
    let window_names = state.window_functions().keys();
    let window_names = window_names.filter(|name| window(state, name).is_some());
    let names = scalar_names.chain(aggregate_names).chain(window_names);
    let mut names: Vec<String> = names.cloned().collect();
    names.extend([UNNEST, "one_hot", "multi_hot"].map(str::to_owned));
    names.sort();
    names
}

struct CallChecker<'a> {
    state: &'a SessionState,
}

impl Visitor for CallChecker<'_> {
    type Break = QueryError;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<QueryError> {
        match expr {
            Expr::Function(function) => match self.function(function) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}

impl CallChecker<'_> {
    fn function(&self, function: &Function) -> Result<(), QueryError> {
        let ident = function.name.0.last().and_then(ObjectNamePart::as_ident);
        let Some(ident) = ident else {
            return Ok(());
        };
        let start = ident.span.start;
        let place = (start.line > 0).then_some((start.line, start.column));
        let name = ident.value.to_lowercase();
        let call = Call {
            name: &name,
            place,
            function,
        };
        if name == UNNEST || scalar(self.state, &name).is_some() {
            return call.scalar();
        }
        let is_aggregate = aggregate(self.state, &name).is_some();
        let is_window = window(self.state, &name).is_some();
        match (is_aggregate, is_window, function.over.is_some()) {
            (_, true, true) => call.window(),
            (true, _, over) => call.aggregate(over),
            (false, true, false) => Err(call.rejected(format!("{name}() needs OVER (...)"), None)),
            (false, false, _) => Err(self.unknown(&call)),
        }
    }

    fn unknown(&self, call: &Call<'_>) -> QueryError {
        let name = call.name;
        if NON_DETERMINISTIC.contains(&name) {
            let message = format!(
                "{name}() returns a different value each time, but results must be reproducible"
            );
            let help = "use a seeded split or `draws` for random numbers";
            return call.rejected(message, Some(help.to_owned()));
        }
        let is_known = self.state.scalar_functions().contains_key(name)
            || self.state.aggregate_functions().contains_key(name)
            || self.state.window_functions().contains_key(name)
            || self.state.higher_order_functions().contains_key(name);
        if is_known {
            let message = format!(
                "{name}() is not supported: its result does not depend on the tables alone"
            );
            return call.rejected(message, None);
        }
        let names = names(self.state);
        let near = nearest(name, names.iter().map(String::as_str));
        let help = match construct(name) {
            Some(help) => Some(help),
            None => near.map(|near| format!("did you mean `{near}`?")),
        };
        call.rejected(format!("there is no function `{name}`"), help)
    }
}

/// A function call, with its position in the query.
struct Call<'a> {
    name: &'a str,
    place: Option<(u64, u64)>,
    function: &'a Function,
}

impl Call<'_> {
    fn scalar(&self) -> Result<(), QueryError> {
        self.reject_clause(self.function.over.is_some(), "OVER")?;
        self.reject_clause(self.function.filter.is_some(), "FILTER")?;
        self.reject_clause(self.function.null_treatment.is_some(), "IGNORE NULLS")?;
        self.reject_clause(!self.function.within_group.is_empty(), "WITHIN GROUP")?;
        if let Some(list) = self.list() {
            self.reject_clause(is_distinct(list), "DISTINCT")?;
            self.reject_clause(!list.clauses.is_empty(), "ORDER BY")?;
            self.wildcard(list)?;
        }
        Ok(())
    }

    fn aggregate(&self, over: bool) -> Result<(), QueryError> {
        self.null_treatment()?;
        let is_ordered_set = self.name == "percentile_cont" || self.name == "quantile_cont";
        let within_group = !self.function.within_group.is_empty();
        self.reject_clause(within_group && !is_ordered_set, "WITHIN GROUP")?;
        if let Some(list) = self.list() {
            let order = |clause: &FunctionArgumentClause| {
                matches!(clause, FunctionArgumentClause::OrderBy(_))
            };
            let has_order = list.clauses.iter().any(order);
            self.reject_clause(
                has_order && (over || !ORDER_SENSITIVE.contains(&self.name)),
                "ORDER BY",
            )?;
            self.reject_clause(is_distinct(list) && over, "DISTINCT")?;
            if self.name != "count" {
                self.wildcard(list)?;
            }
        }
        Ok(())
    }

    fn window(&self) -> Result<(), QueryError> {
        self.null_treatment()?;
        self.reject_clause(self.function.filter.is_some(), "FILTER")?;
        self.reject_clause(!self.function.within_group.is_empty(), "WITHIN GROUP")?;
        if let Some(list) = self.list() {
            self.reject_clause(is_distinct(list), "DISTINCT")?;
            let order = |clause: &FunctionArgumentClause| {
                matches!(clause, FunctionArgumentClause::OrderBy(_))
            };
            self.reject_clause(list.clauses.iter().any(order), "ORDER BY")?;
            self.wildcard(list)?;
        }
        Ok(())
    }

    /// Checks `IGNORE NULLS`, which may be written inside the parentheses or after them.
    fn null_treatment(&self) -> Result<(), QueryError> {
        let inside = self.list().is_some_and(|list| {
            let treatment = |clause: &FunctionArgumentClause| {
                matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_))
            };
            list.clauses.iter().any(treatment)
        });
        let has = inside || self.function.null_treatment.is_some();
        self.reject_clause(has && !NULL_TREATMENT.contains(&self.name), "IGNORE NULLS")
    }

    fn wildcard(&self, list: &FunctionArgumentList) -> Result<(), QueryError> {
        let is_wildcard =
            |arg: &FunctionArg| matches!(arg, FunctionArg::Unnamed(FunctionArgExpr::Wildcard));
        self.reject_clause(list.args.iter().any(is_wildcard), "*")
    }

    /// Returns an error if the clause is present in the call.
    fn reject_clause(&self, is_present: bool, clause: &str) -> Result<(), QueryError> {
        if !is_present {
            return Ok(());
        }
        let over = if self.function.over.is_some() && clause != "OVER" {
            " OVER a window"
        } else {
            ""
        };
        let message = format!("{clause} cannot be used in {}(){over}", self.name);
        Err(self.rejected(message, None))
    }

    fn list(&self) -> Option<&FunctionArgumentList> {
        match &self.function.args {
            FunctionArguments::List(list) => Some(list),
            FunctionArguments::None | FunctionArguments::Subquery(_) => None,
        }
    }

    fn rejected(&self, message: String, help: Option<String>) -> QueryError {
        QueryError::Rejected {
            message,
            place: self.place,
            help,
        }
    }
}

fn is_distinct(list: &FunctionArgumentList) -> bool {
    matches!(list.duplicate_treatment, Some(DuplicateTreatment::Distinct))
}
