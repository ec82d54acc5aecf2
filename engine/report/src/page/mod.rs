//! Writes the collected values as HTML.

mod competition;
mod experiments;
mod html;
mod overview;

use prep_app::Error;

use crate::collect::Report;

pub use html::escape;

const STYLE: &str = include_str!("style.css");

/// Content security policy: the page loads nothing and runs no script.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// Returns the page.
///
/// # Errors
/// When a picture cannot be drawn.
pub fn render(report: &Report) -> Result<String, Error> {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>prep report</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    page += &overview::header(report);
    page += "<main>\n";
    page += &overview::table(report);
    page += &experiments::section(&report.experiments)?;
    // If there are many sections, the open first one shows the content of the others.
    let few = report.competitions.len() <= 3;
    for (at, competition) in report.competitions.iter().enumerate() {
        page += &competition::section(competition, few || at == 0)?;
    }
    page += "</main>\n<footer>Made by prep, ";
    page += &escape(&report.now);
    page += ". Shares of test labels come from the answers: do not show this page to agents.</footer>\n</body>\n</html>\n";
    Ok(page)
}
