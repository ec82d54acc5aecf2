//! Checks types in CAST and before a text, as in `DATE '2020-01-31'`.
//!
//! A length or precision is an error if it would have no effect. For example, a cast to `CHAR(3)` does not shorten a
//! text.

use sqlparser::ast::{DataType, ExactNumberInfo, TimezoneInfo};
use sqlparser::tokenizer::Location;

use super::Subset;

impl Subset<'_, '_> {
    pub(super) fn data_type(&mut self, at: Location, data_type: &DataType) {
        let help = match data_type {
            DataType::Boolean
            | DataType::Bool
            | DataType::TinyInt(None)
            | DataType::SmallInt(None)
            | DataType::Int(None)
            | DataType::Integer(None)
            | DataType::BigInt(None)
            | DataType::Real
            | DataType::Float(ExactNumberInfo::None)
            | DataType::Double(ExactNumberInfo::None)
            | DataType::DoublePrecision
            | DataType::Varchar(None)
            | DataType::Text
            | DataType::String(None)
            | DataType::Date
            | DataType::Timestamp(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
            | DataType::Time(None, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone)
            | DataType::Decimal(_)
            | DataType::Numeric(_) => return,
            DataType::Varchar(Some(_)) | DataType::String(Some(_)) | DataType::Char(_) => {
                "write VARCHAR, and `substr(a, 1, n)` to shorten a text"
            }
            DataType::TinyInt(Some(_))
            | DataType::SmallInt(Some(_))
            | DataType::Int(Some(_))
            | DataType::Integer(Some(_))
            | DataType::BigInt(Some(_)) => "write the type without a length",
            DataType::Float(_) | DataType::Double(_) => "write DOUBLE, and `round(a, n)`",
            DataType::Timestamp(..) | DataType::Time(..) => {
                "write TIMESTAMP, without a precision and without a time zone"
            }
            _ => "types are VARCHAR, BIGINT, DOUBLE, BOOLEAN, DATE, TIMESTAMP, DECIMAL(p, s)",
        };
        self.reject(at, &format!("the type {data_type}"), help);
    }
}
