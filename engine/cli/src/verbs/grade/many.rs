//! `prep grade SUBMISSIONS.jsonl`: grades a list of submissions and writes one report.

use std::path::Path;

use prep_app::{Catalog, grade_list};
use prep_grade::report::JsonObject;

use super::GradeArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::grading;
use crate::session::{CliSession, VerbResult};

pub fn grade(session: &CliSession, catalog: &Catalog, list: &Path, args: &GradeArgs) -> VerbResult {
    let (settings, log) = (&args.variant.settings(session), args.log.log(session));
    let graded = grade_list(settings, catalog, list, args.output_dir()?, &log)?;
    let reports = graded.results.iter();
    let reports: Vec<_> = reports.filter_map(|(_, one)| one.as_ref().ok()).collect();
    if session.printer.json {
        let competitions = graded.results.iter().map(|(entry, result)| match result {
            Ok(report) => grading::entry(report),
            Err(error) => grading::not_graded(entry, &error.clone().into()),
        });
        let competitions = competitions.collect();
        let path = graded.path.to_string_lossy();
        let further = JsonObject::from_iter([("report", (&*path).into())]);
        let text = grading::envelope(competitions, further);
        session.printer.result(&text)?;
    } else {
        session.printer.result(&grading::summary(&reports))?;
    }
    let warnings: Vec<String> = graded.warnings.iter().cloned().collect();
    session.printer.warnings(&warnings);
    grading::remarks(&session.printer, &reports);
    let path = graded.path.display();
    session.printer.message(format!("report: {path}"));
    let mut errors = Vec::new();
    for (entry, result) in &graded.results {
        let Err(error) = result else { continue };
        let place = format!("{}:{}", list.display(), entry.line);
        let mut error = CliError::from(error.clone());
        error.message = format!("{place}: {}", error.message);
        errors.push(error);
    }
    session.printer.errors(&errors);
    Ok(Exit::combine(errors.iter().map(|error| error.exit)))
}
