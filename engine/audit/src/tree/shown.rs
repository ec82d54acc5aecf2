//! Answers that became public: a column or rows of a public table, a file or a member of an archive more, or the values of the sample
//! submission.

use std::collections::HashMap;

use prep_contents::archive::Archive;
use prep_contents::table::{DetectedFile, column};
use prep_contents::{
    ContentsError, DecodingLimits, Format, Resources, Result, Row, TableReader, entries, read,
};

use super::Places;
use super::roles::Roles;
use crate::causes::{Harm, files, labels, rows};
use crate::error::unless_damaged;
use crate::finding::AuditFinding;
use crate::harm::ANSWERS_SHOWN;

/// Items that must have an answer, and the longest text in which answers are looked for next to ids.
const MIN_ITEMS: usize = 10;
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// Columns that may name the items, and words behind an item's name that may be its answer.
const KEY_COLUMNS: usize = 8;
const MAX_WORDS: usize = 8;

/// Raises the harm of findings about public tables that contain answers of test items.
///
/// # Errors
/// When a table cannot be read.
pub(super) fn raise(
    findings: &mut [AuditFinding],
    places: &Places<'_>,
    roles: &Roles,
    resources: &Resources<'_>,
) -> Result<()> {
    let limits = &resources.limits;
    let suspicious = [
        rows::COLUMNS_ADDED.id,
        rows::COLUMNS_RENAMED.id,
        rows::ROWS_ADDED.id,
        rows::VALUES_CHANGED.id,
        labels::LABELS_CHANGED.id,
        files::FILES_SURPLUS.id,
    ];
    let mut answers = None;
    of_items(findings, places, roles, limits)?;
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
        if let Some(shown) = answers.shown_in(&finding.path, places, resources)? {
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

/// Raises the harm of files of test items that have the answers, each its own.
fn of_items(
    findings: &mut [AuditFinding],
    places: &Places<'_>,
    roles: &Roles,
    limits: &DecodingLimits,
) -> Result<()> {
    let is_surplus = |one: &AuditFinding| {
        one.cause.id == files::FILES_SURPLUS.id && one.path.starts_with("public/")
    };
    let surplus = findings.iter().filter(|one| is_surplus(one));
    let paths: Vec<&str> = surplus.map(|one| one.path.as_str()).collect();
    if paths.len() < MIN_ITEMS {
        return Ok(());
    }
    let Some(answers) = Answers::read(places, roles, limits)? else {
        return Ok(());
    };
    let Some(shown) = answers.shown_in_files(&paths, places)? else {
        return Ok(());
    };
    for finding in findings.iter_mut().filter(|one| is_surplus(one)) {
        finding.raise(Harm::Answers, ANSWERS_SHOWN);
        finding.proof = Some(shown.clone());
    }
    Ok(())
}

/// Our answers: the labels of each id, column by column.
struct Answers {
    /// Ids in the order of the answers.
    order: Vec<String>,
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
            order: ids,
            id: id.to_owned(),
            labels,
        }))
    }

    /// Describes the part of their file, or of a member of an archive, that holds answers which ours does not.
    fn shown_in(
        &self,
        path: &str,
        places: &Places<'_>,
        resources: &Resources<'_>,
    ) -> Result<Option<String>> {
        let place = places.theirs.join(path);
        if place.is_file() && Archive::from_path(path).is_none() {
            return self.shown_in_file(path, &place, &places.ours.join(path), &resources.limits);
        }
        // An archive, or a member of one.
        let ends = path.match_indices('/').map(|(end, _)| end);
        let outer = ends
            .chain(std::iter::once(path.len()))
            .filter_map(|end| path.get(..end))
            .find(|outer| places.theirs.join(outer).is_file());
        let Some(outer) = outer else { return Ok(None) };
        let mut shown = None;
        let visited = entries::of_file(
            &places.theirs.join(outer),
            outer,
            resources,
            &mut |member, _, content| {
                let is_wanted = outer == path || member == path;
                if is_wanted && shown.is_none() {
                    let copy = read::spool(content, resources)?;
                    let nothing = places.ours.join("");
                    shown = self
                        .shown_in_file(member, &copy, &nothing, &resources.limits)?
                        .map(|shown| format!("{member}: {shown}"));
                }
                Ok(())
            },
        );
        unless_damaged(visited)?;
        Ok(shown)
    }

    fn shown_in_file(
        &self,
        path: &str,
        place: &std::path::Path,
        own: &std::path::Path,
        limits: &DecodingLimits,
    ) -> Result<Option<String>> {
        let shown = self.shown_in_table(path, place, own, limits)?;
        if shown.is_some() {
            return Ok(shown);
        }
        let shown = self.shown_in_text(place)?;
        let is_known = shown.is_some() && own.is_file() && self.shown_in_text(own)?.is_some();
        Ok(shown.filter(|_| !is_known))
    }

    /// Which column of their table holds answers that ours does not.
    fn shown_in_table(
        &self,
        path: &str,
        place: &std::path::Path,
        own: &std::path::Path,
        limits: &DecodingLimits,
    ) -> Result<Option<String>> {
        let Some(format) = Format::from_path(path) else {
            return Ok(None);
        };
        let Some(opened) = unless_damaged(DetectedFile::open(place, format, limits))? else {
            return Ok(None);
        };
        let table = opened.table();
        let names = table.columns().to_vec();
        let Some(key) = self.key(table, &names)? else {
            return self.shown_by_place(table, own);
        };
        // By column and label.
        let mut all: Vec<Vec<Agreement>> =
            vec![vec![Agreement::default(); self.labels.len()]; names.len()];
        let mut rows = table.rows()?;
        let mut row = Row::default();
        while rows.next(&mut row)? {
            let id = text(row.cell(key));
            for (place, columns) in all
                .iter_mut()
                .enumerate()
                .filter(|(place, _)| *place != key)
            {
                let cell = text(row.cell(place));
                for ((_, answers), agreement) in self.labels.iter().zip(columns) {
                    if let Some(answer) = answers.get(&id) {
                        agreement.add(&cell, answer);
                    }
                }
            }
        }
        for (name, columns) in names.iter().zip(&all) {
            for ((label, answers), agreement) in self.labels.iter().zip(columns) {
                let most = most_frequent(answers);
                if agreement.count * 2 < answers.len() {
                    continue;
                }
                let known = texts(own, path, name, limits)?;
                let ours = match known {
                    Some(_) => self.share_here(own, path, name, answers, limits)?,
                    None => 0.0,
                };
                let (hits, count) = (agreement.hits, agreement.count);
                if tells(hits, count, most) && ours < hits as f64 / count.max(1) as f64 - 0.1 {
                    return Ok(Some(format!(
                        "`{name}` there is the answer in `{label}` for {hits} of {count} test items"
                    )));
                }
                if known_is_none(own, path, name, limits)? && agreement.is_on_a_line() {
                    return Ok(Some(format!(
                        "`{name}` there is the answer in `{label}` in another unit"
                    )));
                }
                let classes: std::collections::HashSet<&String> = answers.values().collect();
                let right = agreement.right_by_code(classes.len());
                if known_is_none(own, path, name, limits)?
                    && right * 10 >= count * 9
                    && tells(right, count, most)
                {
                    return Ok(Some(format!(
                        "`{name}` there predicts the answer in `{label}` by a code for {right} of {count} test items"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Which column of a table without ids has the answers in their order. `own` is our file, which must not exist.
    fn shown_by_place(
        &self,
        table: &dyn TableReader,
        own: &std::path::Path,
    ) -> Result<Option<String>> {
        let names = table.columns();
        if own.is_file() {
            return Ok(None);
        }
        let mut all = vec![vec![Agreement::default(); self.labels.len()]; names.len()];
        let (mut rows, mut row, mut count) = (table.rows()?, Row::default(), 0);
        while rows.next(&mut row)? {
            let Some(id) = self.order.get(count) else {
                return Ok(None);
            };
            count += 1;
            for (place, columns) in all.iter_mut().enumerate() {
                let cell = text(row.cell(place));
                for ((_, answers), agreement) in self.labels.iter().zip(columns) {
                    if let Some(answer) = answers.get(id) {
                        agreement.add(&cell, answer);
                    }
                }
            }
        }
        if count != self.order.len() {
            return Ok(None);
        }
        for (name, columns) in names.iter().zip(&all) {
            for ((label, answers), agreement) in self.labels.iter().zip(columns) {
                let hits = agreement.hits;
                if tells(hits, count, most_frequent(answers)) {
                    return Ok(Some(format!(
                        "`{name}` there has the answers in `{label}` in their order, for {hits} of {count} test items"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Which files of one item each have its answer, in their names or in their texts.
    fn shown_in_files(&self, paths: &[&str], places: &Places<'_>) -> Result<Option<String>> {
        let ids: std::collections::HashSet<&String> = self.order.iter().collect();
        let mut found: Vec<(&String, Vec<String>)> = Vec::new();
        for path in paths {
            let name = path.rsplit('/').next().unwrap_or(path);
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            let Some(id) = id_in(stem, &ids) else {
                continue;
            };
            let mut words = words_of(&stem.replace('_', " "));
            let place = places.theirs.join(path);
            let length = place.metadata().map_or(u64::MAX, |metadata| metadata.len());
            if length <= MAX_NOTE_BYTES {
                let length = usize::try_from(length).unwrap_or(0);
                let bytes = read::head(&place, length)?;
                words.extend(words_of(&String::from_utf8_lossy(&bytes)));
            }
            found.push((id, words));
        }
        for (label, answers) in &self.labels {
            let named = found
                .iter()
                .filter_map(|(id, words)| Some((answers.get(*id)?, words)));
            let count = named.clone().count();
            let hits = named
                .filter(|(answer, words)| words.iter().any(|word| same(answer, word)))
                .count();
            if count * 2 >= answers.len() && tells(hits, count, most_frequent(answers)) {
                return Ok(Some(format!(
                    "files of {hits} of {count} test items have their answers in `{label}`, in their names or texts"
                )));
            }
        }
        Ok(None)
    }

    /// The column of a table that names most test items.
    fn key(&self, table: &dyn TableReader, names: &[String]) -> Result<Option<usize>> {
        if let Some(key) = names.iter().position(|name| *name == self.id) {
            return Ok(Some(key));
        }
        let Some((_, answers)) = self.labels.first() else {
            return Ok(None);
        };
        let mut hits = vec![0_usize; names.len().min(KEY_COLUMNS)];
        let (mut rows, mut row) = (table.rows()?, Row::default());
        while rows.next(&mut row)? {
            for (place, hits) in hits.iter_mut().enumerate() {
                *hits += usize::from(answers.contains_key(&text(row.cell(place))));
            }
        }
        let best = hits
            .iter()
            .zip(0..)
            .max_by_key(|(hits, place)| (**hits, usize::MAX - place));
        Ok(best
            .filter(|(hits, _)| **hits >= MIN_ITEMS)
            .map(|(_, place)| place))
    }

    /// Whether a word at some distance behind an item's name is its answer, whatever the form of the file.
    fn shown_in_text(&self, place: &std::path::Path) -> Result<Option<String>> {
        let length = place
            .metadata()
            .map_err(ContentsError::system_error(place))?
            .len();
        if length > MAX_TEXT_BYTES {
            return Ok(None);
        }
        let bytes = read::tail(place, 0, usize::try_from(length).unwrap_or(usize::MAX))?;
        let content = String::from_utf8_lossy(&bytes);
        let words: Vec<&str> = content
            .split(|c: char| c.is_whitespace() || ",;:\"'()[]{}|<>=".contains(c))
            .filter(|word| !word.is_empty())
            .collect();
        for (label, answers) in &self.labels {
            let mut agreements = vec![Agreement::default(); MAX_WORDS];
            for (at, word) in words.iter().enumerate() {
                let Some(answer) = answers.get(*word) else {
                    continue;
                };
                for (behind, agreement) in agreements.iter_mut().enumerate() {
                    if let Some(word) = words.get(at + 1 + behind) {
                        agreement.add(word, answer);
                    }
                }
            }
            for agreement in &agreements {
                let (hits, count) = (agreement.hits, agreement.count);
                if count * 2 >= answers.len() && tells(hits, count, most_frequent(answers)) {
                    return Ok(Some(format!(
                        "a word behind the id there is the answer in `{label}` for {hits} of {count} test items"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Returns the number of items whose answer is in this column of our table.
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

/// Longest file of an item in which its answer is looked for.
const MAX_NOTE_BYTES: u64 = 4096;

fn words_of(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || ",;:\"'()[]{}|<>=".contains(c))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The id that a name is, or that it has between signs.
fn id_in<'a>(stem: &str, ids: &std::collections::HashSet<&'a String>) -> Option<&'a String> {
    let stem = stem.to_owned();
    ids.get(&stem).copied().or_else(|| {
        let parts = stem.split(['_', '-', ' ']).map(str::to_owned);
        parts.filter_map(|part| ids.get(&part).copied()).next()
    })
}

/// Numbers that are compared with answers in another unit.
const MAX_PAIRS: usize = 5_000;

/// Different cells that may be codes of the answers.
const MAX_CODES: usize = 64;

/// How often the cells of a column are the answers, and how often each cell occurs with each answer.
#[derive(Debug, Clone, Default)]
struct Agreement {
    hits: usize,
    count: usize,
    codes: HashMap<String, HashMap<String, usize>>,
    /// Numbers and the answers, if both are numbers.
    pairs: Vec<(f64, f64)>,
}

impl Agreement {
    fn add(&mut self, cell: &str, answer: &str) {
        self.count += 1;
        self.hits += usize::from(same(answer, cell));
        let pair = cell.parse().ok().zip(answer.parse().ok());
        self.pairs
            .extend(pair.filter(|_| self.pairs.len() < MAX_PAIRS));
        if self.codes.len() <= MAX_CODES {
            let answers = self.codes.entry(cell.to_owned()).or_default();
            *answers.entry(answer.to_owned()).or_default() += 1;
        }
    }

    /// Whether the answers are the numbers in another unit: on one line, for nine of ten items and to a thousandth of their range.
    fn is_on_a_line(&self) -> bool {
        let by_number = |one: &&(f64, f64), other: &&(f64, f64)| one.0.total_cmp(&other.0);
        let (low, high) = (
            self.pairs.iter().min_by(by_number),
            self.pairs.iter().max_by(by_number),
        );
        let (Some((x0, y0)), Some((x1, y1))) = (low, high) else {
            return false;
        };
        let different: std::collections::HashSet<u64> = self
            .pairs
            .iter()
            .map(|(_, answer)| answer.to_bits())
            .collect();
        let is_near = |(x, y): &&(f64, f64)| {
            let told = y0 + (y1 - y0) * (x - x0) / (x1 - x0);
            (told - y).abs() <= 1e-3 * (y1 - y0).abs()
        };
        let near = self.pairs.iter().filter(is_near).count();
        x1 > x0 && different.len() >= 2 * MIN_ITEMS && near * 10 >= self.count * 9
    }

    /// Items whose answer is the most frequent one of their cell, if cells are codes of this number of classes.
    fn right_by_code(&self, classes: usize) -> usize {
        if self.codes.len() > MAX_CODES.min(2 * classes + 2) {
            return 0;
        }
        let most = |answers: &HashMap<String, usize>| answers.values().max().copied().unwrap_or(0);
        self.codes.values().map(most).sum()
    }
}

/// Whether hits are at least half of the items that the most frequent answer leaves.
fn tells(hits: usize, count: usize, most: f64) -> bool {
    let share = hits as f64 / count.max(1) as f64;
    count >= MIN_ITEMS && share >= most + 0.5 * (1.0 - most)
}

fn known_is_none(
    own: &std::path::Path,
    path: &str,
    name: &str,
    limits: &DecodingLimits,
) -> Result<bool> {
    Ok(texts(own, path, name, limits)?.is_none())
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
