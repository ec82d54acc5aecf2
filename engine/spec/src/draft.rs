//! A file between its first and its last check.
//!
//! The parser understands what it can and notes what it cannot. Checks that need more than this crate knows (planning
//! a query, reading the rules of grading) look at what was understood and add what they find, so that one look at a
//! file finds everything, wherever it is. Only [`Draft::finish`] makes a [`Pipeline`] of it that may be used.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use crate::load::known_variants;
use crate::model::{Pipeline, Variant};
use crate::suggest::nearest;

/// A file that was read: its variants as far as they were understood, and what is wrong with it so far.
#[derive(Debug, Clone)]
pub struct Draft {
    source: Arc<SourceFile>,
    /// The base first.
    readings: Vec<Reading>,
    findings: Vec<Diagnostic>,
}

/// One variant, as far as it was understood.
#[derive(Debug, Clone)]
pub struct Reading {
    /// What could not be read is empty or left out here; that it is wrong was reported.
    pub pipeline: Pipeline,
    /// Tables whose content is not known, because something in them is wrong.
    pub unread: BTreeSet<String>,
}

impl Draft {
    pub(crate) fn new(
        source: Arc<SourceFile>,
        readings: Vec<Reading>,
        findings: Vec<Diagnostic>,
    ) -> Draft {
        Draft {
            source,
            readings,
            findings,
        }
    }

    /// Every variant that the file tells of, the base first. Empty when nothing could be understood.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Adds what another check found. Findings that variants share count once.
    pub fn report(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        self.findings.extend(findings);
    }

    /// The pipeline in one of its variants. A known variant without a section of its own is the base;
    /// [`Variant::differs`] tells.
    ///
    /// # Errors
    /// Everything that was found, in all variants; and a variant that the language does not know.
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
