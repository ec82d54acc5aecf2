//! `parquet`: a table as Apache Parquet.

use prep_formats::parquet::WriterVersions;
use prep_spec::diagnostic::Diagnostic;
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::emit::write_parquet;
use crate::kinds::StepKind;
use crate::kinds::function_step::FunctionStep;

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a parquet file",
            doc: "A table as Apache Parquet. The bytes depend on the library that writes the file, so a published checksum \
                  can only match if the same library and versions write it. With `fastparquet` and `pandas`, the \
                  file is byte-identical to the output of these versions. A published checksum that does not match \
                  does not stop the run. It is reported as depending on the writer.",
            keys: &[
                SectionKey::required("parquet", KeyType::Rows, "The rows.", "SELECT * FROM train"),
                SectionKey::optional(
                    "fastparquet",
                    KeyType::Text,
                    "Version of fastparquet whose `to_parquet` is reproduced. Default: the writer of `prep`.",
                    "2024.5.0",
                ),
                SectionKey::optional(
                    "pandas",
                    KeyType::Text,
                    "Version of pandas that fastparquet uses.",
                    "2.2.2",
                ),
            ],
        },
        methods: &[],
        makes: Produces::File(&[".parquet"]),
        check: Some(check),
    },
    step: |declaration, session| {
        let query = declaration.query("parquet")?;
        let versions = versions(declaration);
        let params = match &versions {
            Some(versions) => {
                serde_json::json!({ "fastparquet": versions.fastparquet(), "pandas": versions.pandas() })
            }
            None => serde_json::json!({}),
        };
        FunctionStep::of_query("parquet", query, params, session, move |run| {
            write_parquet(run, versions.as_ref())
        })
        .step()
    },
};

/// The declared versions of the libraries whose output is reproduced.
fn versions(declaration: &Declaration) -> Option<WriterVersions> {
    let (fastparquet, pandas) = (
        declaration.text("fastparquet")?,
        declaration.text("pandas")?,
    );
    WriterVersions::new(fastparquet, pandas).ok()
}

fn check(declaration: &Declaration) -> Vec<Diagnostic> {
    let fault = |key, message: String| vec![declaration.fault(key, "parquet-writer", message)];
    match (declaration.text("fastparquet"), declaration.text("pandas")) {
        (Some(fastparquet), Some(pandas)) => match WriterVersions::new(fastparquet, pandas) {
            Ok(_) => Vec::new(),
            Err(error) => {
                let key = if WriterVersions::new(fastparquet, "2").is_err() {
                    "fastparquet"
                } else {
                    "pandas"
                };
                fault(key, error.to_string())
            }
        },
        (Some(_), None) => fault(
            "fastparquet",
            "`fastparquet` needs `pandas`, because the file contains both versions".into(),
        ),
        (None, Some(_)) => fault(
            "pandas",
            "`pandas` needs `fastparquet`, the library that uses it".into(),
        ),
        (None, None) => Vec::new(),
    }
}
