//! Reads several files as one table, as `pandas.concat` combines the frames that `read_csv` creates from them.

use std::io::{Read, Write};

use crate::pandas::read::normalise::RowPrinter;
use crate::pandas::types::join::JoinedType;
use crate::pandas::{ColumnSchema, ColumnType, CsvError, CsvScan, ReadOptions};

/// Selected columns of several files, with their common types.
#[derive(Debug, Clone)]
pub struct Concatenation {
    columns: Vec<ConcatenatedColumn>,
}

/// A column, and its types in the files added so far.
#[derive(Debug, Clone)]
struct ConcatenatedColumn {
    name: String,
    kinds: ColumnTypes,
    nullable: bool,
}

/// A file lacks a requested column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the file has no column `{name}`")]
pub struct MissingColumn {
    /// Name of the column.
    pub name: String,
}

impl Concatenation {
    /// Selects the columns with these names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let columns = names.into_iter().map(|name| ConcatenatedColumn {
            name,
            kinds: ColumnTypes::default(),
            nullable: false,
        });
        Self {
            columns: columns.collect(),
        }
    }

    /// Adds a file.
    ///
    /// # Errors
    /// [`MissingColumn`] names the first selected column that the file does not contain.
    pub fn add(&mut self, scan: &CsvScan) -> Result<(), MissingColumn> {
        for column in &mut self.columns {
            let missing = || MissingColumn {
                name: column.name.clone(),
            };
            let index = scan.schema.position(&column.name).ok_or_else(missing)?;
            let own = scan.columns.get(index).ok_or_else(missing)?.joined;
            let nullable = scan
                .schema
                .columns
                .get(index)
                .is_some_and(|own| own.nullable);
            // pandas ignores frames without rows, whose columns are objects, when it determines the common type.
            if scan.schema.rows > 0 {
                column.kinds.add(own, nullable);
            }
            column.nullable |= nullable;
        }
        Ok(())
    }

    /// Returns the columns and their common types.
    pub fn columns(&self) -> Vec<ColumnSchema> {
        let columns = self.columns.iter().map(|column| ColumnSchema {
            name: column.name.clone(),
            kind: column.kinds.common_type().column_type(),
            nullable: column.nullable,
        });
        columns.collect()
    }

    /// Writes the rows of an added file as canonical text. Each row begins with the additional cell `first`.
    ///
    /// # Errors
    /// Returns I/O errors, and [`CsvError::Changed`] if `raw` is not the text that was scanned.
    pub fn write(
        &self,
        first: &str,
        raw: impl Read,
        scan: &CsvScan,
        options: &ReadOptions,
        out: impl Write,
    ) -> Result<(), CsvError> {
        let indices = self.columns.iter().map(|column| {
            let index = scan.schema.position(&column.name)?;
            let own = scan.columns.get(index)?.joined;
            Some((index, formatted_type(own, column.kinds.common_type())))
        });
        let Some(indices) = indices.collect::<Option<Vec<_>>>() else {
            return Err(CsvError::Changed {
                expected: scan.schema.rows,
                found: 0,
            });
        };
        RowPrinter::new(Some(first), indices, scan, options, out)
            .print(raw, options)
            .map(drop)
    }
}

/// The types that a column has in the files.
#[derive(Debug, Clone, Copy, Default)]
struct ColumnTypes {
    bool: bool,
    int: bool,
    uint: bool,
    float: bool,
    object: bool,
}

impl ColumnTypes {
    /// Adds the type of the column in another file. In pandas, booleans with missing cells are objects.
    fn add(&mut self, joined: JoinedType, nullable: bool) {
        match joined.column_type() {
            ColumnType::Bool if !nullable => self.bool = true,
            ColumnType::Int64 | ColumnType::Int32 | ColumnType::Int16 | ColumnType::Int8 => {
                self.int = true;
            }
            ColumnType::UInt64 => self.uint = true,
            ColumnType::Float64 | ColumnType::Float32 => self.float = true,
            _ => self.object = true,
        }
    }

    /// Returns the common type. Numbers of different types become doubles. In a column of booleans and numbers, NumPy
    /// converts the booleans to numbers; if there are doubles, pandas converts all values to objects. In any other
    /// column of objects, the values of each file are unchanged.
    fn common_type(self) -> JoinedType {
        match self {
            Self { object: true, .. } => JoinedType::Object,
            Self {
                bool: true,
                float: true,
                ..
            } => JoinedType::ObjectOfFloats,
            Self { float: true, .. }
            | Self {
                int: true,
                uint: true,
                ..
            } => JoinedType::Float,
            Self { int: true, .. } => JoinedType::Int,
            Self { uint: true, .. } => JoinedType::UInt,
            Self { bool: true, .. } => JoinedType::Bool,
            _ => JoinedType::Object,
        }
    }
}

/// Returns the type that determines how the values of a file are formatted. `own` is their type in the file, `common`
/// the common type.
fn formatted_type(own: JoinedType, common: JoinedType) -> JoinedType {
    match (own, common) {
        (JoinedType::Bool, JoinedType::Int | JoinedType::UInt) => JoinedType::ObjectOfIntegers,
        (JoinedType::Bool, JoinedType::Float) | (_, JoinedType::ObjectOfFloats) => {
            JoinedType::ObjectOfFloats
        }
        (JoinedType::Int | JoinedType::UInt, JoinedType::Float) => JoinedType::Float,
        _ => own,
    }
}
