//! Records how data were prepared, as far as this determines whether scores are comparable.

use serde::{Deserialize, Serialize};

/// The pipeline that prepared the data, and whether the data match its published checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataOrigin {
    /// Whether pipeline, description and checksums are the ones built into the program.
    pub is_built_in: bool,
    /// The result of comparing checksums.
    #[serde(flatten)]
    pub checksums: ChecksumStatus,
}

/// The result of comparing prepared data with the published checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "checksums", rename_all = "snake_case")]
pub enum ChecksumStatus {
    /// Every output with a published checksum matches. Outputs whose bytes depend on the version of the library that
    /// wrote them are not compared.
    Passed,
    /// No checksums of outputs are published, and the bundle is not known to differ from the published one.
    NotPublished,
    /// The checksums were not compared.
    Skipped,
    /// The checksums of these outputs differ.
    Differ {
        /// Paths of the outputs, for example `public/train.csv`.
        outputs: Vec<String>,
    },
}

impl DataOrigin {
    /// Merges `self` with the earlier record `before` of the same data, so that a verification is not lost when a later
    /// run skips it.
    ///
    /// A comparison with a user's own pipeline does not replace a comparison with the built-in pipeline.
    #[must_use]
    pub fn or(self, before: &DataOrigin) -> DataOrigin {
        match (self.is_built_in, before.is_built_in) {
            (true, false) => self,
            (false, true) => before.clone(),
            _ if self.checksums == ChecksumStatus::Skipped => before.clone(),
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_checksums_keeps_the_earlier_result() {
        let origin = |is_built_in, checksums| DataOrigin {
            is_built_in,
            checksums,
        };
        let differ = ChecksumStatus::Differ {
            outputs: vec!["public/a.csv".to_owned()],
        };
        let skipped = || origin(true, ChecksumStatus::Skipped);
        for before in [
            ChecksumStatus::Passed,
            ChecksumStatus::Skipped,
            differ,
            ChecksumStatus::NotPublished,
        ] {
            let before = origin(true, before);
            assert_eq!(skipped().or(&before), before);
            // The same bytes, prepared by a user's own pipeline.
            let own = origin(false, ChecksumStatus::Skipped);
            assert_eq!(own.or(&before), before);
        }
        let passed = origin(true, ChecksumStatus::Passed);
        assert_eq!(passed.clone().or(&skipped()), passed);
        let own = origin(false, ChecksumStatus::Passed);
        assert_eq!(skipped().or(&own), skipped());
    }
}
