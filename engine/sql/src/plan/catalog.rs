//! The names that a query can refer to: its tables, and the functions that queries may call.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::TableReference;
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner};
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};

use super::calls;

/// The tables of one query, and the session's functions.
pub(crate) struct QueryCatalog<'a> {
    pub state: &'a SessionState,
    pub tables: HashMap<String, Arc<dyn TableSource>>,
}

impl ContextProvider for QueryCatalog<'_> {
    fn get_table_source(&self, name: TableReference) -> Result<Arc<dyn TableSource>> {
        let found = self.tables.get(name.table()).cloned();
        found.ok_or_else(|| DataFusionError::Plan(format!("there is no table `{name}`")))
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        self.state.expr_planners()
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        calls::scalar(self.state, name)
    }

    fn get_higher_order_meta(&self, _name: &str) -> Option<Arc<HigherOrderUDF>> {
        None
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        calls::aggregate(self.state, name)
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        calls::window(self.state, name)
    }

    fn get_variable_type(&self, _names: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        self.state.config_options()
    }

    // The planner uses the names of functions only for suggestions. `calls` has already checked all function names.
    fn udf_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udaf_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn udwf_names(&self) -> Vec<String> {
        Vec::new()
    }
}
