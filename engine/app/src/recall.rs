//! Options that a data directory remembers. A later run uses them unless the caller sets them, so a competition stays up
//! to date if the options are not repeated.

use std::path::Path;

use prep_steps::{Expand, RememberedOptions, Verify};

use crate::task::PreparationOptions;

/// An option that has the value of the last run, because the caller did not set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecalledOption {
    /// The option's name in JSON.
    pub name: &'static str,
    /// The value, unless the option is only turned on.
    pub value: Option<String>,
}

/// Describes the options that are set.
pub(crate) fn describe(options: &RememberedOptions) -> Vec<RecalledOption> {
    let path = |path: &Path| Some(path.display().to_string());
    let source = options.source.as_deref().map(|dir| ("source", path(dir)));
    let partial = options.partial.map(|_| ("partial", None));
    let verify = options.verify.map(|verify| match verify {
        Verify::All => ("skip_verification", Some("no".to_owned())),
        Verify::Outputs => ("skip_bundle_verification", None),
        Verify::Nothing => ("skip_verification", None),
    });
    let expand = options.expand_archives.map(|expand| match expand {
        Expand::No => ("expand_archives", Some("no".to_owned())),
        Expand::Beside => ("expand_archives", None),
        Expand::Instead => ("expand_archives", Some("instead".to_owned())),
    });
    let link_mode = options
        .link_mode
        .map(|mode| ("link_mode", Some(mode.to_string())));
    let descriptions = options.descriptions.as_deref();
    let descriptions = descriptions.map(|dir| ("descriptions", path(dir)));
    [source, partial, verify, expand, link_mode, descriptions]
        .into_iter()
        .flatten()
        .map(|(name, value)| RecalledOption { name, value })
        .collect()
}

impl PreparationOptions {
    /// Returns the options with the values of the last run, and the options that these values changed.
    pub(crate) fn recalling(
        &self,
        last: &RememberedOptions,
    ) -> (PreparationOptions, RememberedOptions) {
        let mut last = match self.recalls {
            true => last.clone().without(&self.remembered),
            false => RememberedOptions::default(),
        };
        // A directory that no longer exists contains no bundle.
        last.source = last.source.filter(|dir| dir.is_dir());
        let options = PreparationOptions {
            remembered: self.remembered.clone().or(last.clone()),
            ..self.clone()
        };
        (options, last)
    }

    /// Returns the options to record. `source` is the directory of the user in which the sources were found.
    pub(crate) fn to_record(&self, source: Option<&Path>) -> RememberedOptions {
        let absolute =
            |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        RememberedOptions {
            source: source.map(absolute),
            descriptions: self.remembered.descriptions.as_deref().map(absolute),
            ..self.remembered.clone().without_defaults()
        }
    }
}

#[cfg(test)]
mod tests {
    use prep_cache::LinkMode;

    use super::*;

    fn options(remembered: RememberedOptions, recalls: bool) -> PreparationOptions {
        PreparationOptions {
            remembered,
            recalls,
            ..PreparationOptions::default()
        }
    }

    #[test]
    fn recorded_options_are_recalled_unless_they_are_set() {
        let dir = tempfile::tempdir().unwrap();
        let all = RememberedOptions {
            source: Some(dir.path().to_owned()),
            partial: Some(true),
            verify: Some(Verify::Nothing),
            expand_archives: Some(Expand::Instead),
            link_mode: Some(LinkMode::Copy),
            descriptions: Some("/texts".into()),
        };
        let record = options(all.clone(), true).to_record(all.source.as_deref());
        assert_eq!(record, all);
        let json = serde_json::to_value(&record).unwrap();
        let read: RememberedOptions = serde_json::from_value(json).unwrap();
        assert_eq!(read, record);
        let (with, recalled) = options(RememberedOptions::default(), true).recalling(&record);
        assert_eq!((&with.remembered, &recalled), (&all, &all));
        assert_eq!(describe(&recalled).len(), 6);
        // Options of the caller have precedence, also if they have the default value.
        let usual = RememberedOptions {
            partial: Some(false),
            verify: Some(Verify::All),
            expand_archives: Some(Expand::No),
            link_mode: Some(LinkMode::HardLink),
            ..all.clone()
        };
        let (with, recalled) = options(usual.clone(), true).recalling(&record);
        assert_eq!(
            (&with.remembered, recalled),
            (&usual, RememberedOptions::default())
        );
        // Defaults are not recorded.
        let record = with.to_record(None);
        let texts = RememberedOptions {
            descriptions: all.descriptions.clone(),
            ..RememberedOptions::default()
        };
        assert_eq!(record, texts);
        let (with, recalled) = options(RememberedOptions::default(), false).recalling(&all);
        assert_eq!((with.remembered, recalled), Default::default());
    }

    #[test]
    fn a_source_that_no_longer_exists_is_not_recalled() {
        let record = RememberedOptions {
            source: Some("/nowhere/at/all".into()),
            ..RememberedOptions::default()
        };
        let (_, recalled) = options(RememberedOptions::default(), true).recalling(&record);
        assert_eq!(recalled, RememberedOptions::default());
    }
}
