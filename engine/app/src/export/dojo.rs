//! Arranges the files of an export in the layout that MLE-Dojo reads.
//!
//! ```text
//! ID/data/public/description.txt, sample_submission.csv, ...
//! ID/data/private/test_answer.csv, public_leaderboard.csv, private_leaderboard.csv, ...
//! ID/info/description.txt, public_leaderboard.csv, private_leaderboard.csv
//! ```
//!
//! A leaderboard has the columns `rank` and `score`. The private leaderboard is the competition's `leaderboard.csv`. The
//! public leaderboard is the competition's `public_leaderboard.csv`, if that file exists.

use prep_core::Failure;
use prep_grade::report::medals::Leaderboard;
use prep_spec::Pipeline;

use crate::catalog::CatalogEntry;
use crate::error::Error;
use crate::export::{CopiedFile, CopyInputs};
use crate::packs;

const PUBLIC_LEADERBOARD: &str = "public_leaderboard.csv";

/// Changes the paths of the files to copy, `found`, so that the copy has the layout of MLE-Dojo. Returns the leaderboards
/// to write, as pairs of path and text.
pub(super) fn arrange(
    found: &mut CopyInputs,
    entry: &CatalogEntry,
    pipeline: &Pipeline,
    private: bool,
) -> Result<Vec<(String, String)>, Error> {
    let grade = pipeline.grade.as_ref().map(|grade| &grade.value);
    let is_csv = |path: &str| path.ends_with(".csv");
    let Some(grade) = grade.filter(|one| is_csv(&one.answers.value) && is_csv(&one.sample.value))
    else {
        let message = format!(
            "the layout dojo needs answers and a sample submission in CSV files, which `{}` does not have",
            entry.id
        );
        return Err(Error::new(Failure::Pipeline, message)
            .help("use the layout mle-bench for this competition"));
    };
    let [answers, sample] =
        [&grade.answers, &grade.sample].map(|path| format!("prepared/{}", path.value));
    // Copies of files that the layout contains twice.
    let mut further = Vec::new();
    for item in &mut found.items {
        let copy = |path: &str| CopiedFile {
            path: path.to_owned(),
            source: item.source.clone(),
        };
        let path = item.path.clone();
        item.path = match path.as_str() {
            "prepared/public/description.md" => {
                further.push(copy("info/description.txt"));
                "data/public/description.txt".to_owned()
            }
            path if path == answers => "data/private/test_answer.csv".to_owned(),
            path => in_data(path),
        };
        if path == sample && item.path != SAMPLE {
            further.push(copy(SAMPLE));
        }
    }
    further.retain(|new| found.items.iter().all(|item| item.path != new.path));
    found.items.extend(further);
    for path in &mut found.empty {
        *path = in_data(path);
    }
    let boards = leaderboards(entry)?.into_iter().flat_map(|(name, text)| {
        let places = ["info", "data/private"].into_iter();
        let places = places.filter(|place| private || *place == "info");
        places.map(move |place| (format!("{place}/{name}"), text.clone()))
    });
    Ok(boards.collect())
}

const SAMPLE: &str = "data/public/sample_submission.csv";

fn in_data(path: &str) -> String {
    path.replacen("prepared", "data", 1)
}

fn leaderboards(entry: &CatalogEntry) -> Result<Vec<(&'static str, String)>, Error> {
    let mut found = Vec::new();
    if let Some(text) = entry.leaderboard.as_deref() {
        found.push(("private_leaderboard.csv", ranked(entry, text)?));
    }
    let path = entry
        .directory
        .as_ref()
        .map(|home| home.join(PUBLIC_LEADERBOARD));
    if let Some(path) = path.filter(|path| path.exists()) {
        let text = packs::read_text(&path);
        let text = text.map_err(|error| Error::reading("read", &path, &error))?;
        found.push((PUBLIC_LEADERBOARD, ranked(entry, &text)?));
    }
    Ok(found)
}

fn ranked(entry: &CatalogEntry, text: &str) -> Result<String, Error> {
    let board = Leaderboard::parse(text).map_err(|error| {
        let message = format!("a leaderboard of `{}`: {error}", entry.id);
        Error::new(Failure::Pipeline, message)
    })?;
    let scores = board.scores().iter().enumerate();
    let lines = scores.map(|(place, score)| format!("{},{score}\n", place + 1));
    Ok(std::iter::once("rank,score\n".to_owned())
        .chain(lines)
        .collect())
}
