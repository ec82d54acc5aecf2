//! The type of a column, and its values, which are in a temporary file until they are written.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{
    DataType, Field, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};

use crate::parquet::ParquetError;

/// The format of the values in a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhysicalType {
    Bool,
    /// Integers of up to 4 bytes, stored in 4 bytes.
    I32 {
        signed: bool,
    },
    I64 {
        signed: bool,
    },
    F32,
    F64,
    Text,
}

/// A column of the file, over all row groups.
#[derive(Debug)]
pub(super) struct FastparquetColumn {
    pub name: String,
    pub types: ColumnTypes,
    /// Number of missing values.
    pub missing: u64,
    /// Number of rows.
    pub rows: u64,
    validity: Validity,
}

/// The type of a column, in the terms of Parquet, NumPy and pandas.
#[derive(Debug)]
pub(super) struct ColumnTypes {
    pub storage: PhysicalType,
    /// NumPy's name for the type. For numbers and booleans, it is also pandas' name if no values are missing.
    pub numpy: &'static str,
    /// pandas' name for the type if values are missing.
    pub nullable: &'static str,
    /// The code of the converted type in the Parquet format.
    pub converted: Option<i32>,
    /// The value of the field `type_length` in the footer: the number of bits of a number.
    pub bits: Option<i32>,
}

impl FastparquetColumn {
    /// Returns the size of a value in the temporary file in bytes, or 0 for text.
    pub(super) fn width(&self) -> usize {
        match self.types.storage {
            PhysicalType::Bool => 1,
            PhysicalType::I32 { .. } | PhysicalType::F32 => 4,
            PhysicalType::I64 { .. } | PhysicalType::F64 => 8,
            PhysicalType::Text => 0,
        }
    }

    pub(super) fn has_value(&self, row: u64) -> bool {
        self.validity.get(row)
    }
}

/// A bit per row, which is set if the row has a value. No memory is allocated while all bits are set.
#[derive(Debug, Default)]
struct Validity {
    bytes: Vec<u8>,
    length: u64,
}

impl Validity {
    fn push(&mut self, bit: bool) {
        if !bit || !self.bytes.is_empty() {
            let byte = (self.length / 8) as usize;
            self.bytes.resize(byte + 1, 0xff);
            if let Some(last) = self.bytes.get_mut(byte)
                && !bit
            {
                *last &= !(1 << (self.length % 8));
            }
        }
        self.length += 1;
    }

    fn get(&self, index: u64) -> bool {
        match self.bytes.get((index / 8) as usize) {
            Some(byte) => byte >> (index % 8) & 1 == 1,
            None => true,
        }
    }
}

/// Collects the values of a column in a temporary file. Missing numbers are zeros. The bytes of a string follow its length.
pub(super) struct ColumnSpool {
    column: FastparquetColumn,
    data_type: DataType,
    file: BufWriter<File>,
}

/// The length that marks a missing string in the temporary file.
const MISSING_TEXT_LENGTH: u32 = u32::MAX;

const BUFFER_BYTES: usize = 1 << 18;

/// Returns the types that fastparquet writes for a column.
fn types(field: &Field) -> Result<ColumnTypes, ParquetError> {
    use PhysicalType::{Bool, F32, F64, I32, I64, Text};
    let (signed, unsigned) = (I32 { signed: true }, I32 { signed: false });
    let (storage, numpy, nullable, converted, bits) = match field.data_type() {
        DataType::Boolean => (Bool, "bool", "boolean", None, Some(1)),
        DataType::Int8 => (signed, "int8", "Int8", Some(15), Some(8)),
        DataType::Int16 => (signed, "int16", "Int16", Some(16), Some(16)),
        DataType::Int32 => (signed, "int32", "Int32", None, Some(32)),
        DataType::Int64 => (I64 { signed: true }, "int64", "Int64", None, Some(64)),
        DataType::UInt8 => (unsigned, "uint8", "UInt8", Some(11), Some(8)),
        DataType::UInt16 => (unsigned, "uint16", "UInt16", Some(12), Some(16)),
        DataType::UInt32 => (unsigned, "uint32", "UInt32", Some(13), Some(32)),
        DataType::UInt64 => (
            I64 { signed: false },
            "uint64",
            "UInt64",
            Some(14),
            Some(64),
        ),
        DataType::Float32 => (F32, "float32", "float32", None, Some(32)),
        DataType::Float64 => (F64, "float64", "float64", None, Some(64)),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            (Text, "object", "object", Some(0), None)
        }
        other => {
            return Err(ParquetError::UnsupportedType {
                column: field.name().clone(),
                data_type: other.clone(),
            });
        }
    };
    Ok(ColumnTypes {
        storage,
        numpy,
        nullable,
        converted,
        bits,
    })
}

/// Returns NumPy's name for the type of a column.
pub(in crate::parquet) fn numpy_type(field: &Field) -> Result<&'static str, ParquetError> {
    Ok(types(field)?.numpy)
}

impl ColumnSpool {
    pub(super) fn new(field: &Field, scratch: &Path) -> Result<Self, ParquetError> {
        let types = types(field)?;
        let file = tempfile::tempfile_in(scratch)?;
        Ok(Self {
            column: FastparquetColumn {
                name: field.name().clone(),
                types,
                missing: 0,
                rows: 0,
                validity: Validity::default(),
            },
            data_type: field.data_type().clone(),
            file: BufWriter::with_capacity(BUFFER_BYTES, file),
        })
    }

