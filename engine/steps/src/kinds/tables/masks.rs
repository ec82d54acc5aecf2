//! `masks`: NumPy arrays as run-length codes, one row per file.

use prep_core::{BoxError, StepError};
use prep_formats::npy::mask_code;
use prep_formats::pandas::ColumnType;
use prep_spec::words::{KeyType, KindSpec, ProducedColumn, Produces, Section, SectionKey};
use thiserror::Error;

use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;
use crate::value::{OpenContent, TableWriter, column};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a table of masks",
            doc: "One row per NumPy array. Columns: `file`; `shape` (sizes of the axes, separated by `,`); `rle`, the run-length code of the elements that are 1 or true. The code consists of pairs of a start, from 1, and a length, in column-major order (the first axis varies fastest). It is missing if there are no such elements.",
            keys: &[SectionKey::required(
                "masks",
                KeyType::Files,
                "Table whose column `file` names the arrays, of numbers or booleans.",
                "arrays",
            )],
        },
        methods: &[],
        makes: Produces::Table(|_| {
            vec![
                ProducedColumn::text("file"),
                ProducedColumn::text("shape"),
                ProducedColumn::text("rle"),
            ]
        }),
        check: None,
    },
    step: |_, _| {
        let columns = vec![
            column("file", ColumnType::Text, false),
            column("shape", ColumnType::Text, true),
            column("rle", ColumnType::Text, true),
        ];
        // An earlier version had the key `value`. Keys of cached results contain it.
        let params = serde_json::json!({ "value": 1 });
        let visit =
            |_: &mut (), table: &mut TableWriter<'_>, file: &str, opened: &OpenContent<'_>| {
                let mask = mask_code(opened.reader()?).map_err(|cause| {
                    StepError::input(MaskError {
                        file: file.to_owned(),
                        cause: cause.into(),
                    })
                })?;
                let axes: Vec<String> = mask.shape.iter().map(u64::to_string).collect();
                let cells = table.cells();
                cells.text(file);
                cells.text(&axes.join(","));
                match mask.code.as_str() {
                    "" => cells.missing(),
                    code => cells.text(code),
                }
                table.end_row()
            };
        FunctionStep::of_files("masks", 1, params, columns, visit).step()
    },
};

#[derive(Debug, Error)]
#[error("the mask `{file}` cannot be read")]
struct MaskError {
    file: String,
    #[source]
    cause: BoxError,
}
