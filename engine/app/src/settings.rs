//! Where things are and how much may be used, as plain values. Whoever links this library decides; nothing is read from
//! the environment.

use std::path::PathBuf;

use prep_cache::Store;
use prep_core::Limits;
use prep_remote::Link;
use prep_spec::BASE_VARIANT;

/// What is the same for everything that is asked for.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `DATA/ID/prepared`, `DATA/ID/ID.zip`.
    pub data_dir: PathBuf,
    /// The content-addressed store.
    pub store_dir: PathBuf,
    /// Pipelines besides the built-in ones: `DIR/ID/pipeline.yaml`.
    pub pipelines: Option<PathBuf>,
    /// Steps side by side, and threads of one step.
    pub jobs: usize,
    /// Bytes that running steps may hold together.
    pub memory: u64,
    /// Changes whenever the program does: what an earlier one found out about a pipeline is not believed then.
    pub program: String,
    /// Changes whenever the machine starts; none where that cannot be told.
    pub boot: Option<String>,
    /// A store that many machines share, in which results are looked for and to which they are offered.
    pub remote: Option<Link>,
}

impl Settings {
    /// The store, with the remote below it if there is one.
    pub(crate) fn below(&self, store: Store) -> Store {
        match &self.remote {
            Some(link) => link.below(&store),
            None => store,
        }
    }

    /// The data folder of a variant: of the base the data folder itself, of another one `DATA/VARIANT`, which is a data folder
    /// like any other. So variants of a competition lie side by side, and the base is where the benchmark has it.
    pub fn folder_of(&self, variant: &str) -> PathBuf {
        match variant {
            BASE_VARIANT => self.data_dir.clone(),
            other => self.data_dir.join(other),
        }
    }

    /// Settings with the data folder of a variant.
    #[must_use]
    pub fn of_variant(&self, variant: &str) -> Settings {
        Settings {
            data_dir: self.folder_of(variant),
            ..self.clone()
        }
    }

    /// A folder for files that live as long as one call; what a killed process leaves there, the store sweeps away.
    pub fn temp_dir(&self) -> PathBuf {
        self.store_dir.join("tmp")
    }

    /// What decoding foreign content may demand, so many files at a time.
    pub(crate) fn content_limits(&self, at_once: usize) -> prep_formats::limits::Limits {
        let memory = self.memory / at_once.max(1) as u64;
        // Where it cannot be told how much is free, the disk itself is the limit.
        let disk = prep_fetch::free_space(&self.store_dir).unwrap_or(u64::MAX);
        prep_formats::limits::Limits::from_budgets(memory, disk)
    }

    /// What comparing content may use, with as many files at a time as jobs.
    pub(crate) fn resources<'a>(&self, temp: &'a std::path::Path) -> prep_contents::Resources<'a> {
        prep_contents::Resources {
            limits: self.content_limits(self.jobs),
            temp,
        }
    }

    /// What running steps may use.
    pub fn limits(&self) -> Limits {
        Limits {
            jobs: self.jobs,
            memory: self.memory,
        }
    }
}
