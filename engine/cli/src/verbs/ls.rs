//! `prep ls`: what is in a bundle, without downloading it.

use std::path::PathBuf;

use clap::Args;
use prep_app::{ListedSource, Listing, Options};
use prep_core::units;

use crate::downloads::{Limits, Purpose};
use crate::exit::Exit;
use crate::output::table::{Align, Table};
use crate::session::{Ended, Session};

/// List the files of a bundle, without downloading it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep ls spaceship-titanic
  prep ls dogs-vs-cats-redux-kernels-edition --source ~/bundles
  prep ls plant-pathology-2020-fgvc7 --json | jq '.files | length'

A bundle that is not there is listed on Kaggle, of any competition, also of one without a pipeline. \
`used` marks what the pipeline reads: that is what `prep run --partial` downloads. Below are the \
sources that a pipeline has beside its bundle.")]
pub struct Ls {
    /// The competition, as Kaggle calls it in addresses
    #[arg(value_name = "ID")]
    id: String,
    /// Folder with bundles that are there already: DIR/ID.zip or DIR/ID/ID.zip; the data folder is searched next
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// List a bundle that is there, or none
    #[arg(long)]
    no_download: bool,
}

impl Ls {
    pub fn call(&self, session: &Session) -> Ended {
        let options = Options {
            source: self.source.clone(),
            ..Options::default()
        };
        let purpose = Purpose::question_unless(self.no_download);
        let task = session.task(options, &Limits::default(), purpose)?;
        let listing = prep_app::listing(&task, &self.id)?;
        if session.printer.json {
            session.printer.json(&listing)?;
        } else {
            session.printer.result(&render(&listing))?;
            session.printer.message(said(&listing));
        }
        Ok(Exit::Success)
    }
}

fn render(listing: &Listing) -> String {
    let mut table = Table::new(&[
        ("size", Align::Right),
        ("in bundle", Align::Right),
        ("used", Align::Left),
        ("file", Align::Left),
    ]);
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
    let mut table = Table::new(&[
        ("size", Align::Right),
        ("source", Align::Left),
        ("place", Align::Left),
    ]);
    for row in rows {
        let source = &row.source;
        let place = match (&source.path, &source.url) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(url)) => url.clone(),
            (None, None) => "a folder that is not there".to_owned(),
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

/// The sum, in a sentence.
fn said(listing: &Listing) -> String {
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
