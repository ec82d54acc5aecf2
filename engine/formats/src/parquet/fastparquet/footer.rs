//! Writes the footer: the schema, the row groups, and the metadata for pandas.
//!
//! The field ids and type codes are those of `parquet.thrift`.

use super::WriterVersions;
use super::chunk::Chunk;
use super::chunk::Struct;
use super::column::{FastparquetColumn, PhysicalType};
use crate::parquet::write::{Creator, metadata_column, metadata_entry};

/// A row group that has been written.
pub(super) struct RowGroup {
    pub rows: u64,
    pub chunks: Vec<Chunk>,
}

/// The code of the compression method Snappy.
const SNAPPY: i32 = 1;
/// The code that marks a column as optional.
const OPTIONAL: i32 = 1;

/// Returns the bytes of the footer of a file with `rows` rows.
pub(super) fn footer(
    columns: &[FastparquetColumn],
    groups: &[RowGroup],
    rows: u64,
    versions: &WriterVersions,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut file = Struct::new(&mut bytes);
    // The version of the format.
    file.i32(1, 1);
    // The schema: a root group, then the columns.
    let mut schema: Vec<Option<&FastparquetColumn>> = vec![None];
    schema.extend(columns.iter().map(Some));
    file.struct_list(2, &schema, |element, column| match column {
        None => {
            element.binary(4, b"schema");
            element.i32(5, i32::try_from(columns.len()).unwrap_or(i32::MAX));
        }
        Some(column) => {
            element.i32(1, physical(column.types.storage));
            if let Some(bits) = column.types.bits {
                element.i32(2, bits);
            }
            element.i32(3, OPTIONAL);
            element.binary(4, column.name.as_bytes());
            // If all values are missing, fastparquet writes a column of bytes instead of text.
            if let Some(converted) = column.types.converted.filter(|_| !is_unknown(column)) {
                element.i32(6, converted);
            }
        }
    });
    file.i64(3, rows);
    file.struct_list(4, groups, |out, group| {
        let chunks: Vec<(&FastparquetColumn, &Chunk)> = columns.iter().zip(&group.chunks).collect();
        out.struct_list(1, &chunks, |out, (column, chunk)| {
            // The offset of the chunk.
            out.i64(2, chunk.begin);
            out.inner(3, |out| metadata(out, column, chunk, group.rows));
        });
        // The size of the group before compression, and its number of rows.
        out.i64(2, group.chunks.iter().map(|chunk| chunk.uncompressed).sum());
        out.i64(3, group.rows);
    });
    let pandas = pandas(columns, versions);
    file.struct_list(5, &[pandas], |entry, text| {
        entry.binary(1, b"pandas");
        entry.binary(2, text);
    });
    file.binary(6, versions.created_by().as_bytes());
    file.end();
    bytes
}

/// Returns the code of a physical type.
fn physical(storage: PhysicalType) -> i32 {
    match storage {
        PhysicalType::Bool => 0,
        PhysicalType::I32 { .. } => 1,
        PhysicalType::I64 { .. } => 2,
        PhysicalType::F32 => 4,
        PhysicalType::F64 => 5,
        PhysicalType::Text => 6,
    }
}

/// Returns whether all values of a text column are missing.
fn is_unknown(column: &FastparquetColumn) -> bool {
    column.types.storage == PhysicalType::Text && column.rows > 0 && column.missing == column.rows
}

/// Writes the `ColumnMetaData` of a column in a row group of `rows` rows.
fn metadata(out: &mut Struct<'_>, column: &FastparquetColumn, chunk: &Chunk, rows: u64) {
    out.i32(1, physical(column.types.storage));
    // The only encoding is PLAIN.
    out.i32_list(2, &[0]);
    out.binary_list(3, &[column.name.as_bytes()]);
    out.i32(4, SNAPPY);
    out.i64(5, rows);
    out.i64(6, chunk.uncompressed);
    out.i64(7, chunk.compressed);
    out.binary_list(8, &[]);
    out.i64(9, chunk.begin);
    // Statistics.
    out.inner(12, |out| {
        if let Some((high, low)) = &chunk.range {
            out.binary(1, high);
            out.binary(2, low);
        }
        out.i64(3, chunk.missing);
    });
    // The number of data pages with the encoding PLAIN.
    out.struct_list(13, &[chunk.pages], |out, pages| {
        out.i32(1, 0);
        out.i32(2, 0);
        out.i32(3, *pages);
    });
}

/// Returns the entry from which `read_parquet` reads the types and the index. The entry is JSON with sorted keys.
fn pandas(columns: &[FastparquetColumn], versions: &WriterVersions) -> Vec<u8> {
    let columns = columns.iter().map(|column| {
        let pandas = match column.types.storage {
            PhysicalType::Text if column.rows == 0 => "empty",
            PhysicalType::Text if column.missing == 0 => "unicode",
            PhysicalType::Text => versions.texts_with_gaps(),
            _ if column.missing > 0 => column.types.nullable,
            _ => column.types.numpy,
        };
        metadata_column(Some(&column.name), column.types.numpy, pandas)
    });
    let creator = Creator {
        library: "fastparquet",
        version: versions.fastparquet(),
        pandas_version: versions.pandas(),
        labels: (versions.labels(), "mixed-integer"),
    };
    metadata_entry(columns.collect(), &creator)
}
