//! Finds answers that became public in the audited tree, for example in an additional column, row or file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use prep_contents::table::{DetectedFile, column};
use prep_contents::{
    ArchiveFormat, ContentsError, DecodingLimits, Format, Result, Row, TableReader, entries, read,
};

use super::TreeRoots;
use super::roles::Roles;
use crate::causes::{Cause, Harm};
use crate::error::unless_damaged;
use crate::finding::{ANSWERS_SHOWN, AuditFinding};

/// With fewer test items, neither columns nor files are reported as revealing answers.
const MIN_ITEMS: usize = 10;
/// Text files with more bytes are not searched for answers next to ids.
const MAX_TEXT_BYTES: u64 = 64 << 20;

/// Number of first columns that are tried as the id column.
const MAX_KEY_COLUMNS: usize = 8;
/// Number of words after an item's id that are tried as its answer.
const MAX_WORDS: usize = 8;

/// Finds public files of the audited tree that reveal answers of test items, and raises the harm of the findings about
/// these files.
pub(super) fn raise(
    findings: &mut [AuditFinding],
    roots: &TreeRoots<'_>,
    roles: &Roles,
) -> Result<()> {
    let suspicious = [
        Cause::ColumnsAdded,
        Cause::ColumnsRenamed,
        Cause::RowsAdded,
        Cause::ValuesChanged,
        Cause::LabelsChanged,
        Cause::FilesSurplus,
        Cause::SystemFiles,
    ];
    let is_suspicious =
        |one: &AuditFinding| one.path.starts_with("public/") && suspicious.contains(&one.cause);
    if !findings.iter().any(is_suspicious) {
        return Ok(());
    }
    let Some(answers) = SearchedAnswers::read(roots, roles)? else {
        return Ok(());
    };
    raise_item_files(findings, roots, &answers)?;
    let mut by_file: BTreeMap<String, Vec<&mut AuditFinding>> = BTreeMap::new();
    for finding in findings.iter_mut() {
        if is_suspicious(finding)
            && finding.harm < Harm::Answers
            && let Some(file) = outermost_file(&finding.path, roots.theirs)
        {
            by_file.entry(file).or_default().push(finding);
        }
    }
    for (file, findings) in by_file {
        answers.raise_in(&file, findings, roots)?;
    }
    Ok(())
}

/// Returns the path of the file that contains `path`: `path` itself, or the outermost archive.
fn outermost_file(path: &str, theirs: &Path) -> Option<String> {
    let ends = path.match_indices('/').map(|(end, _)| end);
    let mut outer = ends
        .chain(std::iter::once(path.len()))
        .filter_map(|end| path.get(..end));
    outer
        .find(|outer| theirs.join(outer).is_file())
        .map(str::to_owned)
}

fn raise_to_answers(finding: &mut AuditFinding, shown: &str) {
    finding.raise(Harm::Answers, ANSWERS_SHOWN);
    let proof = finding.proof.take();
    finding.proof = Some(proof.map_or(shown.to_owned(), |proof| format!("{proof}; {shown}")));
}

/// Examines additional public files that are named after test items. If most of these files contain the answer of their
/// item, raises the harm of the findings about all additional public files.
fn raise_item_files(
    findings: &mut [AuditFinding],
    roots: &TreeRoots<'_>,
    answers: &SearchedAnswers,
) -> Result<()> {
    let is_surplus =
        |one: &AuditFinding| one.cause == Cause::FilesSurplus && one.path.starts_with("public/");
    let surplus = findings.iter().filter(|one| is_surplus(one));
    let paths: Vec<&str> = surplus.map(|one| one.path.as_str()).collect();
    if paths.len() < MIN_ITEMS {
        return Ok(());
    }
    let Some(shown) = answers.shown_in_files(&paths, roots)? else {
        return Ok(());
    };
    for finding in findings.iter_mut().filter(|one| is_surplus(one)) {
        finding.raise(Harm::Answers, ANSWERS_SHOWN);
        finding.proof = Some(shown.clone());
    }
    Ok(())
}

