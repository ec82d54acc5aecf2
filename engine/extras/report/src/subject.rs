//! The request for a report.

use prep_experiments::GradingReport;

/// The competitions, the variant and the gradings that a report is about.
pub struct ReportSubject<'a> {
    /// Competitions, in the order of the page.
    pub ids: &'a [String],
    /// The variant to show. `None` for all prepared variants.
    pub variant: Option<&'a str>,
    /// Grading reports.
    pub graded: &'a [GradedExperiment],
}

/// Grading reports of one experiment, one per seed.
#[derive(Debug, Clone)]
pub struct GradedExperiment {
    pub name: String,
    /// The reports, sorted by time.
    pub reports: Vec<GradingReport>,
}
