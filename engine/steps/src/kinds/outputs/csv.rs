//! `csv`: a table as CSV, in the format of pandas.

use prep_formats::pandas::Quoting;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey, Word};

use crate::emit::write_csv;
use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a CSV file",
            doc: "A table as CSV, in the format of pandas.",
            keys: &[
                SectionKey::required("csv", KeyType::Rows, "The rows.", "SELECT * FROM train"),
                SectionKey::optional(
                    "delimiter",
                    KeyType::Delimiter,
                    "Separator of the fields. Default: a comma; a tab for `.tsv`.",
                    "tab",
                ),
                SectionKey::optional(
                    "quoting",
                    KeyType::Word(QUOTING),
                    "The fields that are quoted. Default: `minimal`.",
                    "nonnumeric",
                ),
            ],
        },
        methods: &[],
        makes: Produces::File(&[".csv", ".tsv"]),
        check: None,
    },
    step: |declaration, session| {
        let delimiter = delimiter(declaration);
        let word = declaration.text("quoting").unwrap_or("minimal");
        let quoting = match word {
            "nonnumeric" => Quoting::NonNumeric,
            _ => Quoting::Minimal,
        };
        let params = serde_json::json!({ "delimiter": char::from(delimiter), "quoting": word });
        let query = declaration.query("csv")?;
        FunctionStep::of_query("csv", query, params, session, move |run| {
            write_csv(run, delimiter, quoting)
        })
        .step()
    },
};

const QUOTING: &[Word] = &[
    Word {
        name: "minimal",
        doc: "fields that need quotes",
    },
    Word {
        name: "nonnumeric",
        doc: "all fields except numbers",
    },
];

/// The delimiter that is declared, or that the file name implies.
fn delimiter(declaration: &Declaration) -> u8 {
    let by_name = match Declaration::extension(&declaration.name.value).as_str() {
        "tsv" => b'\t',
        _ => b',',
    };
    declaration.delimiter("delimiter").unwrap_or(by_name)
}
