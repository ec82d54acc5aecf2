//! The settings of a server.

use prep_app::{Catalog, Error, Grading, GradingLog, Remedy, Settings, SubmissionDirectory};

/// Settings of a server. Its tools can only access the files that these settings name.
pub struct McpOptions {
    pub catalog: Catalog,
    /// Settings of the variant that is served.
    pub settings: Settings,
    pub variant: String,
    /// Only submissions below this directory are read.
    pub submissions: SubmissionDirectory,
    /// Whether agents can get scores.
    pub scores: bool,
    /// The log of gradings.
    pub log: GradingLog,
    /// Describes the suggested action of an error.
    pub words: fn(&Remedy) -> String,
}

impl McpOptions {
    /// Reads the prepared answers of a competition. If agents can get scores, gradings are logged in the data
    /// directory.
    ///
    /// # Errors
    /// Returns an error if the competition is not prepared, or if its answers changed since.
    pub(crate) fn grading(&self, id: &str) -> Result<Grading, Error> {
        let grading = Grading::open(&self.catalog, &self.settings, id)?;
        Ok(match self.scores {
            true => grading.logged(&self.settings, &self.log),
            false => grading,
        })
    }
}
