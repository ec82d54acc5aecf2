//! Searches prepared data for leaks of the answers, as an attacker would.
//!
//! The search knows only the paths of the public files, of the answers, of the sample submission and, if available, of
//! the bundle, which is Kaggle's archive. The fastest detectors run first:
//!
//! ```text
//! shown-before       kinds of files, columns and keys of test items that the bundle's original test part does not have
//! answers-elsewhere  answers of test items in public files other than the test tables, and in the items' own files
//! rows               rows of test items that are also in training tables
//! near               texts and rows of test items that are almost equal to a training text or row
//! neighbours         test rows whose answers can be computed from training rows or from other test rows
//! sample             a sample submission that correlates with the answers
//! order              answers that agree with their neighbours in the order of rows, ids or files
//! size               sizes of files and images that predict the answer
//! equal-files        equal files in the train and test parts
//! near-files         pictures and sounds of test items that are almost copies of training files
//! groups             speakers, patients or locations that are in both parts
//! column             columns whose presence, form or value reveals the answer
//! ```
//!
//! A statistical finding needs a large effect, and a p-value that is significant among all tests of the run (see
//! `statistics`). Significance alone is not evidence of a leak, because *intended features*, which participants should
//! use, are also significant.
//!
//! An effect is large if it exceeds the detector's threshold (see `docs/leaks.md`). With fewer than 50 test items, a
//! statistical finding is only a note.

mod detectors;
mod facts;
mod finding;
mod model;
mod places;
mod series;
mod sketch;
mod statistics;
mod table;
mod text;
mod view;
mod whole_groups;
mod world;

use std::collections::BTreeMap;

use prep_failure::units;

pub use detectors::NAMES;
pub use finding::{LeakFinding, LeakLevel, LeaksError};
pub use world::LeakInput;

use world::World;

/// The result of a search.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct LeakReport {
    /// All findings, the worst ones first.
    pub findings: Vec<LeakFinding>,
    /// Number of test items that count for the score.
    pub items: usize,
    /// Whether there are too few test items for statistics. If so, statistical findings are only notes.
    pub has_few_items: bool,
    /// Whether the bundle was also examined.
    pub bundle: bool,
}

impl LeakReport {
    /// Returns the worst level among findings that the pipeline does not accept.
    pub fn worst(&self) -> Option<LeakLevel> {
        let open = self.findings.iter().filter(|one| one.accepted.is_none());
        open.map(|one| one.level).max()
    }
}

/// Searches for leaks. `accepted` maps the name of a detector to the reason why the pipeline accepts its findings. Any
/// other name in `accepted` declares a leak that no detector can find, for example `public origin`.
///
/// # Errors
/// Fails if a file cannot be read, or if the answers do not contain the ids of the test items.
pub fn find(
    input: &LeakInput,
    accepted: &BTreeMap<String, String>,
) -> Result<LeakReport, LeaksError> {
    let mut world = World::read(input)?;
    let seen = std::mem::take(&mut world.public.facts);
    let mut tests = statistics::Tests::default();
    let mut findings = detectors::all(&world, seen, &mut tests);
    let items = world.scored;
    let threshold = statistics::threshold(&tests.p_values);
    for finding in &mut findings {
        let chance = finding.p_value.is_some_and(|p| p > threshold);
        if chance || finding.p_value.is_some() && items < MIN_ITEMS {
            finding.level = LeakLevel::Note;
            finding.advice = "";
        }
        finding.accepted = accepted.get(finding.detector).cloned();
    }
    // Findings that can be explained by chance are not reported.
    findings.retain(|one| one.p_value.is_none_or(|p| p <= threshold));
    let mut findings = finding::merge(findings);
    places::add(&world, &mut findings);
    let unread = world.public.unread;
    if !unread.is_empty() {
        let files = units::count(unread.len() as u64, "file");
        let what = format!("{files} not examined, or only in part, because of size or format");
        findings.push(LeakFinding::new(LeakLevel::Note, "unread", what).evidence(unread));
    }
    // Add declared leaks, which no detector can find.
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
        has_few_items: items < MIN_ITEMS,
        bundle: !world.bundle.is_empty(),
    })
}

/// With fewer test items than this, a statistical finding is only a note.
pub const MIN_ITEMS: usize = 50;
