//! A pipeline file between its first and its last check.
//!
//! The parser reads as much as it can and records errors. Checks that need more than this crate (planning a query, the
//! rules of grading) examine the result and add their errors, so that all errors of a file are reported at once. Only
//! [`ParsedFile::finish`] turns it into a usable [`Pipeline`].

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use crate::load::known_variants;
use crate::model::{Pipeline, Variant};
use crate::suggest::nearest;

/// A file that was parsed: its variants as far as they were understood, and the errors so far.
#[derive(Debug, Clone)]
pub struct ParsedFile {
    source: Arc<SourceFile>,
    /// The variants, the base first.
    readings: Vec<Reading>,
    findings: Vec<Diagnostic>,
}

/// One variant, as far as it was understood.
#[derive(Debug, Clone)]
pub struct Reading {
    /// The pipeline. Parts with errors are empty or left out; the errors were reported.
    pub pipeline: Pipeline,
    /// Tables whose content is unknown because of an error in them.
    pub unread: BTreeSet<String>,
}

impl ParsedFile {
    pub(crate) fn new(
        source: Arc<SourceFile>,
        readings: Vec<Reading>,
        findings: Vec<Diagnostic>,
    ) -> ParsedFile {
        ParsedFile {
            source,
            readings,
            findings,
        }
    }

    /// Returns the variants of the file, the base first. Empty if nothing could be understood.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Adds the errors of another check. Duplicates are removed at the end.
    pub fn report(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        self.findings.extend(findings);
    }

    /// Returns the pipeline in one of its variants. A known variant without a section of its own equals the base;
    /// [`Variant::differs`] distinguishes the two.
    ///
    /// # Errors
    /// All errors in all variants, and an unknown variant.
    pub fn finish(mut self, variant: &str) -> Result<Pipeline, Diagnostics> {
        if known_variants().all(|name| name != variant) {
            let message = format!("there is no variant `{variant}`");
            let found = Diagnostic::error("unknown-variant", Span::default(), message);
            let near = nearest(variant, known_variants());
            self.findings.push(found.suggest(near));
        }
        let own = self
            .readings
            .iter()
            .position(|reading| reading.pipeline.variant.name == variant);
        let chosen = own.unwrap_or(0);
        if self.findings.is_empty() && chosen >= self.readings.len() {
            let message = "the pipeline is not complete";
            let fault = Diagnostic::error("missing-key", Span::default(), message);
            self.findings.push(fault);
        }
        if let Some(found) = Diagnostics::new(Arc::clone(&self.source), self.findings) {
            return Err(found);
        }
        let mut pipeline = self.readings.swap_remove(chosen).pipeline;
        pipeline.variant = Variant {
            name: variant.to_owned(),
            differs: own.is_some_and(|place| place > 0),
        };
        Ok(pipeline)
    }
}
