//! DataFusion, set up once for all queries of a run.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::TableReference;
use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::planner::{ContextProvider, ExprPlanner};
use datafusion::logical_expr::{AggregateUDF, HigherOrderUDF, ScalarUDF, TableSource, WindowUDF};
use datafusion::prelude::SessionConfig;

use crate::grant::Pool;
use crate::spill::SpillDirectory;
use crate::{QueryError, calls, functions, physical, rewrite};

/// The query engine. Cheap to clone.
#[derive(Clone)]
pub struct Session {
    /// Made when the first query is planned: a run with nothing to do plans none.
    pub(crate) state: Arc<LazyLock<SessionState>>,
    /// Where what is too large for the memory goes.
    temp: Option<Arc<Path>>,
    /// The most rows that operators hand on at a time.
    pub(crate) batch_rows: usize,
}

impl Session {
    /// An engine that spills what is beyond the memory of a query into `temp`.
    pub fn new(temp: &Path) -> Session {
        Session {
            temp: Some(Arc::from(temp)),
            ..Session::planner()
        }
    }

    /// An engine that only plans.
    pub fn planner() -> Session {
        Session {
            state: Arc::new(LazyLock::new(state)),
            temp: None,
            batch_rows: usize::MAX,
        }
    }

    /// The same engine, whose operators hand on at most `rows` rows at a time. No result depends on it, which tests show
    /// by small batches.
    #[must_use]
    pub fn with_batch_rows(self, rows: usize) -> Session {
        Session {
            batch_rows: rows,
            ..self
        }
    }

    /// What a query runs in: its memory and its place on disk.
    pub(crate) fn runtime(
        &self,
        pool: Arc<Pool>,
    ) -> std::result::Result<Arc<RuntimeEnv>, QueryError> {
        let mode = match &self.temp {
            Some(temp) => DiskManagerMode::Custom(Arc::new(SpillDirectory(temp.clone()))),
            None => DiskManagerMode::Disabled,
        };
        let disk = DiskManagerBuilder::default()
            .with_mode(mode)
            .with_max_temp_directory_size(u64::MAX);
        RuntimeEnvBuilder::new()
            .with_memory_pool(pool)
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(|error| QueryError::run(error, None))
    }
}

fn state() -> SessionState {
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
    SessionStateBuilder::new()
        .with_config(config)
        .with_default_features()
        .with_scalar_functions(functions::scalar())
        .with_aggregate_functions(functions::aggregate())
        .with_window_functions(functions::window())
        .with_analyzer_rules(rewrite::analyzer_rules())
        .with_optimizer_rules(rewrite::optimizer_rules())
        .with_physical_optimizer_rules(physical::rules())
        .build()
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
