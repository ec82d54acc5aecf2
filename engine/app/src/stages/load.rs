//! Second stage: loads and checks a competition's pipeline, and reads its published checksums.

use prep_digests::{LockedDataset, Sha256};
use prep_grade::Grader;
use prep_grade::metrics::Direction;
use prep_spec::Pipeline;
use prep_steps::PublishedChecksums;

use super::loader::Loader;
use crate::catalog::CatalogEntry;
use crate::digests;
use crate::error::Error;
use crate::task::PreparationOptions;

/// How the outputs are verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verification {
    /// Outputs are compared with published checksums.
    Checked,
    /// No checksums are published for this variant.
    NotPublished,
    /// The user disabled the comparison.
    Skipped,
}

/// A competition whose pipeline has been checked.
pub(crate) struct LoadedCompetition {
    pub entry: CatalogEntry,
    pub pipeline: Pipeline,
    /// The published checksums that the outputs must have.
    pub checksums: Option<PublishedChecksums>,
    pub verification: Verification,
}

impl LoadedCompetition {
    /// Loads the pipeline of an entry.
    ///
    /// # Errors
    /// Returns an error if the entry has no pipeline, or if one of its files has mistakes.
    pub(crate) fn load(
        entry: &CatalogEntry,
        options: &PreparationOptions,
        loader: &Loader,
    ) -> Result<LoadedCompetition, Error> {
        let pipeline = loader.load(entry, &options.variant)?;
        // Checksums are published only for the base variant.
        let published = match pipeline.variant.differs {
            true => None,
            false => entry.published_checksums()?,
        };
        let (checksums, verification) = match published {
            _ if !options.check_outputs => (None, Verification::Skipped),
            Some(checksums) => (Some(checksums), Verification::Checked),
            None => (None, Verification::NotPublished),
        };
        Ok(LoadedCompetition {
            entry: entry.clone(),
            pipeline,
            checksums,
            verification,
        })
    }

    /// Returns the part of the entry of `prep.lock` that is known before the competition is prepared.
    pub(crate) fn to_lock_entry(&self) -> LockedDataset {
        let text = self.entry.pipeline.as_deref().unwrap_or_default();
        LockedDataset::new(
            digests::leaderboard(&self.entry),
            digests::rules(&self.pipeline),
        )
        .with_origin(Sha256::of_bytes(text.as_bytes()), crate::VERSION)
    }

    /// Returns a sentence about the metric of the section `grade`, for the description.
    pub(crate) fn metric(&self) -> Option<String> {
        let grade = self.pipeline.grade.as_ref()?;
        // Does not fail, because the section was checked when the pipeline was loaded.
        let grader = Grader::parse(&grade.value.rules).ok()?;
        let better = match grader.direction() {
            Direction::HigherIsBetter => "Higher",
            Direction::LowerIsBetter => "Lower",
        };
        let definition = &grader.metric().definition;
        Some(format!(
            "`{}`: {} {better} is better.",
            definition.name, definition.summary
        ))
    }

    /// Returns the outputs for which no checksum is published.
    pub(crate) fn without_checksum(&self) -> Vec<String> {
        let pipeline = &self.pipeline;
        let sections = [("public", &pipeline.public), ("private", &pipeline.private)];
        let paths = sections.iter().flat_map(|(section, outputs)| {
            let paths = outputs.iter().map(|output| &output.path.value);
            paths.map(move |path| format!("{section}/{path}"))
        });
        let sums = self.checksums.as_ref();
        paths
            .filter(|path| sums.is_none_or(|sums| sums.of_output(path).is_none()))
            .collect()
    }
}
