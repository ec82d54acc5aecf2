//! `digests`: the SHA-256 of files, one row per file.

use std::io::Read;

use prep_core::StepError;
use prep_digests::Sha256Hasher;
use prep_formats::pandas::ColumnType;
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use serde_json::Value::Null;
use thiserror::Error;

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::value::{OpenContent, TableWriter, column};

/// Bytes per read.
const READ_BYTES: usize = 1 << 18;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of digests",
            doc: "One row per file. Columns: `file`; `sha256`, the SHA-256 of its content as 64 hex digits.",
            keys: &[SectionKey::required(
                "digests",
                KeyType::Files,
                "Table whose column `file` names the files.",
                "photos",
            )],
        },
        methods: &[],
        makes: Produces::Table(|_| {
            vec![ProducedColumn::text("file"), ProducedColumn::text("sha256")]
        }),
        check: None,
    },
    step: |_, _| {
        let columns = ["file", "sha256"].map(|name| column(name, ColumnType::Text, false));
        FunctionStep::of_files("digests", 1, Null, columns.into(), visit).step()
    },
};

#[derive(Debug, Error)]
#[error("`{file}` cannot be read")]
struct DigestError {
    file: String,
    #[source]
    cause: std::io::Error,
}

fn visit(
    buffer: &mut Vec<u8>,
    table: &mut TableWriter<'_>,
    file: &str,
    opened: &OpenContent<'_>,
) -> Result<(), StepError> {
    buffer.resize(READ_BYTES, 0);
    let (mut reader, mut hasher) = (opened.reader()?, Sha256Hasher::default());
    loop {
        table.context.check()?;
        match reader.read(buffer) {
            Ok(0) => break,
            Ok(count) => hasher.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(cause) => {
                let file = file.to_owned();
                return Err(StepError::input(DigestError { file, cause }));
            }
        }
    }
    let cells = table.cells();
    cells.text(file);
    cells.text(&hasher.finish().to_string());
    table.end_row()
}
