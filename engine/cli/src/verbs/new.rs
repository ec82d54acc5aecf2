//! `prep new`: a first pipeline for a competition of one's own.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Catalog, Error};
use serde_json::json;

use crate::downloads::{self, Limits, Purpose};
use crate::exit::Exit;
use crate::output::file::write_whole;
use crate::session::{Ended, Session};

/// Look into a bundle and write a first pipeline for it, with comments where something has to be chosen
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep new lost-luggage --source bundles
  prep new titanic --output pipelines
  prep plan -c lost-luggage --pipelines pipelines --source bundles

Writes DIR/ID/pipeline.yaml: tables with their columns and types, files by pattern, a guess of what identifies a row and what \
is to be predicted, a split, checks, a metric. It loads and runs as it is. Only CSV and TSV tables are read; without one, \
files are split. A bundle that is not there is listed on Kaggle, and only the first rows of its tables are read.")]
pub struct New {
    /// The competition, as Kaggle calls it in addresses
    #[arg(value_name = "ID")]
    id: String,
    /// Folder with bundles: DIR/ID.zip or DIR/ID/ID.zip; the data folder is searched next
    #[arg(long, value_name = "DIR")]
    source: Option<PathBuf>,
    /// Folder of pipelines to write to [default: that of --pipelines, else `pipelines`]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Look only at bundles that are there
    #[arg(long)]
    no_download: bool,
}

impl New {
    pub fn call(&self, session: &Session) -> Ended {
        let settings = &session.settings;
        let folder = self.output.clone().or_else(|| settings.pipelines.clone());
        let folder = folder
            .unwrap_or_else(|| PathBuf::from("pipelines"))
            .join(&self.id);
        let path = folder.join("pipeline.yaml");
        if path.exists() {
            let error = Error::request(format!("{} is there already", path.display()));
            return Err(error
                .help("remove it, or name another folder with --output")
                .into());
        }
        let purpose = Purpose::question_unless(self.no_download);
        let network = downloads::network(session, &Limits::default(), purpose);
        let draft = prep_app::draft(settings, self.source.as_deref(), &network, &self.id)?;
        std::fs::create_dir_all(&folder)
            .map_err(|error| Error::writing("make the folder", &folder, &error))?;
        write_whole(&path, |out| out.write_all(draft.text.as_bytes()))?;
        for note in &draft.notes {
            session.printer.message(note.clone());
        }
        if Catalog::embedded().find(&self.id).is_some() {
            let note = format!(
                "the program has a pipeline for `{}`; --pipelines puts this one in its place",
                self.id
            );
            session.printer.message(note);
        }
        if session.printer.json {
            session
                .printer
                .json(&json!({ "id": self.id, "pipeline": path, "bundle": draft.bundle, "notes": draft.notes }))?;
        } else {
            session.printer.result(&format!("{}\n", path.display()))?;
        }
        Ok(Exit::Success)
    }
}
