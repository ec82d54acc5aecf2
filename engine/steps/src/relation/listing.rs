//! Reads the files of a tree as a relation with one row per file.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use prep_cache::Digest;
use prep_core::{Context, StepError};
use prep_formats::pandas::{ColumnType, Schema, arrow_type};
use prep_spec::{FILE_COLUMNS, FilePattern, split_source};
use prep_sql::{Relation, RelationBatch, RelationColumn, ScanError};

use super::named_parts::NamedParts;
use super::selected::SelectedRows;
use crate::value::{RowPositions, Tree, TreeFile, column};

/// The schema of a table of `rows` files that match a pattern.
///
/// `file` is the path, `path` the part of it below the pattern's directories without wildcards, `dir` the path without
/// the name, and `folder` the last part of `dir`. `stem` is the name without the last extension, and `ext` that
/// extension without its dot. `size` is in bytes. The last columns are the named parts of the
/// pattern.
pub(crate) fn listing_schema(pattern: &FilePattern, rows: u64) -> Schema {
    let columns = names(pattern).map(|name| column(name, column_type(name), false));
    Schema {
        columns: columns.collect(),
        rows,
    }
}

fn column_type(name: &str) -> ColumnType {
    match name {
        "size" => ColumnType::Int64,
        _ => ColumnType::Text,
    }
}

fn names(pattern: &FilePattern) -> impl Iterator<Item = &str> {
    let pattern_names = pattern.names.iter().map(String::as_str);
    FILE_COLUMNS.into_iter().chain(pattern_names)
}

#[derive(Debug)]
pub(crate) struct ListingRelation {
    tree: Arc<Tree>,
    chosen: SelectedRows,
    columns: Vec<RelationColumn>,
    pattern: FilePattern,
    parts: NamedParts,
}

impl ListingRelation {
    pub(crate) fn open(
        context: &Context,
        listing: &Digest,
        pattern: &str,
        positions: Option<Arc<RowPositions>>,
    ) -> Result<ListingRelation, StepError> {
        let pattern = FilePattern::parse(pattern);
        let pattern = pattern.map_err(|(message, _)| StepError::internal(message))?;
        let columns = names(&pattern).map(|name| RelationColumn {
            name: name.to_owned(),
            data_type: arrow_type(column_type(name)),
            hidden: false,
        });
        let columns = columns.collect();
        let tree = Tree::load_listing(context, listing)?;
        Ok(ListingRelation {
            chosen: SelectedRows::new(tree.len() as u64, positions),
            tree,
            columns,
            parts: NamedParts::new(&pattern)?,
            pattern,
        })
    }

    fn cells(&self, entries: &[TreeFile<'_>], column: usize) -> ArrayRef {
        let name = self.columns.get(column).map_or("", |column| &column.name);
        match name {
            "size" => {
                let sizes = entries.iter().map(|entry| entry.bytes());
                let sizes = sizes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
                Arc::new(Int64Array::from_iter_values(sizes))
            }
            "path" => texts(entries, |path| self.pattern.below(path)),
            _ => match column.checked_sub(FILE_COLUMNS.len()) {
                Some(number) => texts(entries, |path| self.parts.part(path, number)),
                None => texts(entries, |path| part(path, name)),
            },
        }
    }

    fn entries(&self, first: u64, len: usize) -> Vec<TreeFile<'_>> {
        let rows = self.origins(first, len).into_iter();
        rows.filter_map(|row| self.tree.file(usize::try_from(row).ok()?))
            .collect()
    }
}

/// Returns an array with a part of each file's path.
fn texts(entries: &[TreeFile<'_>], part: impl Fn(&str) -> &str) -> ArrayRef {
    let texts = entries.iter().map(|entry| part(entry.path()));
    Arc::new(StringArray::from_iter_values(texts))
}

impl Relation for ListingRelation {
    fn columns(&self) -> &[RelationColumn] {
        &self.columns
    }

    fn rows(&self) -> u64 {
        self.chosen.len()
    }

    fn has_cells(&self, _column: usize) -> bool {
        false
    }

    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        batch: usize,
    ) -> Box<dyn Iterator<Item = Result<RelationBatch, ScanError>> + Send> {
        let ranges = self.chosen.ranges(batch);
        Box::new(ranges.map(move |(first, len)| {
            let entries = self.entries(first, len);
            let columns = columns
                .iter()
                .map(|column| self.cells(&entries, *column))
                .collect();
            Ok(RelationBatch {
                rows: entries.len(),
                columns,
            })
        }))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        self.chosen.origins(first, len)
    }
}

/// Returns the part of a path that the column shows.
pub(crate) fn part<'a>(path: &'a str, column: &str) -> &'a str {
    let (dir, name) = path
        .rsplit_once('/')
        .unwrap_or_else(|| ("", split_source(path).1));
    // As in Python's pathlib, neither a leading nor a trailing dot starts an extension.
    let (stem, ext) = match name.rfind('.') {
        Some(dot) if dot > 0 && dot + 1 < name.len() => (&name[..dot], &name[dot + 1..]),
        _ => (name, ""),
    };
    match column {
        "dir" => dir,
        "folder" => dir
            .rsplit('/')
            .next()
            .map_or(dir, |last| split_source(last).1),
        "name" => name,
        "stem" => stem,
        "ext" => ext,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_parts_match_pathlib() {
        let parts =
            |path| ["dir", "folder", "name", "stem", "ext"].map(|column| part(path, column));
        assert_eq!(
            parts("a/b/c.tar.gz"),
            ["a/b", "b", "c.tar.gz", "c.tar", "gz"]
        );
        assert_eq!(parts("c"), ["", "", "c", "c", ""]);
        assert_eq!(parts("more:c.d"), ["", "", "c.d", "c", "d"]);
        assert_eq!(parts("more:a/c"), ["more:a", "a", "c", "c", ""]);
        assert_eq!(parts("a/.hidden"), ["a", "a", ".hidden", ".hidden", ""]);
        assert_eq!(parts("a/x."), ["a", "a", "x.", "x.", ""]);
    }
}
