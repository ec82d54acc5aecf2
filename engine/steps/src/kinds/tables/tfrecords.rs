//! `tfrecords`: records of TFRecord files (`tf.train.Example`), a row per record with the first value of each feature.

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_formats::pandas::{Column as StoredColumn, ColumnType, CsvWriter};
use prep_formats::tfrecord::{Example, Feature, TfRecordError, TfRecords};
use prep_spec::model::{Column, ColumnKind};
use prep_spec::words::{Form, Key, MadeColumn, Makes, Section, Value};
use thiserror::Error;

use crate::kinds::{Kind, one};
use crate::limits::{limits, undecodable};
use crate::relation::for_each_file;
use crate::value::TableWriter;

#[derive(Debug, Error)]
enum RecordError {
    #[error("`{file}`: {cause}")]
    Format {
        file: String,
        #[source]
        cause: TfRecordError,
    },
    #[error("`{file}`: the record at byte {offset} has no feature `{feature}`")]
    NoFeature {
        file: String,
        offset: u64,
        feature: String,
    },
    #[error(
        "`{file}`: the record at byte {offset}: feature `{feature}` holds {found}, which is not what is declared"
    )]
    OtherType {
        file: String,
        offset: u64,
        feature: String,
        found: &'static str,
    },
}

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a table of TFRecords",
            doc: "A row per record of TFRecord files. Columns: `file`, and the features.",
            keys: &[
                Key::required(
                    "tfrecords",
                    Value::Files,
                    "Table whose column `file` names the TFRecord files.",
                    "shards",
                ),
                Key::required(
                    "features",
                    Value::Columns,
                    "Features that become columns, each with its type.",
                    "[image_name]",
                ),
            ],
        },
        methods: &[],
        makes: Makes::Table(|declaration| {
            let features = declaration.columns("features").iter();
            let features =
                features.map(|feature| MadeColumn::new(&feature.name.value, feature.kind));
            std::iter::once(MadeColumn::text("file"))
                .chain(features)
                .collect()
        }),
        check: None,
    },
    step: |declaration, _| {
        let features = declaration.columns("features").to_vec();
        Some(Box::new(TfRecordTable { features }))
    },
};

struct TfRecordTable {
    features: Vec<Column>,
}

impl TfRecordTable {
    fn kind(column: &Column) -> ColumnType {
        match column.kind {
            ColumnKind::Integer => ColumnType::Int64,
            ColumnKind::Number => ColumnType::Float32,
            _ => ColumnType::Text,
        }
    }
}

impl Step for TfRecordTable {
    fn kind(&self) -> &'static str {
        "tfrecords"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        let features: Vec<_> = self
            .features
            .iter()
            .map(|feature| (&feature.name.value, TfRecordTable::kind(feature)))
            .collect();
        serde_json::json!({ "features": features })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let mut columns = vec![StoredColumn {
            name: "file".to_owned(),
            kind: ColumnType::Text,
            nullable: false,
        }];
        columns.extend(self.features.iter().map(|feature| StoredColumn {
            name: feature.name.value.clone(),
            kind: TfRecordTable::kind(feature),
            nullable: false,
        }));
        let mut table = TableWriter::new(context, columns)?;
        for_each_file(context, inputs, &mut |file, opened| {
            let format = |cause| {
                undecodable(RecordError::Format {
                    file: file.to_owned(),
                    cause,
                })
            };
            let records = TfRecords::new(opened.ahead()?).with_limits(&limits(context));
            for record in records {
                let record = record.map_err(format)?;
                let example = Example::new(&record.payload);
                table.cells().text(file);
                for column in &self.features {
                    let feature = column.name.value.clone();
                    let found = example.feature(&feature).map_err(format)?;
                    let place = (file.to_owned(), record.offset);
                    let found = found.ok_or_else(|| {
                        StepError::input(RecordError::NoFeature {
                            file: place.0.clone(),
                            offset: place.1,
                            feature: feature.clone(),
                        })
                    })?;
                    if write_first(table.cells(), &found, TfRecordTable::kind(column)).is_none() {
                        let error = RecordError::OtherType {
                            file: place.0,
                            offset: place.1,
                            feature,
                            found: name(&found),
                        };
                        return Err(StepError::input(error));
                    }
                }
                table.end_row()?;
                context.progress.add_bytes(record.payload.len() as u64);
            }
            Ok(())
        })?;
        Ok(one(table.finish()?.into_value()))
    }
}

/// Writes the first value of a feature; none if there is none of the wanted type.
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

fn name(feature: &Feature) -> &'static str {
    match feature {
        Feature::Bytes(values) if values.is_empty() => "nothing",
        Feature::Bytes(_) => "bytes",
        Feature::Floats(_) => "floats",
        Feature::Ints(_) => "integers",
    }
}
