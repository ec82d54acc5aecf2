//! `digests`: what files are known by, a row per file.

use std::io::Read;

use prep_core::{Context, Inputs, Outputs, Step, StepError};
use prep_digests::Hasher;
use prep_formats::pandas::{Column, ColumnType};
use prep_spec::words::{Form, Key, MadeColumn, Makes, Section, Value};
use thiserror::Error;

use crate::kinds::{Kind, one};
use crate::relation::for_each_file;
use crate::value::TableWriter;

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a table of digests",
            doc: "A row per file. Columns: `file`; `sha256`, the SHA-256 of its content: 64 hex digits, equal for equal files.",
            keys: &[Key::required(
                "digests",
                Value::Files,
                "Table whose column `file` names the files.",
                "photos",
            )],
        },
        methods: &[],
        makes: Makes::Table(|_| vec![MadeColumn::text("file"), MadeColumn::text("sha256")]),
        check: None,
    },
    step: |_, _| Some(Box::new(Digests)),
};

#[derive(Debug, Error)]
#[error("`{file}` cannot be read")]
struct ReadError {
    file: String,
    #[source]
    cause: std::io::Error,
}

struct Digests;

impl Step for Digests {
    fn kind(&self) -> &'static str {
        "digests"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let column = |name: &str| Column {
            name: name.to_owned(),
            kind: ColumnType::Text,
            nullable: false,
        };
        let mut table = TableWriter::new(context, vec![column("file"), column("sha256")])?;
        let mut buffer = vec![0; 1 << 18];
        for_each_file(context, inputs, &mut |file, opened| {
            let failed = |cause| {
                let file = file.to_owned();
                StepError::input(ReadError { file, cause })
            };
            let (mut reader, mut hasher) = (opened.reader()?, Hasher::default());
            loop {
                context.check()?;
                match reader.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
                    Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            let cells = table.cells();
            cells.text(file);
            cells.text(&hasher.finish().to_string());
            table.end_row()?;
            context.progress.add_file();
            Ok(())
        })?;
        Ok(one(table.finish()?.into_value()))
    }
}
