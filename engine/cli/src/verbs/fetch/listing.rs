//! `prep fetch --list`: lists the files of bundles without downloading them.

use prep_app::{BundleListing, ListedSource, RememberedOptions};
use prep_core::units;
use serde_json::json;

use crate::downloads::{DownloadLimits, Purpose};
use crate::options::SourceArg;
use crate::output::table::PrintedTable;
use crate::session::{CliSession, VerbResult};

/// Lists the files of the bundles of `ids`.
pub fn list(
    session: &CliSession,
    ids: &[String],
    source: &SourceArg,
    no_download: bool,
) -> VerbResult {
    let options = session.options_with(RememberedOptions {
        source: source.dir().map(ToOwned::to_owned),
        ..RememberedOptions::default()
    });
    let purpose = Purpose::request_unless(no_download);
    let task = session.task(options, &DownloadLimits::default(), purpose)?;
    let listings = session.for_each_id(ids, |id| {
        let listing = prep_app::listing(&task, id)?;
        if !session.printer.json {
            session.printer.result(&render(&listing))?;
            session.printer.message(sum(&listing));
        }
        Ok(listing)
    });
    listings.print_json(&session.printer, |_, listing| json!(listing))?;
    Ok(listings.exit())
}

fn render(listing: &BundleListing) -> String {
    let mut table = PrintedTable::with_header(">size  >in bundle  used  file");
    for row in &listing.files {
        table.row(vec![
            units::bytes(row.bytes),
            units::bytes(row.compressed_bytes),
            if row.used { "used" } else { "-" }.to_owned(),
            row.path.clone(),
        ]);
    }
    let mut text = table.render();
    if !listing.sources.is_empty() {
        text.push_str(&format!("\n{}", render_sources(&listing.sources)));
    }
    text
}

fn render_sources(rows: &[ListedSource]) -> String {
    let mut table = PrintedTable::with_header(">size  source  place");
    for row in rows {
        let source = &row.source;
        let place = match (&source.path, &source.url) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(url)) => url.clone(),
            (None, None) => "a missing directory".to_owned(),
        };
        let file = source.file.as_deref().unwrap_or_default();
        table.row(vec![
            row.bytes.map_or("-".to_owned(), units::bytes),
            format!("{}:{file}", source.name),
            place,
        ]);
    }
    table.render()
}

/// Summarizes a listing in one sentence.
fn sum(listing: &BundleListing) -> String {
    let place = match &listing.bundle {
        Some(path) => path.display().to_string(),
        None => "on Kaggle".to_owned(),
    };
    let mut text = format!(
        "{} in {} ({place})",
        units::count(listing.files.len() as u64, "file"),
        units::bytes(listing.bytes)
    );
    if let Some(used) = listing.used_bytes {
        text.push_str(&format!("; the pipeline uses {}", units::bytes(used)));
    }
    text
}
