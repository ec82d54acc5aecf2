//! Replaces the outputs of a pipeline with a query, so that a run computes its first rows instead.

use std::collections::BTreeSet;
use std::sync::Arc;

use prep_core::Failure;
use prep_spec::model::Pipeline;
use prep_spec::{Diagnostics, Reading};
use prep_sql::Session;
use prep_steps::PreviewRequest;

use crate::error::Error;
use crate::task::ViewOptions;

/// The name of the query in errors.
const NAME: &str = "rows";

/// Replaces the outputs of a pipeline with the query. Returns the request for the preview.
///
/// # Errors
/// If the query is not valid for the pipeline's tables.
pub(super) fn apply(
    view: &ViewOptions,
    pipeline: &mut Pipeline,
    engine: &Session,
) -> Result<PreviewRequest, Error> {
    let reading = reading(pipeline, &view.query)?;
    let source = Arc::clone(&reading.pipeline.source);
    let found = prep_sql::check_before_files(engine, &reading);
    if let Some(found) = Diagnostics::new(Arc::clone(&source), found) {
        return Err(found.into());
    }
    // Errors about tables have positions in the pipeline's file, not in the query.
    let file = Arc::clone(&pipeline.source);
    *pipeline = Pipeline {
        source: file,
        ..reading.pipeline
    };
    let query = pipeline.checks.pop().map(|check| check.query);
    Ok(PreviewRequest {
        query: query.ok_or_else(|| Error::new(Failure::Internal, "a view without a query"))?,
        source,
        limit: view.limit,
        result: Arc::clone(&view.result),
    })
}

/// Returns a pipeline that contains the tables of `pipeline` and the query.
pub(crate) fn reading(pipeline: &Pipeline, query: &str) -> Result<Reading, Error> {
    let pipeline = prep_spec::query_pipeline(pipeline, prep_steps::vocabulary(), NAME, query)?;
    Ok(Reading {
        pipeline,
        unread: BTreeSet::new(),
    })
}