    pub(super) fn matches(&self, field: &Field) -> bool {
        self.column.name == *field.name() && self.data_type == *field.data_type()
    }

    pub(super) fn describe(&self) -> String {
        format!("{}: {}", self.column.name, self.data_type)
    }

    /// Appends the values of an array.
    pub(super) fn push(&mut self, array: &ArrayRef) -> Result<(), ParquetError> {
        macro_rules! numbers {
            ($kind:ty, $wide:ty) => {{
                let array = array.as_primitive::<$kind>();
                for row in 0..array.len() {
                    let value = array.is_valid(row).then(|| array.value(row));
                    self.fixed(value.map(|value| <$wide>::from(value).to_le_bytes()))?;
                }
            }};
        }
        macro_rules! texts {
            ($array:expr) => {{
                for text in $array.iter() {
                    self.text(text)?;
                }
            }};
        }
        match array.data_type() {
            DataType::Boolean => {
                for value in array.as_boolean().iter() {
                    self.fixed(value.map(|value| [u8::from(value)]))?;
                }
            }
            DataType::Int8 => numbers!(Int8Type, i32),
            DataType::Int16 => numbers!(Int16Type, i32),
            DataType::Int32 => numbers!(Int32Type, i32),
            DataType::Int64 => numbers!(Int64Type, i64),
            DataType::UInt8 => numbers!(UInt8Type, u32),
            DataType::UInt16 => numbers!(UInt16Type, u32),
            DataType::UInt32 => numbers!(UInt32Type, u32),
            DataType::UInt64 => numbers!(UInt64Type, u64),
            // NaN is a missing value.
            DataType::Float32 => {
                for value in array.as_primitive::<Float32Type>().iter() {
                    let value = value.filter(|value| !value.is_nan());
                    self.fixed(value.map(f32::to_le_bytes))?;
                }
            }
            DataType::Float64 => {
                for value in array.as_primitive::<Float64Type>().iter() {
                    let value = value.filter(|value| !value.is_nan());
                    self.fixed(value.map(f64::to_le_bytes))?;
                }
            }
            DataType::Utf8 => texts!(array.as_string::<i32>()),
            DataType::LargeUtf8 => texts!(array.as_string::<i64>()),
            DataType::Utf8View => texts!(array.as_string_view()),
            other => {
                return Err(ParquetError::UnsupportedType {
                    column: self.column.name.clone(),
                    data_type: other.clone(),
                });
            }
        }
        Ok(())
    }

    /// Appends a value of fixed width.
    fn fixed<const N: usize>(&mut self, value: Option<[u8; N]>) -> Result<(), ParquetError> {
        self.count(value.is_some());
        Ok(self.file.write_all(&value.unwrap_or([0; N]))?)
    }

    fn text(&mut self, text: Option<&str>) -> Result<(), ParquetError> {
        self.count(text.is_some());
        let length = text.map_or(MISSING_TEXT_LENGTH, |text| text.len() as u32);
        self.file.write_all(&length.to_le_bytes())?;
        Ok(self.file.write_all(text.unwrap_or_default().as_bytes())?)
    }

    fn count(&mut self, has_value: bool) {
        self.column.validity.push(has_value);
        self.column.rows += 1;
        self.column.missing += u64::from(!has_value);
    }

    /// Returns a reader of the collected values.
    pub(super) fn finish(self) -> Result<ColumnValues, ParquetError> {
        let mut file = self.file.into_inner().map_err(|error| error.into_error())?;
        file.rewind()?;
        Ok(ColumnValues {
            column: self.column,
            file: BufReader::with_capacity(BUFFER_BYTES, file),
            row: 0,
        })
    }
}

/// Reads the values of a column from its temporary file.
pub(super) struct ColumnValues {
    pub column: FastparquetColumn,
    file: BufReader<File>,
    /// Index of the next row.
    pub row: u64,
}

impl ColumnValues {
    /// Reads the next value of fixed width into `bytes`. Returns `false` if the value is missing.
    pub(super) fn fixed(&mut self, bytes: &mut [u8]) -> Result<bool, ParquetError> {
        self.file.read_exact(bytes)?;
        self.row += 1;
        Ok(self.column.has_value(self.row - 1))
    }

    /// Reads the next string into `bytes`. Returns `false` if the string is missing.
    pub(super) fn text(&mut self, bytes: &mut Vec<u8>) -> Result<bool, ParquetError> {
        let mut length = [0; 4];
        self.file.read_exact(&mut length)?;
        self.row += 1;
        bytes.clear();
        let length = u32::from_le_bytes(length);
        if length == MISSING_TEXT_LENGTH {
            return Ok(false);
        }
        bytes.resize(length as usize, 0);
        self.file.read_exact(bytes)?;
        Ok(true)
    }

    /// Returns the current position, for [`back`](Self::back).
    pub(super) fn mark(&mut self) -> Result<(u64, u64), ParquetError> {
        Ok((self.file.stream_position()?, self.row))
    }

    /// Returns to an earlier position.
    pub(super) fn back(&mut self, mark: (u64, u64)) -> Result<(), ParquetError> {
        self.file.seek(std::io::SeekFrom::Start(mark.0))?;
        self.row = mark.1;
        Ok(())
    }
}
