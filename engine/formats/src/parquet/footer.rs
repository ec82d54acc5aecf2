//! Checks a footer before the parquet crate parses it, because the crate limits neither its stack nor its memory.
//!
//! The crate builds a tree of columns by recursion, copies the path of each column, and allocates a multiple of the footer's
//! length.

use super::ParquetError;
use super::pages::FieldKind::{
    self, Binary, Boolean, Byte, Double, Integer, List, Structure, Undefined,
};
use super::pages::STATISTICS;
use super::pages::{Visitor, walk};
use crate::limits::{DecodingLimits, Limit};

/// Groups that are nested more deeply are an error. A list in a column takes two levels.
const MAX_DEPTH: usize = 32;

/// Memory of a column in bytes: a schema element, and a field in each of two Arrow schemas. Name and path are extra.
const COLUMN_BYTES: u64 = 1_000;
/// Memory of a column in a row group, in bytes.
const CHUNK_BYTES: u64 = 700;

// The fields of structures in `parquet.thrift`. A constant has the name of its structure, unless a comment states the name.

// `FileMetaData`
static FOOTER: &[FieldKind] = &[
    Integer,                           // version
    List(&SCHEMA_ELEMENT),             // schema
    Integer,                           // num_rows
    List(&ROW_GROUP),                  // row_groups
    List(&KEY_VALUE),                  // key_value_metadata
    Binary,                            // created_by
    List(&Structure(&[EMPTY, EMPTY])), // column_orders
];

const EMPTY: FieldKind = Structure(&[]);
// `TimeType` and `TimestampType`
const TIME: FieldKind = Structure(&[Boolean, Structure(&[EMPTY, EMPTY, EMPTY])]);

static SCHEMA_ELEMENT: FieldKind = Structure(&[
    Integer, // type
    Integer, // type_length
    Integer, // repetition_type
    Binary,  // name
    Integer, // num_children
    Integer, // converted_type
    Integer, // scale
    Integer, // precision
    Integer, // field_id
    // `LogicalType`
    Structure(&[
        EMPTY,                          // STRING
        EMPTY,                          // MAP
        EMPTY,                          // LIST
        EMPTY,                          // ENUM
        Structure(&[Integer, Integer]), // DECIMAL
        EMPTY,                          // DATE
        TIME,                           // TIME
        TIME,                           // TIMESTAMP
        Undefined,                      // reserved
        Structure(&[Byte, Boolean]),    // INTEGER
        EMPTY,                          // UNKNOWN
        EMPTY,                          // JSON
        EMPTY,                          // BSON
        EMPTY,                          // UUID
        EMPTY,                          // FLOAT16
        Structure(&[Byte]),             // VARIANT
        Structure(&[Binary]),           // GEOMETRY
        Structure(&[Binary, Integer]),  // GEOGRAPHY
    ]),
]);

static KEY_VALUE: FieldKind = Structure(&[Binary, Binary]);

static ROW_GROUP: FieldKind = Structure(&[
    List(&COLUMN_CHUNK),                            // columns
    Integer,                                        // total_byte_size
    Integer,                                        // num_rows
    List(&Structure(&[Integer, Boolean, Boolean])), // sorting_columns
    Integer,                                        // file_offset
    Integer,                                        // total_compressed_size
    Integer,                                        // ordinal
]);

