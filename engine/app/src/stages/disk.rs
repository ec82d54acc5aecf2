//! Checks the disk space of a run before it begins.

use std::path::Path;

use prep_core::{Failure, Remedy, units};

use crate::error::Error;

/// The disk space that one competition needs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Bytes to download, 0 if unknown.
    pub bundle: u64,
    /// Estimated additional bytes of the prepared files.
    pub prepared: u64,
}

/// The maximum disk space that a run needs at any time, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Peak {
    /// Bytes of bundles.
    pub bundles: u64,
    /// Bytes of prepared files.
    pub prepared: u64,
    /// Free bytes on the disk of the data directory, if known.
    pub free: Option<u64>,
}

impl Peak {
    /// Estimates the space for competitions. If bundles are `kept`, they all exist at the end. Otherwise at most
    /// `side_by_side` of them exist at the same time, and the largest are assumed.
    pub fn new(needs: &[Need], kept: bool, side_by_side: usize, data_dir: &Path) -> Peak {
        let mut bundles: Vec<u64> = needs.iter().map(|need| need.bundle).collect();
        bundles.sort_unstable_by(|a, b| b.cmp(a));
        if !kept {
            bundles.truncate(side_by_side.max(1));
        }
        Peak {
            bundles: bundles.iter().sum(),
            prepared: needs.iter().map(|need| need.prepared).sum(),
            free: prep_fetch::free_space(data_dir),
        }
    }

    /// Compares the needed space with the free space. Bundles that do not fit are an error. Prepared files that may not
    /// fit are only a warning, because their sizes are estimates.
    ///
    /// # Errors
    /// Returns an error if the bundles alone do not fit.
    pub fn check(&self, data_dir: &Path) -> Result<Option<String>, Error> {
        let Some(free) = self.free else {
            return Ok(None);
        };
        let total = self.bundles.saturating_add(self.prepared);
        if self.bundles == 0 || total <= free {
            return Ok(None);
        }
        let message = format!(
            "not enough disk space: bundles take {}, prepared files about {}; {} has {} free",
            units::bytes(self.bundles),
            units::bytes(self.prepared),
            data_dir.display(),
            units::bytes(free)
        );
        if self.bundles > free {
            return Err(Error::new(Failure::Machine, message)
                .help(Remedy::DiscardBundles.or(Remedy::NameDataDir)));
        }
        Ok(Some(message))
    }

    /// Describes the space, for example `12.3 GB of bundles and about 20 GB of prepared files, 100 GB free`.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{} of bundles and about {} of prepared files",
            units::bytes(self.bundles),
            units::bytes(self.prepared)
        );
        if let Some(free) = self.free {
            text.push_str(&format!(", {} free", units::bytes(free)));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_depends_on_whether_bundles_are_kept() {
        let need = |bundle, prepared| Need { bundle, prepared };
        let needs = [need(10, 20), need(30, 5), need(20, 0)];
        let dir = tempfile::tempdir().unwrap();
        let kept = Peak::new(&needs, true, 1, dir.path());
        assert_eq!((kept.bundles, kept.prepared), (60, 25));
        assert!(kept.free.is_some());
        for (side_by_side, bundles) in [(0, 30), (1, 30), (2, 50), (9, 60)] {
            let peak = Peak::new(&needs, false, side_by_side, dir.path());
            assert_eq!(peak.bundles, bundles);
        }
    }

    #[test]
    fn only_bundles_that_do_not_fit_are_an_error() {
        let peak = |bundles, prepared, free| Peak {
            bundles,
            prepared,
            free,
        };
        let check = |peak: Peak| peak.check(Path::new("/data"));
        assert!(check(peak(10, 10, None)).unwrap().is_none());
        assert!(check(peak(10, 10, Some(20))).unwrap().is_none());
        assert!(check(peak(0, 10, Some(5))).unwrap().is_none());
        let warning = check(peak(10, 10, Some(19))).unwrap().unwrap();
        assert!(warning.contains("/data has 19 B free"), "{warning}");
        let error = check(peak(10, 10, Some(9))).unwrap_err();
        assert_eq!(error.failure(), Failure::Machine);
        assert!(matches!(error.help, Some(Remedy::AnyOf(_))));
    }
}
