//! Options that a data directory remembers. A later run uses them unless the caller sets them, so a competition stays up
//! to date if the options are not repeated.

use std::path::{Path, PathBuf};

use prep_cache::LinkMode;
use prep_steps::{Expand, RecordedOptions};

use crate::task::PreparationOptions;

/// The options that have the values of the last run, because the caller does not set them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Recall {
    pub source: bool,
    pub partial: bool,
    /// Whether bundles and outputs are compared with published checksums.
    pub verification: bool,
    pub expand: bool,
    pub link_mode: bool,
    pub descriptions: bool,
}

impl Recall {
    /// All options.
    pub const ALL: Recall = Recall {
        source: true,
        partial: true,
        verification: true,
        expand: true,
        link_mode: true,
        descriptions: true,
    };
}

/// An option that has the value of the last run, because the caller did not set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecalledOption {
    Source(PathBuf),
    Partial,
    SkipBundleVerification,
    SkipVerification,
    Expand(Expand),
    LinkMode(LinkMode),
    Descriptions(PathBuf),
}

impl RecalledOption {
    /// Returns the option's name in records and JSON.
    pub fn name(&self) -> &'static str {
        match self {
            RecalledOption::Source(_) => "source",
            RecalledOption::Partial => "partial",
            RecalledOption::SkipBundleVerification => "skip_bundle_verification",
            RecalledOption::SkipVerification => "skip_verification",
            RecalledOption::Expand(_) => "expand_archives",
            RecalledOption::LinkMode(_) => "link_mode",
            RecalledOption::Descriptions(_) => "descriptions",
        }
    }
}

impl PreparationOptions {
    /// Returns the options with the values of the last run, and the options that these values changed.
    pub(crate) fn recalling(
        &self,
        last: &RecordedOptions,
    ) -> (PreparationOptions, Vec<RecalledOption>) {
        let (recall, mut recalled) = (self.recall, Vec::new());
        // A directory that no longer exists contains no bundle.
        if let Some(source) = last.source.as_ref().filter(|dir| dir.is_dir())
            && recall.source
        {
            recalled.push(RecalledOption::Source(source.clone()));
        }
        if recall.partial && last.partial {
            recalled.push(RecalledOption::Partial);
        }
        if recall.verification && last.skip_bundle_verification {
            recalled.push(RecalledOption::SkipBundleVerification);
        }
        if recall.verification && last.skip_verification {
            recalled.push(RecalledOption::SkipVerification);
        }
        if let Some(expand) = last.expand_archives.filter(|_| recall.expand) {
            recalled.push(RecalledOption::Expand(expand));
        }
        if let Some(mode) = last.link_mode.filter(|_| recall.link_mode) {
            recalled.push(RecalledOption::LinkMode(mode));
        }
        if let Some(dir) = last.descriptions.as_ref().filter(|_| recall.descriptions) {
            recalled.push(RecalledOption::Descriptions(dir.clone()));
        }
        let mut options = self.clone();
        for option in &recalled {
            options.set(option);
        }
        (options, recalled)
    }

    fn set(&mut self, option: &RecalledOption) {
        match option.clone() {
            RecalledOption::Source(dir) => self.source = Some(dir),
            RecalledOption::Partial => self.partial = true,
            RecalledOption::SkipBundleVerification => self.check_bundle = false,
            RecalledOption::SkipVerification => self.check_outputs = false,
            RecalledOption::Expand(expand) => self.expand = Some(expand),
            RecalledOption::LinkMode(mode) => self.link_mode = Some(mode),
            RecalledOption::Descriptions(dir) => self.descriptions = Some(dir),
        }
    }

    /// Returns the options to record. `source` is the directory of the user in which the sources were found.
    pub(crate) fn to_record(&self, source: Option<&Path>) -> RecordedOptions {
        let absolute =
            |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        RecordedOptions {
            source: source.map(absolute),
            partial: self.partial,
            skip_bundle_verification: !self.check_bundle,
            skip_verification: !self.check_outputs,
            expand_archives: self.expand,
            link_mode: self.link_mode.filter(|mode| *mode != LinkMode::HardLink),
            descriptions: self.descriptions.as_deref().map(absolute),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_options_are_recalled_unless_they_are_set() {
        let dir = tempfile::tempdir().unwrap();
        let last = PreparationOptions {
            source: Some(dir.path().to_owned()),
            partial: true,
            check_bundle: false,
            check_outputs: false,
            expand: Some(Expand::Instead),
            link_mode: Some(LinkMode::Copy),
            descriptions: Some("/texts".into()),
            ..PreparationOptions::default()
        };
        let record = last.to_record(last.source.as_deref());
        let json = serde_json::to_value(&record).unwrap();
        let read: RecordedOptions = serde_json::from_value(json).unwrap();
        assert_eq!(read, record);
        let given = |recall| PreparationOptions {
            recall,
            ..PreparationOptions::default()
        };
        let (options, recalled) = given(Recall::ALL).recalling(&record);
        assert_eq!(options.to_record(options.source.as_deref()), record);
        let names: Vec<&str> = recalled.iter().map(RecalledOption::name).collect();
        let keys = serde_json::to_value(&record).unwrap();
        let mut keys: Vec<&str> = keys
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        keys.sort_unstable();
        assert_eq!(sorted, keys);
        // Nothing is recalled that the caller sets, and defaults are not recorded.
        let (options, recalled) = given(Recall::default()).recalling(&record);
        assert_eq!((recalled, options.check_outputs), (Vec::new(), true));
        let usual = PreparationOptions::default().to_record(None);
        assert_eq!(usual, RecordedOptions::default());
        assert_eq!(given(Recall::ALL).recalling(&usual).1, []);
    }

    #[test]
    fn a_source_that_no_longer_exists_is_not_recalled() {
        let record = RecordedOptions {
            source: Some("/nowhere/at/all".into()),
            ..RecordedOptions::default()
        };
        let options = PreparationOptions {
            recall: Recall::ALL,
            ..PreparationOptions::default()
        };
        assert_eq!(options.recalling(&record).1, []);
    }
}