/// The answers that `prep` prepared. The public files of the audited tree are searched for them.
struct SearchedAnswers {
    /// Ids of the test items in the order of the answers.
    order: Vec<String>,
    id: String,
    /// For each label column: its name, and the labels by id.
    labels: Vec<(String, HashMap<String, String>)>,
}

impl SearchedAnswers {
    /// Reads the answers that `prep` prepared. Omits columns with the same label in all rows.
    fn read(roots: &TreeRoots<'_>, roles: &Roles) -> Result<Option<SearchedAnswers>> {
        let (Some(path), Some(id)) = (roles.answers.as_deref(), roles.only_id()) else {
            return Ok(None);
        };
        let limits = &roots.resources.limits;
        let read = |name: &str| texts(&roots.ours.join(path), path, name, limits);
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
        Ok(Some(SearchedAnswers {
            order: ids,
            id: id.to_owned(),
            labels,
        }))
    }

    /// Searches `file`, or the members of an archive, for answers. Raises the harm of `findings` if it finds them.
    fn raise_in(
        &self,
        file: &str,
        findings: Vec<&mut AuditFinding>,
        roots: &TreeRoots<'_>,
    ) -> Result<()> {
        let resources = roots.resources;
        let (theirs, ours) = (roots.theirs.join(file), roots.ours.join(file));
        if ArchiveFormat::from_path(file).is_none() {
            let shown = self.shown_in_file(file, &theirs, &ours, &resources.limits)?;
            for finding in findings {
                shown
                    .iter()
                    .for_each(|shown| raise_to_answers(finding, shown));
            }
            return Ok(());
        }
        let mut by_path: HashMap<String, Vec<&mut AuditFinding>> = HashMap::new();
        for finding in findings {
            let path = finding.path.clone();
            by_path.entry(path).or_default().push(finding);
        }
        // Members of `theirs` are not compared with `ours`, so a path without a file is passed for `ours`.
        let nothing = roots.ours.join("");
        let visited = entries::of_file(&theirs, file, resources, &mut |member, _, content| {
            if !by_path.contains_key(file) && !by_path.contains_key(member) {
                return Ok(());
            }
            let copy = read::spool(content, resources)?;
            let shown = self.shown_in_file(member, &copy, &nothing, &resources.limits)?;
            let Some(shown) = shown else { return Ok(()) };
            let about = [by_path.remove(file), by_path.remove(member)];
            for finding in about.into_iter().flatten().flatten() {
                raise_to_answers(finding, &format!("{member}: {shown}"));
            }
            Ok(())
        });
        unless_damaged(visited)?;
        Ok(())
    }

    fn shown_in_file(
        &self,
        path: &str,
        theirs: &Path,
        ours: &Path,
        limits: &DecodingLimits,
    ) -> Result<Option<String>> {
        let shown = self.shown_in_table(path, theirs, ours, limits)?;
        if shown.is_some() {
            return Ok(shown);
        }
        let shown = self.shown_in_text(theirs)?;
        let is_known = shown.is_some() && ours.is_file() && self.shown_in_text(ours)?.is_some();
        Ok(shown.filter(|_| !is_known))
    }

    /// Searches a table of the audited tree for a column that reveals the answers, and describes it. Ignores a column that
    /// also reveals the answers in the tree that `prep` prepared.
    fn shown_in_table(
        &self,
        path: &str,
        theirs: &Path,
        ours: &Path,
        limits: &DecodingLimits,
    ) -> Result<Option<String>> {
        let Some(format) = Format::from_path(path) else {
            return Ok(None);
        };
        let Some(opened) = unless_damaged(DetectedFile::open(theirs, format, limits))? else {
            return Ok(None);
        };
        let table = opened.table();
        let names = table.columns().to_vec();
        let Some(key) = self.key(table, &names)? else {
            return self.shown_by_position(table, ours);
        };
        let mut all = self.agreements(names.len());
        let (mut rows, mut row) = (table.rows()?, Row::default());
        while rows.next(&mut row)? {
            self.add_row(&mut all, &row, &text(row.cell(key)), Some(key));
        }
        for (name, columns) in names.iter().zip(&all) {
            for ((label, answers), agreement) in self.labels.iter().zip(columns) {
                let most = most_frequent(answers);
                if agreement.count * 2 < answers.len() {
                    continue;
                }
                let is_new = texts(ours, path, name, limits)?.is_none();
                let our_fraction = match is_new {
                    true => 0.0,
                    false => self.hit_fraction(ours, path, name, answers, limits)?,
                };
                let (hits, count) = (agreement.hits, agreement.count);
                if is_conclusive(hits, count, most)
                    && our_fraction < hits as f64 / count.max(1) as f64 - 0.1
                {
                    return Ok(Some(format!(
                        "the column `{name}` of the audited file equals the answer in `{label}` for {hits} of {count} test items"
                    )));
                }
                if is_new && agreement.is_linear() {
                    return Ok(Some(format!(
                        "the column `{name}` of the audited file contains the answer in `{label}` in a different unit"
                    )));
                }
                let classes: HashSet<&String> = answers.values().collect();
                let right = agreement.right_by_code(classes.len());
                if is_new && right * 10 >= count * 9 && is_conclusive(right, count, most) {
                    return Ok(Some(format!(
                        "the column `{name}` of the audited file contains a code for the answer in `{label}` for {right} of {count} test items"
                    )));
                }
            }
        }
        Ok(None)
    }

