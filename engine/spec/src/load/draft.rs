//! A parsed pipeline file before all checks are complete.
//!
//! The parser reads as much as it can and records errors. Checks that need more than this crate (planning a query, the
//! rules of grading) examine the result and add their errors, so that all errors of a file are reported at once. Only
//! [`ParsedFile::finish`] turns the file into a usable [`Pipeline`].

use std::sync::Arc;

use crate::model::{Pipeline, Reading};
use crate::text::diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use crate::variant::{Corrections, variant_name};

/// A parsed file: its variants, as far as they could be parsed, and the errors found so far.
#[derive(Debug, Clone)]
pub struct ParsedFile {
    pub(crate) source: Arc<SourceFile>,
    /// The names of the corrections, in file order.
    pub(crate) corrections: Vec<String>,
    /// The variants, the base first.
    pub(crate) readings: Vec<Reading>,
    pub(crate) findings: Vec<Diagnostic>,
}

impl ParsedFile {
    /// Returns the variants of the file, with the base first. Empty if nothing could be parsed.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Adds the errors of a further check. [`finish`](Self::finish) removes duplicates.
    pub fn report(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        self.findings.extend(findings);
    }

    /// Returns the pipeline in a variant. Corrections that the pipeline does not have are ignored, because all
    /// competitions use the same names of variants. So a known variant may equal the base.
    /// [`Variant::differs`](crate::model::Variant::differs) distinguishes the two cases.
    ///
    /// # Errors
    /// If there is an error in any variant, or the variant is unknown.
    pub fn finish(mut self, variant: &str) -> Result<Pipeline, Diagnostics> {
        let chosen = match Corrections::parse(variant) {
            Ok(corrections) => self.position(&corrections),
            Err(message) => {
                let found = Diagnostic::error("unknown-variant", Span::default(), message);
                self.findings.push(found);
                0
            }
        };
        if self.findings.is_empty() && chosen >= self.readings.len() {
            let message = "the pipeline is not complete";
            let fault = Diagnostic::error("missing-key", Span::default(), message);
            self.findings.push(fault);
        }
        if let Some(found) = Diagnostics::new(Arc::clone(&self.source), self.findings) {
            return Err(found);
        }
        let mut pipeline = self.readings.swap_remove(chosen).pipeline;
        variant.clone_into(&mut pipeline.variant.name);
        Ok(pipeline)
    }

    /// Returns the index of the reading with these corrections.
    fn position(&self, corrections: &Corrections) -> usize {
        let name = variant_name(&self.corrections, |name| corrections.has(name));
        let mut readings = self.readings.iter();
        let place = readings.position(|one| one.pipeline.variant.name == name);
        place.unwrap_or(0)
    }
}
