//! The origin of prepared data, as far as scores depend on it.

use serde::{Deserialize, Serialize};

/// The pipeline that made prepared data, and the state of their published checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The pipeline, its description and its checksums were those built into the program.
    pub is_built_in: bool,
    #[serde(flatten)]
    pub checksums: ChecksumStatus,
}

/// The state of the published checksums of prepared data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "checksums", rename_all = "snake_case")]
pub enum ChecksumStatus {
    /// Every output with a published checksum has it. If the bytes depend on the library that writes a file, another checksum is not
    /// a difference.
    Passed,
    /// No output has a published checksum, and the bundle is not known to differ from the published one.
    NotPublished,
    /// Checksums were not compared.
    Skipped,
    /// These outputs have other checksums (`public/train.csv`).
    Differ { outputs: Vec<String> },
}

impl Origin {
    /// Adds an earlier record of the same data: verified data stay verified. Checksums of an own pipeline do not verify the built-in
    /// one.
    #[must_use]
    pub fn or(self, before: &Origin) -> Origin {
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
    fn skipping_the_checksums_of_the_same_data_forgets_nothing() {
        let origin = |is_built_in, checksums| Origin {
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
            // The same bytes from an own pipeline.
            let own = origin(false, ChecksumStatus::Skipped);
            assert_eq!(own.or(&before), before);
        }
        let passed = origin(true, ChecksumStatus::Passed);
        assert_eq!(passed.clone().or(&skipped()), passed);
        let own = origin(false, ChecksumStatus::Passed);
        assert_eq!(skipped().or(&own), skipped());
    }
}
