//! Infers the types of record members like pandas.

use std::cell::Cell;
use std::collections::BTreeMap;

use prep_core::{Failure, StepError};
use prep_formats::json::{
    FrameBuilder, FrameColumns, FrameError, FrameFunction, JsonColumnType, JsonInference,
    JsonValue, NestedValues,
};
use prep_formats::pandas::ColumnType;
use prep_spec::model::{Column, ColumnKind};

use super::ReadSpec;
use super::records::{Record, RecordContent, RecordFile};
use crate::limits::{FileError, limits, undecodable_file};
use crate::located::{Subject, error_at};

/// The types that pandas infers.
pub(super) enum MemberTypes {
    /// Types of the declared columns that are inferred. Records are unchanged.
    Members(Vec<Option<JsonColumnType>>),
    /// Types of all columns, for each chunk of the file. Records are converted to them.
    Chunks(BTreeMap<u64, FrameColumns>),
}

impl MemberTypes {
    /// Returns the record as it is in pandas' table.
    pub fn record(&self, record: Record) -> Result<RecordContent, StepError> {
        let MemberTypes::Chunks(chunks) = self else {
            return Ok(record.content);
        };
        let columns = chunks.get(&record.chunk);
        let columns = columns.ok_or_else(|| StepError::internal("a chunk without types"))?;
        match record.content.into_value()? {
            JsonValue::Object(object) => Ok(RecordContent::Value(JsonValue::Object(
                columns.record(object),
            ))),
            _ => Err(StepError::internal("a record is not an object")),
        }
    }

    /// Returns the cell of the declared column `index`, if its value differs from the member.
    pub fn cell(&self, index: usize, plain: PlainMember<'_>) -> Option<JsonValue> {
        let inferred = match self {
            MemberTypes::Members(inferred) => inferred.get(index).copied().flatten(),
            MemberTypes::Chunks(_) => None,
        };
        match (inferred, plain) {
            (Some(inferred), PlainMember::Other(value)) => Some(inferred.value(Some(value))),
            (Some(inferred), PlainMember::Same(value)) => Some(inferred.value(Some(value.clone()))),
            (None, PlainMember::Other(value)) => Some(value),
            (None, PlainMember::Same(_)) => None,
        }
    }

    /// Returns the types of the inferred columns whose type is the same in all chunks.
    pub fn inferred(&self, declared: &[&Column]) -> BTreeMap<String, ColumnType> {
        let kind = |index: usize, name: &str| match self {
            MemberTypes::Members(inferred) => {
                inferred.get(index).copied().flatten().map(|one| one.kind)
            }
            MemberTypes::Chunks(chunks) => {
                let mut kinds = chunks.values().map(|columns| columns.kind(name));
                let first = kinds.next().flatten();
                first.filter(|first| kinds.all(|kind| kind == Some(*first)))
            }
        };
        let inferred = declared.iter().enumerate();
        let inferred = inferred.filter(|(_, column)| column.kind == ColumnKind::Inferred);
        inferred
            .filter_map(|(index, column)| {
                let name = &column.name.value;
                let kind = kind(index, name).filter(|kind| *kind != ColumnType::Text)?;
                Some((name.clone(), kind))
            })
            .collect()
    }
}

/// Infers the types of declared columns that are `inferred`.
pub(super) fn infer_members(
    file: &RecordFile<'_>,
    declared: &[&Column],
) -> Result<Vec<Option<JsonColumnType>>, StepError> {
    let is_inferred = |column: &&Column| column.kind == ColumnKind::Inferred;
    if !declared.iter().any(is_inferred) {
        return Ok(Vec::new());
    }
    let mut seen: Vec<JsonInference> = declared.iter().map(|_| JsonInference::default()).collect();
    file.for_each(&Cell::new(NestedValues::Skip), &mut |_, record| {
        for (column, seen) in declared.iter().zip(&mut seen) {
            let member = record.content.get(&column.name.value);
            seen.add(Some(
                match member.as_deref().map(|member| plain(file.read, member)) {
                    None => &JsonValue::Null,
                    Some(PlainMember::Same(member)) => member,
                    Some(PlainMember::Other(ref member)) => member,
                },
            ));
        }
        Ok(())
    })?;
    let seen = declared.iter().zip(seen);
    let inferred = seen.map(|(column, seen)| {
        let inferred = is_inferred(column);
        inferred.then(|| seen.finish(FrameFunction::DataFrame))
    });
    Ok(inferred.collect())
}

/// Infers the types of all columns, chunk by chunk.
///
/// The types usually leave the records unchanged. Therefore each record is passed to `keep` immediately, until a chunk
/// changes records or `keep` returns false. From then on, nested values are skipped, because the file has to be read
/// again. The second part of the result is true if all records were passed to `keep` unchanged.
pub(super) fn infer_chunks(
    file: &RecordFile<'_>,
    typing: FrameFunction,
    keep: &mut dyn FnMut(u64, Record) -> Result<bool, StepError>,
) -> Result<(BTreeMap<u64, FrameColumns>, bool), StepError> {
    let failed = |cause: FrameError| {
        let error = FileError::new(&file.read.path, cause);
        error_at(Failure::Input, Subject::Key("dialect"), error)
    };
    let nested = Cell::new(NestedValues::Read);
    let change = || nested.set(NestedValues::Skip);
    let mut chunks = BTreeMap::new();
    let (limits, mut cells) = (limits(file.context), 0_u64);
    let mut end = |chunk: u64, frame: FrameBuilder| {
        // Each record has a cell for each key that occurs in any record of its chunk.
        cells = cells.saturating_add(frame.cells());
        let checked = limits.check_cells(file.bytes(), cells);
        checked.map_err(|exceeded| undecodable_file(&file.read.path, exceeded))?;
        if !frame.keeps_records() {
            change();
        }
        chunks.insert(chunk, frame.finish().map_err(failed)?);
        Ok::<_, StepError>(())
    };
    let mut current: Option<(u64, FrameBuilder)> = None;
    let mut seen: u64 = 0;
    file.for_each(&nested, &mut |number, record| {
        file.context.check()?;
        if let Some((chunk, frame)) = current.take_if(|(chunk, _)| *chunk != record.chunk) {
            end(chunk, frame)?;
        }
        let (_, frame) = current.get_or_insert_with(|| (record.chunk, FrameBuilder::new(typing)));
        match &record.content {
            RecordContent::Printed(record) => frame.add_formatted(record),
            RecordContent::Value(value) => frame.add(value).map_err(failed)?,
        }
        seen += 1;
        if nested.get() == NestedValues::Skip {
            return Ok(());
        }
        // Checked only at powers of two, because the check is slow. A chunk that changes its records at this point
        // nearly always also changes them at its end, so keeping more records would be useless.
        let is_likely = !seen.is_power_of_two() || frame.keeps_records();
        if !is_likely || !keep(number, record)? {
            change();
        }
        Ok(())
    })?;
    if let Some((chunk, frame)) = current {
        end(chunk, frame)?;
    }
    Ok((chunks, nested.get() == NestedValues::Read))
}

/// A member as a plain value: unchanged, or converted from a special form of the format.
pub(super) enum PlainMember<'m> {
    Same(&'m JsonValue),
    Other(JsonValue),
}

pub(super) fn plain<'m>(read: &ReadSpec, member: &'m JsonValue) -> PlainMember<'m> {
    let plain = read.format.plain.and_then(|plain| plain(member));
    plain.map_or(PlainMember::Same(member), PlainMember::Other)
}