    fn agreements(&self, columns: usize) -> Vec<Vec<Agreement>> {
        vec![vec![Agreement::default(); self.labels.len()]; columns]
    }

    /// Compares the cells of a row with the answers to the item `id`, and adds the results to `all`. Skips `key`, the id
    /// column. An element of `all` contains one [`Agreement`] per label column.
    fn add_row(&self, all: &mut [Vec<Agreement>], row: &Row, id: &str, key: Option<usize>) {
        let columns = all.iter_mut().enumerate();
        for (position, agreements) in columns.filter(|(position, _)| Some(*position) != key) {
            let cell = text(row.cell(position));
            for ((_, answers), agreement) in self.labels.iter().zip(agreements) {
                if let Some(answer) = answers.get(id) {
                    agreement.add(&cell, answer);
                }
            }
        }
    }

    /// Searches a table without ids for a column of answers. Its answers must be in the order of the prepared answers.
    /// Returns a description of this column. Skips the table if the tree that `prep` prepared also has it, at the path
    /// `ours`.
    fn shown_by_position(&self, table: &dyn TableReader, ours: &Path) -> Result<Option<String>> {
        let names = table.columns();
        if ours.is_file() {
            return Ok(None);
        }
        let mut all = self.agreements(names.len());
        let (mut rows, mut row, mut count) = (table.rows()?, Row::default(), 0);
        while rows.next(&mut row)? {
            let Some(id) = self.order.get(count) else {
                return Ok(None);
            };
            count += 1;
            self.add_row(&mut all, &row, id, None);
        }
        if count != self.order.len() {
            return Ok(None);
        }
        for (name, columns) in names.iter().zip(&all) {
            for ((label, answers), agreement) in self.labels.iter().zip(columns) {
                let hits = agreement.hits;
                if is_conclusive(hits, count, most_frequent(answers)) {
                    return Ok(Some(format!(
                        "the column `{name}` of the audited file contains the answers in `{label}`, in the order of the prepared answers, for {hits} of {count} test items"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Searches the names and contents of files that are named after test items for the answers of these items. Returns a
    /// description if most files contain the answer of their item.
    fn shown_in_files(&self, paths: &[&str], roots: &TreeRoots<'_>) -> Result<Option<String>> {
        let ids: HashSet<&String> = self.order.iter().collect();
        let mut found: Vec<(&String, String)> = Vec::new();
        for path in paths {
            let name = path.rsplit('/').next().unwrap_or(path);
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            let Some(id) = id_in(stem, &ids) else {
                continue;
            };
            let mut texts = stem.replace('_', " ");
            let file = roots.theirs.join(path);
            let length = file.metadata().map_or(u64::MAX, |metadata| metadata.len());
            if length <= MAX_ITEM_FILE_BYTES {
                let length = usize::try_from(length).unwrap_or(0);
                let bytes = read::head(&file, length)?;
                texts.push(' ');
                texts.push_str(&String::from_utf8_lossy(&bytes));
            }
            found.push((id, texts));
        }
        for (label, answers) in &self.labels {
            let named = found
                .iter()
                .filter_map(|(id, texts)| Some((answers.get(*id)?, texts)));
            let count = named.clone().count();
            let hits = named
                .filter(|(answer, texts)| words_of(texts).any(|word| is_same_value(answer, word)))
                .count();
            if count * 2 >= answers.len() && is_conclusive(hits, count, most_frequent(answers)) {
                return Ok(Some(format!(
                    "the names or contents of the audited files contain the answers in `{label}` for {hits} of {count} test items"
                )));
            }
        }
        Ok(None)
    }

    /// Returns the id column. If the table does not have it, returns the column that contains the most ids of test
    /// items.
    fn key(&self, table: &dyn TableReader, names: &[String]) -> Result<Option<usize>> {
        if let Some(key) = names.iter().position(|name| *name == self.id) {
            return Ok(Some(key));
        }
        let Some((_, answers)) = self.labels.first() else {
            return Ok(None);
        };
        let mut hits = vec![0_usize; names.len().min(MAX_KEY_COLUMNS)];
        let (mut rows, mut row) = (table.rows()?, Row::default());
        while rows.next(&mut row)? {
            for (position, hits) in hits.iter_mut().enumerate() {
                *hits += usize::from(answers.contains_key(&text(row.cell(position))));
            }
        }
        let best = hits
            .iter()
            .zip(0..)
            .max_by_key(|(hits, position)| (**hits, usize::MAX - position));
        Ok(best
            .filter(|(hits, _)| **hits >= MIN_ITEMS)
            .map(|(_, position)| position))
    }

    /// Searches a file of any format for answers that follow the ids of their items. The number of words between id and
    /// answer must be the same for most items.
    fn shown_in_text(&self, file: &Path) -> Result<Option<String>> {
        let length = file
            .metadata()
            .map_err(ContentsError::system_error(file))?
            .len();
        if length > MAX_TEXT_BYTES {
            return Ok(None);
        }
        let bytes = read::tail(file, 0, usize::try_from(length).unwrap_or(usize::MAX))?;
        let content = String::from_utf8_lossy(&bytes);
        for (label, answers) in &self.labels {
            let mut agreements = vec![Agreement::default(); MAX_WORDS];
            let mut words = words_of(&content);
            while let Some(word) = words.next() {
                let Some(answer) = answers.get(word) else {
                    continue;
                };
                for (agreement, word) in agreements.iter_mut().zip(words.clone()) {
                    agreement.add(word, answer);
                }
            }
            for agreement in &agreements {
                let (hits, count) = (agreement.hits, agreement.count);
                if count * 2 >= answers.len() && is_conclusive(hits, count, most_frequent(answers))
                {
                    return Ok(Some(format!(
                        "in the audited file, a word after the id is the answer in `{label}` for {hits} of {count} test items"
                    )));
                }
            }
        }
        Ok(None)
    }

    /// Reads a table that `prep` prepared. Returns the fraction of its rows whose cell in the column `name` equals the
    /// answer for the row's item. `ours` is the table's path on disk, and `path` its path in the tree.
    fn hit_fraction(
        &self,
        ours: &Path,
        path: &str,
        name: &str,
        answers: &HashMap<String, String>,
        limits: &DecodingLimits,
    ) -> Result<f64> {
        let (ids, cells) = (
            texts(ours, path, &self.id, limits)?,
            texts(ours, path, name, limits)?,
        );
        let (Some(ids), Some(cells)) = (ids, cells) else {
            return Ok(0.0);
        };
        let hits = ids.iter().zip(&cells).filter(|(id, cell)| {
            answers
                .get(*id)
                .is_some_and(|answer| is_same_value(answer, cell))
        });
        Ok(hits.count() as f64 / ids.len().max(1) as f64)
    }
}

const MAX_ITEM_FILE_BYTES: u64 = 4096;

fn words_of(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.split(|c: char| c.is_whitespace() || ",;:\"'()[]{}|<>=".contains(c))
        .filter(|word| !word.is_empty())
}

/// Returns the id that equals `stem`, or a part of `stem` between `_`, `-` or spaces.
fn id_in<'a>(stem: &str, ids: &HashSet<&'a String>) -> Option<&'a String> {
    let stem = stem.to_owned();
    ids.get(&stem).copied().or_else(|| {
        let parts = stem.split(['_', '-', ' ']).map(str::to_owned);
        parts.filter_map(|part| ids.get(&part).copied()).next()
    })
}

/// Maximum length of [`Agreement::pairs`].
const MAX_PAIRS: usize = 5_000;

/// A column with more different cells is not treated as a code for the answers.
const MAX_CODES: usize = 64;

/// How well the cells of one column reveal the answers in one label column.
#[derive(Debug, Clone, Default)]
struct Agreement {
    hits: usize,
    count: usize,
    /// For each cell: how often it occurs together with each answer.
    codes: HashMap<String, HashMap<String, usize>>,
    /// Cell and answer of the first items for which both are numbers.
    pairs: Vec<(f64, f64)>,
}

impl Agreement {
    fn add(&mut self, cell: &str, answer: &str) {
        self.count += 1;
        self.hits += usize::from(is_same_value(answer, cell));
        let pair = cell.parse().ok().zip(answer.parse().ok());
        self.pairs
            .extend(pair.filter(|_| self.pairs.len() < MAX_PAIRS));
        if self.codes.len() <= MAX_CODES {
            let answers = self.codes.entry(cell.to_owned()).or_default();
            *answers.entry(answer.to_owned()).or_default() += 1;
        }
    }

    /// Returns whether the answers are a linear function of the cells, for example the same lengths in a different unit.
    /// Nine of ten answers must match, with a tolerance of a thousandth of the range of answers.
    fn is_linear(&self) -> bool {
        let by_number = |one: &&(f64, f64), other: &&(f64, f64)| one.0.total_cmp(&other.0);
        let (low, high) = (
            self.pairs.iter().min_by(by_number),
            self.pairs.iter().max_by(by_number),
        );
        let (Some((x0, y0)), Some((x1, y1))) = (low, high) else {
            return false;
        };
        let different: HashSet<u64> = self
            .pairs
            .iter()
            .map(|(_, answer)| answer.to_bits())
            .collect();
        let is_near = |(x, y): &&(f64, f64)| {
            let expected = y0 + (y1 - y0) * (x - x0) / (x1 - x0);
            (expected - y).abs() <= 1e-3 * (y1 - y0).abs()
        };
        let near = self.pairs.iter().filter(is_near).count();
        x1 > x0 && different.len() >= 2 * MIN_ITEMS && near * 10 >= self.count * 9
    }

    /// Treats each distinct cell as a code for the answer that occurs with it most often. Returns how many answers these
    /// codes predict correctly. Returns 0 if there are too many different cells to be a code for `classes` different
    /// answers.
    fn right_by_code(&self, classes: usize) -> usize {
        if self.codes.len() > MAX_CODES.min(2 * classes + 2) {
            return 0;
        }
        let most = |answers: &HashMap<String, usize>| answers.values().max().copied().unwrap_or(0);
        self.codes.values().map(most).sum()
    }
}

/// Returns whether `hits` of `count` answers show that a column reveals the answers. Always predicting the most
/// frequent answer would be right for the fraction `most`. The fraction of hits must be at least halfway between `most`
/// and 1.
fn is_conclusive(hits: usize, count: usize, most: f64) -> bool {
    let fraction = hits as f64 / count.max(1) as f64;
    count >= MIN_ITEMS && fraction >= most + 0.5 * (1.0 - most)
}

fn text(cell: &[u8]) -> String {
    String::from_utf8_lossy(cell)
        .trim_matches('"')
        .trim()
        .to_owned()
}

fn is_same_value(answer: &str, cell: &str) -> bool {
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

/// Reads the cells of the column `name` as strings. `None` without such a file, table or column.
fn texts(
    file: &Path,
    path: &str,
    name: &str,
    limits: &DecodingLimits,
) -> Result<Option<Vec<String>>> {
    let Some(format) = Format::from_path(path).filter(|_| file.is_file()) else {
        return Ok(None);
    };
    let read = column(file, format, name, limits, |row, at| text(row.cell(at)));
    Ok(unless_damaged(read)?.flatten())
}