static COLUMN_CHUNK: FieldKind = Structure(&[
    Binary,  // file_path
    Integer, // file_offset
    // `ColumnMetaData`
    Structure(&[
        Integer,                                        // type
        List(&Integer),                                 // encodings
        List(&Binary),                                  // path_in_schema
        Integer,                                        // codec
        Integer,                                        // num_values
        Integer,                                        // total_uncompressed_size
        Integer,                                        // total_compressed_size
        List(&KEY_VALUE),                               // key_value_metadata
        Integer,                                        // data_page_offset
        Integer,                                        // index_page_offset
        Integer,                                        // dictionary_page_offset
        STATISTICS,                                     // statistics
        List(&Structure(&[Integer, Integer, Integer])), // encoding_stats
        Integer,                                        // bloom_filter_offset
        Integer,                                        // bloom_filter_length
        // size_statistics
        Structure(&[Integer, List(&Integer), List(&Integer)]),
        // geospatial_statistics
        Structure(&[
            Structure(&[
                Double, Double, Double, Double, Double, Double, Double, Double,
            ]),
            List(&Integer),
        ]),
    ]),
    Integer,   // offset_index_offset
    Integer,   // offset_index_length
    Integer,   // column_index_offset
    Integer,   // column_index_length
    Undefined, // crypto_metadata
    Binary,    // encrypted_column_metadata
]);

/// Rejects a footer that is damaged, or that would need too much memory or too deep a recursion.
pub(super) fn check(footer: &[u8], limits: &DecodingLimits) -> Result<(), ParquetError> {
    let mut cost = FooterCost::default();
    let end = walk(footer, FOOTER, &mut cost);
    if cost.is_too_deep {
        return Err(ParquetError::TooDeep { limit: MAX_DEPTH });
    }
    let is_complete = cost.open.iter().all(|group| group.children == 0);
    if end.is_none() || !is_complete {
        return Err(ParquetError::Damaged);
    }
    let checked = limits.check(Limit::Record, cost.bytes);
    checked.map_err(|exceeded| ParquetError::Io(exceeded.into()))
}

/// The paths of the fields in `FileMetaData` that determine the memory.
const SCHEMA: &[usize] = &[2];
const NAME: &[usize] = &[2, 4];
const NUM_CHILDREN: &[usize] = &[2, 5];
const CHUNKS: &[usize] = &[4, 1];

/// Estimates the memory that the crate needs for a footer.
#[derive(Default)]
struct FooterCost {
    /// The memory so far, in bytes.
    bytes: u64,
    is_too_deep: bool,
    has_root: bool,
    /// The groups that contain the next element, from the root.
    open: Vec<Group>,
    /// Name length and number of children of the current element.
    name: u64,
    children: u32,
}

/// A group of columns.
struct Group {
    /// Number of children that were not visited yet.
    children: u32,
    /// Total length of the names on the path to the group.
    path: u64,
}

impl FooterCost {
    /// Adds the current element to the innermost group that is not complete.
    fn element(&mut self) -> Option<()> {
        let (name, children) = (self.name, std::mem::take(&mut self.children));
        self.name = 0;
        while self.open.pop_if(|group| group.children == 0).is_some() {}
        let path = match self.open.last_mut() {
            Some(group) => {
                group.children -= 1;
                group.path + name
            }
            None if !self.has_root => 0,
            None => return None,
        };
        self.has_root = true;
        // Each of the two Arrow schemas contains the column's name. The column's path contains the names of its groups.
        self.bytes += COLUMN_BYTES + 4 * name + 2 * path;
        if children > 0 {
            self.open.push(Group { children, path });
            self.is_too_deep = self.open.len() > MAX_DEPTH;
        }
        (!self.is_too_deep).then_some(())
    }
}

impl Visitor for FooterCost {
    fn integer(&mut self, path: &[usize], value: i64) -> Option<()> {
        if path == NUM_CHILDREN {
            self.children = u32::try_from(value as i32).ok()?;
        }
        Some(())
    }

    fn binary(&mut self, path: &[usize], bytes: usize) -> Option<()> {
        if path == NAME {
            self.name = bytes as u64;
        }
        self.bytes += bytes as u64;
        Some(())
    }

    fn end(&mut self, path: &[usize]) -> Option<()> {
        match path {
            SCHEMA => self.element()?,
            CHUNKS => self.bytes += CHUNK_BYTES,
            // An estimate for any other structure.
            _ => self.bytes += 64,
        }
        Some(())
    }
}
