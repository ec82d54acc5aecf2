//! `tfrecords`: a table of the records (`tf.train.Example`) of TFRecord files, with the first value of each declared
//! feature.

use prep_core::StepError;
use prep_formats::pandas::{ColumnType, CsvWriter};
use prep_formats::tfrecord::{Example, Feature, TfRecords};
use prep_spec::model::{Column, ColumnKind};
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use thiserror::Error;

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::limits::{limits, undecodable_file};
use crate::value::{OpenContent, TableWriter, column};

#[derive(Debug, Error)]
enum RecordError {
    #[error("`{file}`: the record at byte {offset} has no feature `{feature}`")]
    NoFeature {
        file: String,
        offset: u64,
        feature: String,
    },
    #[error(
        "`{file}`: the record at byte {offset}: feature `{feature}` contains {found}, which does not fit its declared type"
    )]
    OtherType {
        file: String,
        offset: u64,
        feature: String,
        found: &'static str,
    },
}

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of TFRecords",
            doc: "One row per record of TFRecord files. Columns: `file`, and the features.",
            keys: &[
                SectionKey::required(
                    "tfrecords",
                    KeyType::Files,
                    "Table whose column `file` names the TFRecord files.",
                    "shards",
                ),
                SectionKey::required(
                    "features",
                    KeyType::Columns,
                    "Features that become columns, each with its type.",
                    "[image_name]",
                ),
            ],
        },
        methods: &[],
        makes: Produces::Table(|declaration| {
            let features = declaration.columns("features").iter();
            let features =
                features.map(|feature| ProducedColumn::new(&feature.name.value, feature.kind));
            std::iter::once(ProducedColumn::text("file"))
                .chain(features)
                .collect()
        }),
        check: None,
    },
    step: |declaration, _| {
        let features: Vec<FeatureColumn> = declaration
            .columns("features")
            .iter()
            .map(FeatureColumn::new)
            .collect();
        let mut columns = vec![column("file", ColumnType::Text, false)];
        columns.extend(
            features
                .iter()
                .map(|one| column(&one.name, one.kind, false)),
        );
        let params: Vec<_> = features.iter().map(|one| (&one.name, one.kind)).collect();
        let params = serde_json::json!({ "features": params });
        let visit =
            move |_: &mut (), table: &mut TableWriter<'_>, file: &str, opened: &OpenContent<'_>| {
                write_rows(&features, table, file, opened)
            };
        FunctionStep::of_files("tfrecords", 1, params, columns, visit).step()
    },
};

struct FeatureColumn {
    name: String,
    kind: ColumnType,
}

impl FeatureColumn {
    fn new(column: &Column) -> FeatureColumn {
        let kind = match column.kind {
            ColumnKind::Integer => ColumnType::Int64,
            ColumnKind::Number => ColumnType::Float32,
            _ => ColumnType::Text,
        };
        let name = column.name.value.clone();
        FeatureColumn { name, kind }
    }
}

/// Writes a row for each record of a TFRecord file.
fn write_rows(
    features: &[FeatureColumn],
    table: &mut TableWriter<'_>,
    file: &str,
    opened: &OpenContent<'_>,
) -> Result<(), StepError> {
    let failed = |cause| undecodable_file(file, cause);
    let records = TfRecords::new(opened.read_ahead()?).with_limits(&limits(table.context));
    for record in records {
        let record = record.map_err(failed)?;
        let example = Example::new(&record.payload);
        table.cells().text(file);
        for feature in features {
            let found = example.feature(&feature.name).map_err(failed)?;
            let found = found.ok_or_else(|| {
                StepError::input(RecordError::NoFeature {
                    file: file.to_owned(),
                    offset: record.offset,
                    feature: feature.name.clone(),
                })
            })?;
            if write_first(table.cells(), &found, feature.kind).is_none() {
                return Err(StepError::input(RecordError::OtherType {
                    file: file.to_owned(),
                    offset: record.offset,
                    feature: feature.name.clone(),
                    found: describe_values(&found),
                }));
            }
        }
        table.end_row()?;
        let bytes = record.payload.len() as u64;
        table.context.progress.add_bytes(bytes);
    }
    Ok(())
}

/// Writes the first value of a feature. Returns `None` if the feature has no value of the type `kind`.
fn write_first(
    writer: &mut CsvWriter<impl std::io::Write>,
    feature: &Feature,
    kind: ColumnType,
) -> Option<()> {
    match (feature, kind) {
        (Feature::Bytes(values), ColumnType::Text) => {
            writer.text(std::str::from_utf8(values.first()?).ok()?)
        }
        (Feature::Ints(values), ColumnType::Int64) => writer.integer(*values.first()?),
        (Feature::Floats(values), ColumnType::Float32) => writer.f32(*values.first()?),
        _ => return None,
    }
    Some(())
}

/// Returns the type of a feature's values, for messages.
fn describe_values(feature: &Feature) -> &'static str {
    match feature {
        Feature::Bytes(values) if values.is_empty() => "nothing",
        Feature::Bytes(_) => "bytes",
        Feature::Floats(_) => "floats",
        Feature::Ints(_) => "integers",
    }
}
