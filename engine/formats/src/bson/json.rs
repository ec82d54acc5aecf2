//! Converts documents to JSON and back, as MongoDB Extended JSON v2.
//!
//! - Strings, booleans, null, finite doubles and 32-bit integers are plain JSON.
//! - Other values become objects with a key of [`EXTENDED_KEYS`] that shows the type, for example `{"$numberLong": "5"}`.
//! - Converting a document to JSON and back has the same result as `bson.encode(bson.decode(document))` in pymongo.
//! - 128-bit decimals and DBPointers cannot be converted. Neither can documents that look like an object with a key of
//!   [`EXTENDED_KEYS`].
//! - Other keys that begin with `$` are ordinary, for example `$ref` and `$id`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::write::{MAX_DEPTH, Writer};
use super::{BinaryReader, BinaryReference, DocumentOrigin};
use super::{BsonDocument, BsonError, BsonValue, RawDocument, kind};
use crate::hex;
use crate::json::{JsonObject, JsonValue};

/// Keys of JSON objects that represent BSON values. Only an object with `$code` may have a second key, `$scope`.
const EXTENDED_KEYS: &[&str] = &[
    "$binary",
    "$code",
    "$date",
    "$maxKey",
    "$minKey",
    "$numberDouble",
    "$numberInt",
    "$numberLong",
    "$oid",
    "$regularExpression",
    "$symbol",
    "$timestamp",
    "$undefined",
];

/// A JSON object that represents a BSON value, for example `{"$oid": "..."}`.
struct ExtendedValue<'a> {
    /// The object's key, one of [`EXTENDED_KEYS`].
    tag: &'a str,
    value: &'a JsonValue,
    /// The value of `$scope`, if `tag` is `$code`.
    scope: Option<&'a JsonValue>,
}

impl<'a> ExtendedValue<'a> {
    /// Returns `None` if `object` is an ordinary document.
    fn parse(object: &'a JsonObject) -> Option<Self> {
        let (key, value) = object.iter().next()?;
        let tag = key.as_str().filter(|key| EXTENDED_KEYS.contains(key))?;
        let scope = object.get("$scope").filter(|_| tag == "$code");
        let keys = 1 + usize::from(scope.is_some());
        (object.len() == keys).then_some(ExtendedValue { tag, value, scope })
    }
}

impl BsonDocument {
    /// Converts the document to a JSON object.
    pub fn to_json(&self) -> Result<JsonValue, BsonError> {
        object(self.raw(), None, 1)
    }

    /// Converts the document to JSON. Long binaries become references into the file with the name `file`, see
    /// [`BinaryReference`].
    pub fn to_json_with_references(&self, file: &str) -> Result<JsonValue, BsonError> {
        let offset = self.offset();
        object(self.raw(), Some(DocumentOrigin { file, offset }), 1)
    }
}

/// Converts a document to a JSON object. `depth` is the depth of its elements, which is 1 in the outermost document.
fn object(
    document: RawDocument<'_>,
    origin: Option<DocumentOrigin<'_>>,
    depth: usize,
) -> Result<JsonValue, BsonError> {
    let mut object = JsonObject::new();
    for element in document.elements()? {
        let (key, value) = element?;
        object.insert(key.into(), json(key, value, origin, depth)?);
    }
    Ok(JsonValue::Object(object))
}

/// Returns an object with one member.
fn tagged(name: &str, value: impl Into<JsonValue>) -> JsonValue {
    JsonValue::from([(name, value.into())])
}

