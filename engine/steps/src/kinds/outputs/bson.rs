//! `bson`: the records of a table as BSON documents, one after another, as pymongo writes them. Binary values are
//! copied from the source file.

use std::io::Write;

use prep_core::{FileValue, StepError, Value};
use prep_formats::bson::push_json;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::emit::for_each_record;
use crate::kinds::StepKind;
use crate::kinds::content_parts::ContentParts;
use crate::kinds::function_step::FunctionStep;
use crate::relation::QueryRun;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a BSON file",
            doc: "BSON documents, one after another, as pymongo encodes them. A document is an object with the cells of a row. If the only column is `record`, it is the record itself.",
            keys: &[SectionKey::required(
                "bson",
                KeyType::Documents,
                "The documents.",
                "SELECT record FROM train",
            )],
        },
        methods: &[],
        makes: Produces::File(&[".bson"]),
        check: None,
    },
    step: |declaration, session| {
        let query = declaration.query("bson")?;
        FunctionStep::of_query("bson", query, serde_json::json!({}), session, write).step()
    },
};

fn write(run: QueryRun<'_>) -> Result<Value, StepError> {
    let mut out = run.context.store.writer()?;
    let mut parts = ContentParts::new(run.context, run.inputs)?;
    let mut document = Vec::new();
    let (count, columns) = for_each_record(run, |value| {
        document.clear();
        let pushed = push_json(value, &mut document, &mut |binary, out| {
            parts.read(&binary.file, binary.at, binary.bytes, out)
        });
        pushed.map_err(StepError::input)?;
        out.write_all(&document).map_err(StepError::machine)
    })?;
    Ok(FileValue::table(out.commit()?, count, columns).into_value())
}
