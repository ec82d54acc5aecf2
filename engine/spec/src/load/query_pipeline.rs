//! Ad-hoc queries over the tables of a pipeline.

use std::sync::Arc;

use crate::model::{Check, Pipeline, Spanned, Table, TableOrigin};
use crate::parse::ParseState;
use crate::text::diagnostic::{Diagnostics, SourceFile, Span};
use crate::text::yaml::{Kind, Scalar, Style, YamlNode};
use crate::words::Vocabulary;

/// Returns a pipeline that has the same tables, no outputs, and the query `name` as its only check. Positions in the
/// query refer to the text `query`, which is also the `source` of the returned pipeline.
///
/// # Errors
/// If the query is not valid, or reads a table that does not exist.
pub fn query_pipeline(
    pipeline: &Pipeline,
    vocabulary: &Vocabulary,
    name: &str,
    query: &str,
) -> Result<Pipeline, Diagnostics> {
    let source = Arc::new(SourceFile::new("query", query));
    let mut state = ParseState::new(vocabulary, Arc::clone(&source));
    let lists = pipeline.lists.iter();
    let lists = lists.map(|(name, texts)| (name.value.clone(), texts.clone()));
    state.lists.texts = Arc::new(lists.collect());
    let span = Span::new(0, query.len());
    let node = YamlNode {
        span,
        kind: Kind::Scalar(Scalar {
            text: query.to_owned(),
            style: Style::Plain,
        }),
    };
    let query = state.query(&node);
    let mut tables = pipeline.tables.clone();
    for (_, table) in std::mem::take(&mut state.reads.mentions) {
        let mut lists = pipeline.lists.iter();
        if tables.iter().any(|one| one.has(&table.value)) {
            continue;
        }
        match lists.find(|(name, _)| name.value == table.value) {
            Some((name, texts)) => tables.push(Table {
                names: vec![name.clone()],
                made: TableOrigin::List(texts.clone()),
            }),
            None => {
                let names = tables.iter().flat_map(|table| &table.names);
                let names = names.map(|name| name.value.as_str());
                state.unknown_table(&table, names);
            }
        }
    }
    if let Some(found) = Diagnostics::new(Arc::clone(&source), state.diagnostics) {
        return Err(found);
    }
    let name = Spanned {
        value: name.to_owned(),
        span,
    };
    let check = query.map(|query| Check { name, query });
    Ok(Pipeline {
        tables,
        public: Vec::new(),
        private: Vec::new(),
        checks: check.into_iter().collect(),
        grade: None,
        source,
        ..pipeline.clone()
    })
}
