//! Settings of queries, such as the directory for temporary files.

use std::path::Path;
use std::sync::Arc;

use datafusion_execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion_execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};

use crate::QueryError;
use crate::limits::QueryPool;
use crate::limits::spill::SpillDirectory;
use crate::lower::Sides;

/// The query engine. Cloning it is cheap.
#[derive(Clone)]
pub struct Session {
    /// Directory for temporary files. `None` for a session that only plans.
    temp: Option<Arc<Path>>,
    /// Maximum number of rows in a batch.
    pub(crate) batch_rows: usize,
    /// Whether joins keep one side in memory or sort both sides.
    pub(crate) sides: Sides,
}

impl Session {
    /// Creates a session. Queries that exceed their memory limit write temporary files to `temp`.
    pub fn new(temp: &Path) -> Session {
        Session {
            temp: Some(Arc::from(temp)),
            ..Session::planner()
        }
    }

    /// Creates a session that plans queries, but cannot write temporary files.
    pub fn planner() -> Session {
        Session {
            temp: None,
            batch_rows: usize::MAX,
            sides: Sides::InMemory,
        }
    }

    /// Makes joins sort both sides, for tests.
    #[must_use]
    pub fn with_sorted_joins(self) -> Session {
        Session {
            sides: Sides::Sorted,
            ..self
        }
    }

    /// Sets the maximum number of rows in a batch, for tests.
    #[must_use]
    pub fn with_batch_rows(self, rows: usize) -> Session {
        Session {
            batch_rows: rows,
            ..self
        }
    }

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
