//! Reads the files of a tree as a relation.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use prep_cache::Digest;
use prep_core::{Context, Inputs, StepError};
use prep_formats::pandas::{ColumnType, Schema, arrow_type};
use prep_spec::{FILE_COLUMNS, FilePattern, path_glob, path_part, split_source};
use prep_sql::{Relation, RelationBatch, RelationBatches, RelationColumn};
use regex::bytes::{Regex, RegexBuilder};

use super::selected::SelectedRows;
use super::{BATCH_ROWS, open_table};
use crate::value::{
    FILES_INPUT, OpenContent, Opener, RowPositions, Tree, TreeFile, column, input, source_and_path,
    trees,
};

/// Returns the schema of a table of `rows` files that match a pattern:
///
/// - `file`: the path of the file;
/// - `path`: the path below the leading directories of the pattern that have no wildcards;
/// - `dir` and `folder`: the path without the name, and the last part of `dir`;
/// - `name`, `stem` and `ext`: the name, the name without its last extension, and this extension without its dot;
/// - `size`: the length in bytes;
/// - a column for each named part of the pattern.
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

/// Returns the names of all columns of a table of files.
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
                None => texts(entries, |path| path_part(path, name)),
            },
        }
    }

    /// Returns the files of the rows `first..first + len`.
    fn entries(&self, first: u64, len: usize) -> Vec<TreeFile<'_>> {
        let rows = self.origins(first, len).into_iter();
        rows.filter_map(|row| self.tree.file(usize::try_from(row).ok()?))
            .collect()
    }
}

/// Returns an array with `part` of each file's path.
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

    fn scan(self: Arc<Self>, columns: Vec<usize>, batch: usize) -> RelationBatches {
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

/// Calls `visit` with each file that the input `files` names in its column `file`, in row order.
pub(crate) fn for_each_file(
    context: &Context,
    inputs: &Inputs,
    visit: &mut dyn FnMut(&str, &OpenContent<'_>) -> Result<(), StepError>,
) -> Result<(), StepError> {
    let table = open_table(context, input(inputs, FILES_INPUT)?)?;
    let trees = trees(context, inputs)?;
    let mut columns = table.columns().iter();
    let column = columns.position(|column| column.name == "file");
    let column =
        column.ok_or_else(|| StepError::pipeline("the table of files has no column `file`"))?;
    let opener = Opener::new(context);
    for values in table.scan(vec![column], BATCH_ROWS) {
        let values = values.map_err(StepError::input)?;
        let files = cast(&values.columns[0], &DataType::Utf8).map_err(StepError::pipeline)?;
        for file in files.as_string::<i32>().iter() {
            context.check()?;
            let file =
                file.ok_or_else(|| StepError::pipeline("the column `file` has a missing cell"))?;
            let content = trees.iter().find_map(|tree| tree.get(file));
            let content = content.ok_or_else(|| {
                let (source, path) = source_and_path(file);
                StepError::input(format!("{source} has no file `{path}`"))
            })?;
            visit(file, &opener.open(&content)?)?;
        }
    }
    Ok(())
}

/// A regular expression with one group for each named part of a pattern. `None` if the pattern has no names.
#[derive(Debug)]
pub(super) struct NamedParts(Option<Regex>);

impl NamedParts {
    /// Compiles a pattern. Each name such as `{species}` and each wildcard matches the shortest possible part, from left to
    /// right. The part that a name matches cannot contain `/`.
    pub(super) fn new(pattern: &FilePattern) -> Result<NamedParts, StepError> {
        if pattern.names.is_empty() {
            return Ok(NamedParts(None));
        }
        let mut expression = "(?s-u)^".to_owned();
        for (number, glob_pattern) in pattern.pieces().iter().enumerate() {
            if number > 0 {
                expression.push_str("([^/]+)");
            }
            if glob_pattern.is_empty() {
                continue;
            }
            let glob = path_glob(glob_pattern).map_err(StepError::internal)?;
            let regex = glob.regex();
            let regex = regex.strip_prefix("(?-u)").unwrap_or(regex);
            let regex = regex.strip_prefix('^').unwrap_or(regex);
            expression.push_str(regex.strip_suffix('$').unwrap_or(regex));
        }
        expression.push('$');
        // Wildcards also match the shortest possible text.
        let regex = RegexBuilder::new(&expression).swap_greed(true).build();
        let regex = regex.map_err(StepError::internal)?;
        Ok(NamedParts(Some(regex)))
    }

    /// Returns the part of a path that matches the name with the index `number`. Empty if the path does not match.
    pub(super) fn part<'p>(&self, path: &'p str, number: usize) -> &'p str {
        let (_, inner) = split_source(path);
        let found = self
            .0
            .as_ref()
            .and_then(|regex| regex.captures(inner.as_bytes()));
        let part = found.and_then(|found| found.get(number + 1));
        part.and_then(|part| inner.get(part.range())).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_pattern_match_the_shortest_text() {
        for (pattern, path, parts) in [
            (
                "train/{case}/{day}/**",
                "train/c1/d2/scans/x.png",
                &["c1", "d2"][..],
            ),
            (
                "x/{play}_{All29,Endzone}.mp4",
                "x/58_001_Endzone.mp4",
                &["58_001"],
            ),
            (
                "s/*_{number}_{width}_{height}_*.png",
                "s/slice_01_266_310_1.5_1.png",
                &["01", "266", "310"],
            ),
            ("**/{id}.jpg", "a/b/ü1.jpg", &["ü1"]),
            ("labels:{id}.csv", "labels:a.csv", &["a"]),
            ("batch_{id}.parquet", "batch_12.parquet", &["12"]),
            ("{a}/[0-9]?/{b}", "x/12/y z", &["x", "y z"]),
        ] {
            let pattern = FilePattern::parse(pattern).unwrap();
            let named = NamedParts::new(&pattern).unwrap();
            let found: Vec<&str> = (0..parts.len())
                .map(|number| named.part(path, number))
                .collect();
            assert_eq!(found, parts, "{path}");
        }
    }
}
