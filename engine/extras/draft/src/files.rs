//! Finds the files that belong to rows of a table: a column contains their names or paths.

use std::cmp::Reverse;
use std::collections::HashSet;

use prep_spec::{path_part, without_extension};

use crate::bundle::{BundleContent, FileGroup, MAX_NAMES};
use crate::guess::is_unique;
use crate::table::BundleTable;
use crate::words::sql_name;

/// At most this number of cells is compared with the names of files.
const MAX_COMPARED: usize = 2000;
/// At most this number of groups of files, the best matches, is assigned to rows.
const MAX_ROW_FILES: usize = 3;

/// A longer cell is not treated as a path.
const MAX_PATH_BYTES: usize = 512;

/// A group of files that belong to rows.
pub(crate) struct RowFiles<'b> {
    pub files: &'b FileGroup,
    /// The column of the rows with the names or paths.
    pub key: String,
    /// Whether no two rows have the same file.
    pub is_unique: bool,
    pub form: FileKey,
    /// Number of known rows without a file.
    pub missing: usize,
}

/// The way in which a cell names a file: the cell without `removed` at its beginning, between `before` and `after`, equals
/// a column of the table of files.
#[derive(Default)]
pub(crate) struct FileKey {
    /// `name`, `stem`, or `file`, the path in the bundle.
    pub column: &'static str,
    pub removed: String,
    pub before: String,
    pub after: String,
}

/// Finds groups of files that one of the `columns` names, the best match first.
pub(crate) fn matching<'b, 'c>(
    bundle: &'b BundleContent,
    table: &BundleTable,
    columns: impl Iterator<Item = &'c String> + Clone,
) -> Vec<RowFiles<'b>> {
    let groups = bundle.files.iter().filter_map(|files| {
        let stems = files
            .names
            .iter()
            .map(|name| path_part(name, "stem"))
            .collect();
        let mut columns = columns.clone();
        columns.find_map(|column| named_files(files, &stems, table, column))
    });
    let mut groups: Vec<(usize, RowFiles)> = groups.collect();
    groups.sort_by_key(|(count, _)| Reverse(*count));
    let groups = groups.into_iter().map(|(_, files)| files);
    groups.take(MAX_ROW_FILES).collect()
}

/// Returns how the cells of a column name the files of a group, and the number of examined cells that do. Returns `None` if
/// most cells name no file of the group, and most of its files are not named.
fn named_files<'b>(
    files: &'b FileGroup,
    stems: &HashSet<&str>,
    table: &BundleTable,
    key: &str,
) -> Option<(usize, RowFiles<'b>)> {
    let texts = table.texts(key)?;
    let all: Vec<&str> = texts.iter().copied().flatten().collect();
    let cells = all.get(..MAX_COMPARED).unwrap_or(&all);
    let by_name = ["name", "stem"].map(|column| FileKey {
        column,
        ..FileKey::default()
    });
    // The first cells may have no file.
    let is_path = |cell: &&&str| cell.contains('/') && cell.len() <= MAX_PATH_BYTES;
    let paths = cells.iter().take(3).filter(is_path);
    let by_path = paths.filter_map(|cell| path_key(files, cell));
    by_name.into_iter().chain(by_path).find_map(|form| {
        let is_named = |cell: &&&str| {
            let rest = cell.strip_prefix(form.removed.as_str());
            let name = rest.map(|rest| format!("{}{rest}{}", form.before, form.after));
            name.is_some_and(|name| match form.column {
                "stem" => stems.contains(name.as_str()),
                "name" => files.names.contains(&name),
                _ => files.paths.contains(&name),
            })
        };
        let named: Vec<&&str> = cells.iter().filter(is_named).collect();
        let different: HashSet<&&&str> = named.iter().collect();
        // For example, a directory contains the photos of some rows.
        let is_most_of_group = different.len() * 2 > files.count && named.len() * 10 > cells.len();
        if named.len() * 2 <= cells.len() && !is_most_of_group {
            return None;
        }
        // If there are more files than stored names, the number of rows without a file is unknown.
        let missing = match files.count > MAX_NAMES {
            true => 0,
            false => texts.len() - all.iter().filter(is_named).count(),
        };
        let count = named.len();
        let files = RowFiles {
            files,
            key: key.to_owned(),
            is_unique: is_unique(table, key),
            form,
            missing,
        };
        Some((count, files))
    })
}

/// Returns the join of `table` with a group of files whose names differ from the cells of a column only in upper and lower
/// case. Returns `None` if most cells of each column name no file.
pub(crate) fn join_without_case(files: &FileGroup, table: &BundleTable) -> Option<String> {
    ["name", "stem"].into_iter().find_map(|part| {
        let names = files.names.iter().map(|name| path_part(name, part));
        let names: HashSet<String> = names.map(str::to_lowercase).collect();
        table.names().find_map(|key| {
            let cells: Vec<&str> = table
                .texts(key)?
                .into_iter()
                .flatten()
                .take(MAX_COMPARED)
                .collect();
            let is_named = |cell: &&&str| names.contains(&cell.to_lowercase());
            let is_most = cells.iter().filter(is_named).count() * 2 > cells.len();
            is_most.then(|| format!("lower(f.{part}) = lower(t.{})", sql_name(key)))
        })
    })
}

/// Returns how `cell` names the file whose path shares the most directories with it, with or without the suffix of the
/// file. For example, `./photos/2/p` names `images/2/p.jpg`.
fn path_key(files: &FileGroup, cell: &str) -> Option<FileKey> {
    let slashes = cell.match_indices('/').map(|(at, _)| at + 1);
    let ends: Vec<&str> = [0]
        .into_iter()
        .chain(slashes)
        .filter_map(|at| cell.get(at..))
        .collect();
    // Returns the longest end of the cell that is also an end of `path`, and the rest of `path`.
    let common = |path| {
        ends.iter().find_map(|end| {
            let before = str::strip_suffix(path, *end)?;
            (before.is_empty() || before.ends_with('/')).then_some((*end, before))
        })
    };
    let found = files.paths.iter().flat_map(|path| {
        let stem = without_extension(path);
        let names = [
            (path.as_str(), ""),
            (stem, path.get(stem.len()..).unwrap_or_default()),
        ];
        names.map(|(name, after)| common(name).map(|(end, before)| (end, before, after)))
    });
    // Among equal ends, the first directory makes the draft deterministic.
    let best = |(end, before, _): &(&str, &str, &str)| (end.len(), Reverse(before.to_string()));
    let (end, before, after) = found.flatten().max_by_key(best)?;
    Some(FileKey {
        column: "file",
        removed: cell.strip_suffix(end)?.to_owned(),
        before: before.to_owned(),
        after: after.to_owned(),
    })
}
