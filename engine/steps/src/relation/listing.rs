//! Reads the files of a tree as a relation with one row per file.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use arrow::datatypes::DataType;
use prep_cache::Digest;
use prep_core::{Context, StepError};
use prep_formats::pandas::{ColumnSchema, ColumnType, Schema};
use prep_spec::split_source;
use prep_sql::{Relation, RelationBatch, RelationColumn, ScanError};

use super::selected::SelectedRows;
use crate::value::{RowPositions, Tree, TreeFile};

/// Columns of a table of files. `file` is the path, `dir` the path without the name, and `folder` the last part of
/// `dir`. `stem` is the name without the last extension, and `ext` that extension without its dot. `size` is in bytes.
const COLUMNS: [&str; 7] = ["file", "dir", "folder", "name", "stem", "ext", "size"];

/// The schema of a table of `rows` files.
pub(crate) fn listing_schema(rows: u64) -> Schema {
    let columns = COLUMNS.iter().map(|name| ColumnSchema {
        name: (*name).to_owned(),
        kind: if *name == "size" {
            ColumnType::Int64
        } else {
            ColumnType::Text
        },
        nullable: false,
    });
    Schema {
        columns: columns.collect(),
        rows,
    }
}

#[derive(Debug)]
pub(crate) struct ListingRelation {
    tree: Arc<Tree>,
    chosen: SelectedRows,
    columns: Vec<RelationColumn>,
}

impl ListingRelation {
    pub(crate) fn open(
        context: &Context,
        listing: &Digest,
        positions: Option<Arc<RowPositions>>,
    ) -> Result<ListingRelation, StepError> {
        let columns = COLUMNS.iter().map(|name| RelationColumn {
            name: (*name).to_owned(),
            data_type: if *name == "size" {
                DataType::Int64
            } else {
                DataType::Utf8
            },
            hidden: false,
        });
        let columns = columns.collect();
        let tree = Tree::load_listing(context, listing)?;
        Ok(ListingRelation {
            chosen: SelectedRows::new(tree.len() as u64, positions),
            tree,
            columns,
        })
    }

    fn entries(&self, first: u64, len: usize) -> Vec<TreeFile<'_>> {
        let rows = self.origins(first, len).into_iter();
        rows.filter_map(|row| self.tree.file(usize::try_from(row).ok()?))
            .collect()
    }
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
                .map(|column| cells(&entries, COLUMNS[*column]))
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

fn cells(entries: &[TreeFile<'_>], column: &str) -> ArrayRef {
    if column == "size" {
        let sizes = entries
            .iter()
            .map(|entry| i64::try_from(entry.bytes()).unwrap_or(i64::MAX));
        return Arc::new(Int64Array::from_iter_values(sizes));
    }
    Arc::new(StringArray::from_iter_values(
        entries.iter().map(|entry| part(entry.path(), column)),
    ))
}

/// The part of a path that belongs to a column.
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
