//! Queries of a person about the tables of a pipeline.

use std::sync::Arc;

use crate::diagnostic::{Diagnostics, SourceFile, Span};
use crate::model::{Output, Pipeline, Setting, Spanned, Table, TableOrigin};
use crate::state::ParseState;
use crate::words::Vocabulary;
use crate::yaml::{Kind, Scalar, Style, YamlNode};

/// Returns a pipeline with the same tables whose only outputs are those of the query: CSV files with these names. The
/// position of every output is in the text of its query, and `source` of the pipeline is that text.
///
/// # Errors
/// If the query is not valid, or reads a table that does not exist.
pub fn view(
    pipeline: &Pipeline,
    vocabulary: &Vocabulary,
    name: &str,
    query: &str,
) -> Result<Pipeline, Diagnostics> {
    let source = Arc::new(SourceFile::new("query", query));
    let mut state = ParseState::new(vocabulary, Arc::clone(&source));
    let lists = pipeline.lists.iter();
    let lists = lists.map(|(name, texts)| (name.value.clone(), texts.clone()));
    state.lists = Arc::new(lists.collect());
    let span = Span::new(0, query.len());
    let node = YamlNode {
        span,
        kind: Kind::Scalar(Scalar {
            text: query.to_owned(),
            style: Style::Plain,
        }),
    };
    let path = Spanned {
        value: name.to_owned(),
        span,
    };
    let form = vocabulary.by_path(name);
    let declaration = form.and_then(|form| state.by_query(&node, form, &path));
    let mut tables = pipeline.tables.clone();
    for (_, table) in std::mem::take(&mut state.reads) {
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
    let output = declaration.map(|declaration| Output { path, declaration });
    Ok(Pipeline {
        tables,
        public: output.into_iter().collect(),
        private: Vec::new(),
        checks: Vec::new(),
        grade: None,
        source,
        ..pipeline.clone()
    })
}

/// Gives a view the file of its pipeline, so that errors of tables have their position in it. Errors of the query then
/// have the position of the file's first line.
pub fn in_file(mut view: Pipeline, source: Arc<SourceFile>) -> Pipeline {
    for output in &mut view.public {
        output.path.span = Span::default();
        output.declaration.span = Span::default();
        for setting in output.declaration.settings.values_mut() {
            setting.span = Span::default();
            if let Setting::Query(query) = &mut setting.value {
                query.span = Span::default();
                query.style = None;
            }
        }
    }
    view.source = source;
    view
}
