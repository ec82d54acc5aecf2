//! Searches prepared data for hints at the answers, as an attacker would.
//!
//! The search knows only the paths of the public files, the answers, the sample submission and, if it is available, the bundle.
//! Each file in `detectors/` has one detector. The cheapest ones run first:
//!
//! ```text
//! shown-before       kinds of files, columns, keys that the bundle's own test part does not show
//! answers-elsewhere  answers of test items in other public files, and in files of the items
//! rows               test items in train tables
//! near               texts of test items that are almost equal to a text of train
//! neighbours         test rows that are windows of a sequence in train
//! sample             a sample submission that follows the answers
//! order              answers that agree with their neighbours in a table, in the order of ids or of files
//! size               sizes of files, and of images, that predict the answer
//! equal-files        the same file on both sides
//! near-files         pictures and sounds of test items that are nearly one of the training part
//! groups             speakers, patients, places on both sides
//! column             columns whose presence, form or value tells the answer
//! ```
//!
//! Significance is not evidence: an honest column is overwhelmingly significant. So a finding needs both, a p-value that holds
//! among all tests that were made (see `statistics`), and an effect: answers that can be read off, or at least ten points
//! more than what honest data give. A significant but small effect is a note, and tests of fewer than 50 items give only notes.

mod detectors;
mod facts;
mod fields;
mod finding;
mod model;
mod series;
mod sketch;
mod statistics;
mod table;
mod view;
mod world;

use std::collections::BTreeMap;

pub use detectors::NAMES;
pub use finding::{LeakFinding, LeakLevel};
pub use world::{LeakInput, LeaksError};

use world::World;

/// The result of a search.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LeakReport {
    /// The worst first.
    pub findings: Vec<LeakFinding>,
    /// Test items.
    pub items: usize,
    /// Whether the bundle was looked at, too.
    pub bundle: bool,
}

impl LeakReport {
    /// The worst level among findings that nobody accepted.
    pub fn worst(&self) -> Option<LeakLevel> {
        let open = self.findings.iter().filter(|one| one.accepted.is_none());
        open.map(|one| one.level).max()
    }
}

/// Searches for leaks. `accepted` has the reasons why findings of detectors are accepted, and leaks that no detector can find.
///
/// # Errors
/// When something cannot be read, or the answers do not name the test items.
pub fn find(
    place: &LeakInput,
    accepted: &BTreeMap<String, String>,
) -> Result<LeakReport, LeaksError> {
    let mut world = World::look(place)?;
    let seen = std::mem::take(&mut world.facts);
    let mut tests = detectors::Tests::default();
    let found = detectors::all(&world, seen, &mut tests, &place.limits);
    let read = |cause| LeaksError::Read {
        path: place.public.clone(),
        cause,
    };
    let mut findings = found.map_err(read)?;
    let items = world.ids.len();
    let threshold = statistics::threshold(&tests.p_values);
    for finding in &mut findings {
        let chance = finding.p_value.is_some_and(|p| p > threshold);
        if chance || finding.p_value.is_some() && items < FEWEST {
            finding.level = LeakLevel::Note;
        }
        finding.accepted = accepted.get(finding.detector).cloned();
    }
    // A finding that chance explains is not reported.
    findings.retain(|one| one.p_value.is_none_or(|p| p <= threshold));
    if !world.unread.is_empty() {
        let what = match world.unread.len() {
            1 => "1 file was not looked into, or only in part, because of its size or format"
                .to_owned(),
            count => format!(
                "{count} files were not looked into, or only in part, because of their size or format"
            ),
        };
        findings.push(LeakFinding::new(LeakLevel::Note, "unread", what).evidence(world.unread));
    }
    // Leaks that no detector can find are added.
    for (name, why) in accepted {
        if !NAMES.contains(&name.as_str()) {
            let mut finding = LeakFinding::new(LeakLevel::Note, "declared", name.clone());
            finding.accepted = Some(why.clone());
            findings.push(finding);
        }
    }
    findings.sort_by(|a, b| b.level.cmp(&a.level).then(a.what.cmp(&b.what)));
    Ok(LeakReport {
        findings,
        items,
        bundle: !world.bundle.is_empty(),
    })
}

/// With fewer test items a test gives no more than a note.
const FEWEST: usize = 50;