/// Converts the value of an element that is nested in `depth` documents and arrays. With an `origin`, long binaries become
/// references.
fn json(
    key: &str,
    value: BsonValue<'_>,
    origin: Option<DocumentOrigin<'_>>,
    depth: usize,
) -> Result<JsonValue, BsonError> {
    if depth > MAX_DEPTH {
        return Err(BsonError::TooDeep { limit: MAX_DEPTH });
    }
    Ok(match value {
        BsonValue::Double(value) if value.is_finite() => JsonValue::Float(value),
        BsonValue::Double(value) => {
            let text = match value {
                value if value.is_nan() => "NaN",
                value if value > 0.0 => "Infinity",
                _ => "-Infinity",
            };
            tagged("$numberDouble", text)
        }
        BsonValue::String(text) => text.into(),
        BsonValue::Symbol(symbol) => tagged("$symbol", symbol),
        BsonValue::Document(inner) => {
            let inner = object(inner, origin, depth + 1)?;
            if inner.as_object().and_then(ExtendedValue::parse).is_some() {
                return Err(BsonError::CannotWrite {
                    key: key.to_owned(),
                    reason: "is a document that looks like the Extended JSON of a different value",
                });
            }
            inner
        }
        BsonValue::Array(inner) => {
            let mut list = Vec::new();
            for element in inner.elements()? {
                list.push(json(key, element?.1, origin, depth + 1)?);
            }
            JsonValue::List(list)
        }
        BsonValue::Binary {
            subtype,
            bytes,
            position,
        } => {
            let refer = origin.and_then(|origin| origin.refer(position, bytes));
            let mut binary = match refer {
                Some(refer) => refer.members(),
                None => JsonObject::from_iter([("base64", STANDARD.encode(bytes).into())]),
            };
            binary.insert("subType".into(), JsonValue::from(format!("{subtype:02x}")));
            tagged("$binary", JsonValue::Object(binary))
        }
        BsonValue::Undefined => tagged("$undefined", true),
        BsonValue::ObjectId(id) => tagged("$oid", JsonValue::from(hex::encode(&id))),
        BsonValue::Bool(value) => value.into(),
        BsonValue::Date(milliseconds) => tagged(
            "$date",
            tagged("$numberLong", JsonValue::from(milliseconds.to_string())),
        ),
        BsonValue::Null => JsonValue::Null,
        BsonValue::Regex { pattern, options } => tagged(
            "$regularExpression",
            JsonValue::from([("pattern", pattern.into()), ("options", options.into())]),
        ),
        BsonValue::Code(code) => tagged("$code", code),
        BsonValue::CodeWithScope { code, scope } => JsonValue::from([
            ("$code", code.into()),
            ("$scope", object(scope, origin, depth + 1)?),
        ]),
        BsonValue::Int32(value) => i64::from(value).into(),
        BsonValue::Timestamp { time, increment } => tagged(
            "$timestamp",
            JsonValue::from([
                ("t", i64::from(time).into()),
                ("i", i64::from(increment).into()),
            ]),
        ),
        BsonValue::Int64(value) => tagged("$numberLong", JsonValue::from(value.to_string())),
        BsonValue::MinKey => tagged("$minKey", 1),
        BsonValue::MaxKey => tagged("$maxKey", 1),
        BsonValue::Pointer | BsonValue::Decimal128 => {
            return Err(BsonError::CannotWrite {
                key: key.to_owned(),
                reason: "cannot be converted to JSON: it is a 128-bit decimal or a DBPointer",
            });
        }
    })
}

/// Converts Extended JSON to a BSON document and appends the document to `out`. pymongo writes the same bytes.
///
/// - A top-level `_id` becomes the first element.
/// - A plain integer takes 32 bits if it fits, otherwise 64.
/// - `read` fetches the bytes of binaries that are references, see [`BinaryReference`].
///
/// # Errors
/// [`BsonError`] if `value` is not Extended JSON, cannot be written, or is nested too deeply, or if `read` fails.
pub fn push_json(
    value: &JsonValue,
    out: &mut Vec<u8>,
    read: &mut BinaryReader<'_>,
) -> Result<(), BsonError> {
    let object = value
        .as_object()
        .ok_or_else(|| wrong("", "a document must be an object"))?;
    let mut members: Vec<_> = object.iter().collect();
    members.sort_by_key(|(key, _)| key.as_str() != Some("_id"));
    let mut writer = Writer { out };
    writer.nested("", |writer| {
        for (key, value) in members {
            element(writer, read, name(key)?, value, 1)?;
        }
        Ok(())
    })
}

/// Converts a key to an element's name, which must be UTF-8 without NUL characters.
fn name(key: &crate::json::JsonString) -> Result<&str, BsonError> {
    let name = key.as_str().filter(|name| !name.contains('\0'));
    name.ok_or_else(|| {
        wrong(
            &key.to_string_lossy(),
            "the key contains a NUL character or an unpaired surrogate",
        )
    })
}

/// Returns the error for a value at `key` that is not Extended JSON.
fn wrong(key: &str, reason: &'static str) -> BsonError {
    BsonError::NotExtendedJson {
        key: key.to_owned(),
        reason,
    }
}

/// Writes an element that is nested in `depth` documents and arrays.
fn element(
    writer: &mut Writer<'_>,
    read: &mut BinaryReader<'_>,
    key: &str,
    value: &JsonValue,
    depth: usize,
) -> Result<(), BsonError> {
    match value {
        JsonValue::Null => writer.head(kind::NULL, key),
        JsonValue::Bool(value) => writer.fixed(kind::BOOL, key, &[u8::from(*value)]),
        JsonValue::Int(value) => match i32::try_from(*value) {
            Ok(value) => writer.fixed(kind::INT32, key, &value.to_le_bytes()),
            Err(_) => writer.fixed(kind::INT64, key, &value.to_le_bytes()),
        },
        JsonValue::BigInt(_) => return Err(wrong(key, "an integer exceeds 64 bits")),
        JsonValue::Float(value) => writer.fixed(kind::DOUBLE, key, &value.to_le_bytes()),
        JsonValue::String(text) => {
            let text = text.as_str();
            let text = text.ok_or_else(|| wrong(key, "a string contains an unpaired surrogate"))?;
            writer.head(kind::STRING, key);
            writer.string(key, text)?;
        }
        JsonValue::List(list) => {
            if depth >= MAX_DEPTH {
                return Err(BsonError::TooDeep { limit: MAX_DEPTH });
            }
            writer.head(kind::ARRAY, key);
            writer.nested(key, |writer| {
                for (index, value) in list.iter().enumerate() {
                    element(writer, read, &index.to_string(), value, depth + 1)?;
                }
                Ok(())
            })?;
        }
        JsonValue::Object(object) => match ExtendedValue::parse(object) {
            Some(extended) => extended_element(writer, read, key, &extended, depth)?,
            None => {
                writer.head(kind::DOCUMENT, key);
                members(writer, read, key, object, depth)?;
            }
        },
    }
    Ok(())
}

