//! Reads and writes BSON files, as `mongodump` writes them and pymongo reads them.
//!
//! A file is a sequence of documents, which are read one by one. A document is converted to JSON
//! ([`BsonDocument::to_json`], as MongoDB Extended JSON v2), and written from JSON with the same
//! bytes as pymongo ([`push_json`]). Long binaries can remain in the file ([`BsonDocument::to_json_with_references`]).
//!
//! The crate `bson` converts through its own values and those of `serde_json`. This module converts directly from and to
//! this crate's JSON, and returns the positions of binaries in the file.
//!
//! Source: bsonspec.org, version 1.1.

mod binary;
mod document;
mod error;
mod json;
mod value;
mod write;

pub use binary::{BinaryReader, BinaryReference};
pub use document::{BsonDocument, BsonDocuments, MAX_DOCUMENT_BYTES};
pub use error::BsonError;
pub use json::push_json;
use value::{BsonValue, RawDocument};

/// The type bytes of elements.
mod kind {
    pub const DOUBLE: u8 = 0x01;
    pub const STRING: u8 = 0x02;
    pub const DOCUMENT: u8 = 0x03;
    pub const ARRAY: u8 = 0x04;
    pub const BINARY: u8 = 0x05;
    pub const UNDEFINED: u8 = 0x06;
    pub const OBJECT_ID: u8 = 0x07;
    pub const BOOL: u8 = 0x08;
    pub const DATE: u8 = 0x09;
    pub const NULL: u8 = 0x0a;
    pub const REGEX: u8 = 0x0b;
    pub const POINTER: u8 = 0x0c;
    pub const CODE: u8 = 0x0d;
    pub const SYMBOL: u8 = 0x0e;
    pub const CODE_WITH_SCOPE: u8 = 0x0f;
    pub const INT32: u8 = 0x10;
    pub const TIMESTAMP: u8 = 0x11;
    pub const INT64: u8 = 0x12;
    pub const DECIMAL128: u8 = 0x13;
    pub const MAX_KEY: u8 = 0x7f;
    pub const MIN_KEY: u8 = 0xff;
}
