//! Answers that became public: a column of a public table, a file more, or the values of the sample submission.

use std::collections::HashMap;

use prep_contents::table::{DetectedFile, column};
use prep_contents::{DecodingLimits, Format, Result, Row};

use super::Places;
use super::roles::Roles;
use crate::causes::{Harm, files, labels, rows};
use crate::error::unless_damaged;
use crate::finding::AuditFinding;
use crate::harm::ANSWERS_SHOWN;

/// Items that must have their answer, of those that the table has.
const SHARE: f64 = 0.9;

/// Raises the harm of findings of public tables that hold the answers of test items.
///
/// # Errors
/// When a table cannot be read.
pub(super) fn raise(
    findings: &mut [AuditFinding],
    places: &Places<'_>,
    roles: &Roles,
    limits: &DecodingLimits,
) -> Result<()> {
    let suspicious = [
        rows::COLUMNS_ADDED.id,
        rows::COLUMNS_RENAMED.id,
        rows::VALUES_CHANGED.id,
        labels::LABELS_CHANGED.id,
        files::FILES_SURPLUS.id,
    ];
    let mut answers = None;
    for finding in findings.iter_mut() {
        let is_public = finding.path.starts_with("public/");
        if !is_public || finding.harm >= Harm::Answers || !suspicious.contains(&finding.cause.id) {
            continue;
        }
        if answers.is_none() {
            answers = Some(Answers::read(places, roles, limits)?);
        }
        let Some(Some(answers)) = &answers else {
            return Ok(());
        };
        if let Some(shown) = answers.shown_in(&finding.path, places, limits)? {
            finding.raise(Harm::Answers, ANSWERS_SHOWN);
            let proof = finding
                .proof
                .take()
                .map_or(shown.clone(), |proof| format!("{proof}; {shown}"));
            finding.proof = Some(proof);
        }
    }
    Ok(())
}

/// Our answers: for each id the labels, column by column.
struct Answers {
    id: String,
    labels: Vec<(String, HashMap<String, String>)>,
}

impl Answers {
    fn read(
        places: &Places<'_>,
        roles: &Roles,
        limits: &DecodingLimits,
    ) -> Result<Option<Answers>> {
        let (Some(path), Some(id)) = (roles.answers.as_deref(), roles.first_id()) else {
            return Ok(None);
        };
        let read = |name: &str| texts(&places.ours.join(path), path, name, limits);
        let Some(ids) = read(id)? else {
            return Ok(None);
        };
        let mut labels = Vec::new();
        for name in &roles.labels {
            if let Some(values) = read(name)? {
                let constant = values.iter().all(|value| Some(value) == values.first());
                if !constant {
                    labels.push((name.clone(), ids.iter().cloned().zip(values).collect()));
                }
            }
        }
        Ok(Some(Answers {
            id: id.to_owned(),
            labels,
        }))
    }

    /// Which column of their table holds answers that ours does not.
    fn shown_in(
        &self,
        path: &str,
        places: &Places<'_>,
        limits: &DecodingLimits,
    ) -> Result<Option<String>> {
        let Some(format) = Format::from_path(path) else {
            return Ok(None);
        };
        let place = places.theirs.join(path);
        if !place.is_file() {
            return Ok(None);
        }
        let Some(opened) = unless_damaged(DetectedFile::open(&place, format, limits))? else {
            return Ok(None);
        };
        let table = opened.table();
        let names = table.columns().to_vec();
        let key = names.iter().position(|name| *name == self.id).unwrap_or(0);
        let own = places.ours.join(path);
        // (hits, items) by column and label.
        let mut hits: Vec<Vec<(usize, usize)>> = vec![vec![(0, 0); self.labels.len()]; names.len()];
        let mut rows = table.rows()?;
        let mut row = Row::default();
        while rows.next(&mut row)? {
            let id = text(row.cell(key));
            for (place, columns) in hits
                .iter_mut()
                .enumerate()
                .filter(|(place, _)| *place != key)
            {
                let cell = text(row.cell(place));
                for ((_, answers), (hit, count)) in self.labels.iter().zip(columns) {
                    if let Some(answer) = answers.get(&id) {
                        *count += 1;
                        *hit += usize::from(same(answer, &cell));
                    }
                }
            }
        }
        for (name, columns) in names.iter().zip(&hits) {
            for ((label, answers), (hit, count)) in self.labels.iter().zip(columns) {
                let most = most_frequent(answers);
                let share = *hit as f64 / (*count).max(1) as f64;
                let known = texts(&own, path, name, limits)?;
                let ours = match (&known, *count * 2 >= answers.len()) {
                    (_, false) => continue,
                    (Some(_), true) => self.share_here(&own, path, name, answers, limits)?,
                    (None, true) => 0.0,
                };
                if share >= SHARE && share > most && ours < SHARE {
                    return Ok(Some(format!(
                        "`{name}` there is the answer in `{label}` for {hit} of {count} test items"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// How many items have their answer in this column of our table.
    fn share_here(
        &self,
        place: &std::path::Path,
        path: &str,
        name: &str,
        answers: &HashMap<String, String>,
        limits: &DecodingLimits,
    ) -> Result<f64> {
        let (ids, cells) = (
            texts(place, path, &self.id, limits)?,
            texts(place, path, name, limits)?,
        );
        let (Some(ids), Some(cells)) = (ids, cells) else {
            return Ok(0.0);
        };
        let hits = ids
            .iter()
            .zip(&cells)
            .filter(|(id, cell)| answers.get(*id).is_some_and(|answer| same(answer, cell)));
        Ok(hits.count() as f64 / ids.len().max(1) as f64)
    }
}

fn text(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell)
        .trim_matches('"')
        .trim()
        .to_owned()
}

fn same(answer: &str, cell: &str) -> bool {
    let numbers = answer.parse::<f64>().ok().zip(cell.parse::<f64>().ok());
    answer == cell || numbers.is_some_and(|(one, other)| one == other)
}

fn most_frequent(answers: &HashMap<String, String>) -> f64 {
    let mut counts: HashMap<&String, usize> = HashMap::new();
    for answer in answers.values() {
        *counts.entry(answer).or_default() += 1;
    }
    let most = counts.values().max().copied().unwrap_or(0);
    most as f64 / answers.len().max(1) as f64
}

fn texts(
    place: &std::path::Path,
    path: &str,
    name: &str,
    limits: &DecodingLimits,
) -> Result<Option<Vec<String>>> {
    let Some(format) = Format::from_path(path).filter(|_| place.is_file()) else {
        return Ok(None);
    };
    let read = column(place, format, name, limits, |row, at| text(row.cell(at)));
    Ok(unless_damaged(read)?.flatten())
}
