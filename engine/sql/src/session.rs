//! DataFusion, set up once for all queries of a run.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::TableReference;
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::SessionStateDefaults;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner};
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use datafusion::prelude::SessionConfig;

use crate::{QueryError, calls, functions};

/// The query engine. Cheap to clone.
#[derive(Clone)]
pub struct Session {
    pub(crate) state: Arc<SessionState>,
}

impl Session {
    /// An engine that holds at most `memory` bytes for sorts and joins and spills what is beyond into `temp`.
    pub fn new(memory: u64, temp: &Path) -> std::result::Result<Session, QueryError> {
        let pool = FairSpillPool::new(usize::try_from(memory).unwrap_or(usize::MAX));
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![temp.to_path_buf()]));
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::new(pool))
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(|error| QueryError::run(&error))?;
        Ok(Session::with(
            SessionStateBuilder::new().with_runtime_env(runtime),
        ))
    }

    /// An engine that only plans.
    pub fn planner() -> Session {
        Session::with(SessionStateBuilder::new())
    }

    fn with(builder: SessionStateBuilder) -> Session {
        // One partition: a stream keeps its order, and steps run side by side anyway.
        let mut config = SessionConfig::new()
            .with_target_partitions(1)
            .with_collect_statistics(false);
        let options = config.options_mut();
        options.sql_parser.enable_ident_normalization = false;
        options.sql_parser.map_string_types_to_utf8view = false;
        options.sql_parser.collect_spans = true;
        // ORDER BY in a subquery is kept, or refused where it has no effect.
        options.sql_parser.enable_subquery_sort_elimination = false;
        let mut scalar = SessionStateDefaults::default_scalar_functions();
        scalar.extend(functions::scalar());
        let mut window = SessionStateDefaults::default_window_functions();
        window.extend(functions::window());
        let state = builder
            .with_config(config)
            .with_default_features()
            .with_scalar_functions(scalar)
            .with_window_functions(window)
            .build();
        Session {
            state: Arc::new(state),
        }
    }
}

/// The tables of one query, and the session's functions.
pub(crate) struct Names<'a> {
    pub state: &'a SessionState,
    pub tables: HashMap<String, Arc<dyn TableSource>>,
}

impl ContextProvider for Names<'_> {
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

    // Names to suggest; functions are known before a query is planned.
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
