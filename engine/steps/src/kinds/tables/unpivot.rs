//! `unpivot`: columns as rows, like pandas' `melt`. It is a shorter form of a query.

use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::kinds::StepKind;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "an unpivoted table",
            doc: "Columns as rows, like pandas' `melt`: all rows with the first of the columns, then all rows with the second, and so on. The other columns of the table come first, then the column's name, then its value.",
            keys: &[
                SectionKey::required("unpivot", KeyType::Table, "The table.", "labelled"),
                SectionKey::required(
                    "columns",
                    KeyType::Names,
                    "The columns that become rows.",
                    "[C1, C2]",
                ),
                SectionKey::required(
                    "name",
                    KeyType::Text,
                    "Name of the new column with the names.",
                    "bone",
                ),
                SectionKey::required(
                    "value",
                    KeyType::Text,
                    "Name of the new column with the values.",
                    "fractured",
                ),
            ],
        },
        methods: &[],
        makes: Produces::Query(query),
        check: None,
    },
    step: |_, _| None,
};

fn query(declaration: &Declaration) -> String {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let text = |key| declaration.text(key).map(quoted).unwrap_or_default();
    let (table, name, value) = (text("unpivot"), text("name"), text("value"));
    let columns = declaration.texts("columns");
    let all: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    let all = all.join(", ");
    let selects = columns.iter().map(|column| {
        let literal = format!("'{}'", column.replace('\'', "''"));
        let column = quoted(column);
        format!("SELECT * EXCLUDE ({all}), {literal} AS {name}, {column} AS {value} FROM {table}")
    });
    selects.collect::<Vec<_>>().join(" UNION ALL ")
}