/// Writes the value of an element that is an ordinary document.
fn members(
    writer: &mut Writer<'_>,
    read: &mut BinaryReader<'_>,
    key: &str,
    object: &JsonObject,
    depth: usize,
) -> Result<(), BsonError> {
    if depth >= MAX_DEPTH {
        return Err(BsonError::TooDeep { limit: MAX_DEPTH });
    }
    writer.nested(key, |writer| {
        for (key, value) in object.iter() {
            element(writer, read, name(key)?, value, depth + 1)?;
        }
        Ok(())
    })
}

/// Writes an element whose JSON value is an object with a key of [`EXTENDED_KEYS`].
fn extended_element<'v>(
    writer: &mut Writer<'_>,
    read: &mut BinaryReader<'_>,
    key: &str,
    extended: &ExtendedValue<'v>,
    depth: usize,
) -> Result<(), BsonError> {
    let value = extended.value;
    let mismatch = || {
        wrong(
            key,
            "the value of a key that begins with `$` has the wrong type",
        )
    };
    let string = |value: &'v JsonValue| value.as_str().ok_or_else(mismatch);
    let member = |value: &'v JsonValue, name: &str| value.get(name).ok_or_else(mismatch);
    let long = |value: &'v JsonValue| match value {
        JsonValue::Int(value) => Ok(*value),
        value => string(value)?.parse().map_err(|_| mismatch()),
    };
    match extended.tag {
        "$numberInt" => {
            let value = i32::try_from(long(value)?).map_err(|_| mismatch())?;
            writer.fixed(kind::INT32, key, &value.to_le_bytes());
        }
        "$numberLong" => writer.fixed(kind::INT64, key, &long(value)?.to_le_bytes()),
        "$numberDouble" => {
            let value = match string(value)? {
                "Infinity" => f64::INFINITY,
                "-Infinity" => f64::NEG_INFINITY,
                spelled => spelled.parse().map_err(|_| mismatch())?,
            };
            writer.fixed(kind::DOUBLE, key, &value.to_le_bytes());
        }
        "$date" => writer.date(key, long(member(value, "$numberLong")?)?)?,
        "$oid" => {
            let id: [u8; 12] = unhex(string(value)?).ok_or_else(mismatch)?;
            writer.fixed(kind::OBJECT_ID, key, &id);
        }
        "$binary" => {
            let bytes = match BinaryReference::parse(value) {
                Some(binary) => binary.read(read)?,
                None => {
                    let base64 = string(member(value, "base64")?)?;
                    STANDARD.decode(base64).map_err(|_| mismatch())?
                }
            };
            let [subtype] = unhex(&format!("{:0>2}", string(member(value, "subType")?)?))
                .ok_or_else(mismatch)?;
            writer.binary(key, subtype, &bytes)?;
        }
        "$timestamp" => {
            let part = |name| -> Result<u32, BsonError> {
                long(member(value, name)?)?
                    .try_into()
                    .map_err(|_| mismatch())
            };
            let (time, increment) = (part("t")?, part("i")?);
            let value = u64::from(time) << 32 | u64::from(increment);
            writer.fixed(kind::TIMESTAMP, key, &value.to_le_bytes());
        }
        "$regularExpression" => {
            let (pattern, options) = (
                string(member(value, "pattern")?)?,
                string(member(value, "options")?)?,
            );
            if pattern.contains('\0') || options.contains('\0') {
                return Err(mismatch());
            }
            writer.regex(key, pattern, options);
        }
        "$code" => {
            let code = string(value)?;
            match extended.scope {
                None => {
                    writer.head(kind::CODE, key);
                    writer.string(key, code)?;
                }
                Some(scope) => {
                    let scope = scope.as_object().ok_or_else(mismatch)?;
                    writer.head(kind::CODE_WITH_SCOPE, key);
                    writer.with_length(key, |writer| {
                        writer.string(key, code)?;
                        members(writer, read, key, scope, depth)
                    })?;
                }
            }
        }
        "$symbol" => {
            writer.head(kind::STRING, key);
            writer.string(key, string(value)?)?;
        }
        "$undefined" => writer.head(kind::NULL, key),
        "$minKey" => writer.head(kind::MIN_KEY, key),
        "$maxKey" => writer.head(kind::MAX_KEY, key),
        _ => return Err(mismatch()),
    }
    Ok(())
}

/// Parses `2 * N` hexadecimal digits.
fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits = text.as_bytes();
    if digits.len() != 2 * N || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
