//! Configures DataFusion once for all queries of a run.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;

use crate::limits::QueryPool;
use crate::limits::spill::SpillDirectory;
use crate::{QueryError, functions, physical, rewrite};

/// The query engine. Cloning it is cheap.
#[derive(Clone)]
pub struct Session {
    /// Created when the first query is planned, because a run without pending steps does not plan any query.
    pub(crate) state: Arc<LazyLock<SessionState>>,
    /// Directory for temporary files. `None` for a session that only plans.
    temp: Option<Arc<Path>>,
    /// Maximum number of rows in a batch.
    pub(crate) batch_rows: usize,
}

impl Session {
    /// Creates a session that writes temporary files to `temp` if a query exceeds its memory limit.
    pub fn new(temp: &Path) -> Session {
        Session {
            temp: Some(Arc::from(temp)),
            ..Session::planner()
        }
    }

    /// Creates a session that plans queries but cannot write temporary files.
    pub fn planner() -> Session {
        Session {
            state: Arc::new(LazyLock::new(state)),
            temp: None,
            batch_rows: usize::MAX,
        }
    }

    /// Sets the maximum number of rows in a batch. No result depends on it; tests verify that with small batches.
    #[must_use]
    pub fn with_batch_rows(self, rows: usize) -> Session {
        Session {
            batch_rows: rows,
            ..self
        }
    }

    /// Returns the memory pool and the temporary files of a query.
    pub(crate) fn runtime(&self, pool: Arc<QueryPool>) -> Result<Arc<RuntimeEnv>, QueryError> {
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
    // A plan with a single partition keeps the order of its rows. Queries need no internal parallelism, because several
    // steps already run in parallel.
    let mut config = SessionConfig::new()
        .with_target_partitions(1)
        .with_collect_statistics(false);
    let options = config.options_mut();
    options.sql_parser.enable_ident_normalization = false;
    options.sql_parser.map_string_types_to_utf8view = false;
    options.sql_parser.collect_spans = true;
    // Sorts stay above the operator that merges the partitions of a UNION ALL. Below it, DataFusion can derive an order
    // from constants of a partition. A join above does not report this order, and DataFusion then rejects its own plan.
    options.optimizer.repartition_sorts = false;
    // A limit stays above window functions and aggregates. DataFusion would also move it below a window whose frames
    // need the removed rows, for example from `ORDER BY k LIMIT 1` to the DISTINCT below a running sum in descending
    // order.
    options.optimizer.enable_window_limits = false;
    options.optimizer.enable_topk_aggregation = false;
    options.optimizer.enable_distinct_aggregation_soft_limit = false;
    // DataFusion does not remove an ORDER BY in a subquery. If it has no effect, `order` reports it.
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
