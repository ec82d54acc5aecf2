//! `prep pipeline new`: writes a first pipeline for a new competition.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Catalog, DraftChoices, Error};
use serde_json::json;

use crate::downloads::{self, DownloadLimits, Purpose};
use crate::exit::Exit;
use crate::options::SourceArg;
use crate::output::file::write_atomically;
use crate::session::{CliSession, VerbResult};

/// Write a first pipeline for a bundle
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep pipeline new lost-luggage --source bundles
  prep pipeline new lost-luggage --source bundles --id id --target found --metric roc_auc
  prep pipeline new titanic --output pipelines
  prep plan lost-luggage --pipelines pipelines --source bundles

The command reads the bundle and writes DIR/ID/pipeline.yaml: tables with columns and types, a guess of ids and target, a \
split, checks, a metric. Comments mark the places where you must choose. The file loads and runs as it is. If you do not \
have the bundle, prep asks Kaggle for its listing and for the first rows of its tables.")]
pub struct NewArgs {
    /// The competition, as in its address on Kaggle
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    source: SourceArg,
    /// The column to predict; several times for several columns
    #[arg(long, value_name = "COLUMN")]
    target: Vec<String>,
    /// The column that identifies a row
    #[arg(long = "id", value_name = "COLUMN")]
    id_column: Option<String>,
    /// The metric, such as `roc_auc`
    #[arg(long, value_name = "NAME")]
    metric: Option<String>,
    /// Directory of pipelines [default: --pipelines, or `pipelines`]
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Send no request to Kaggle
    #[arg(long)]
    no_download: bool,
}

impl NewArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let settings = &session.settings;
        let directory = self.output.clone().or_else(|| settings.pipelines.clone());
        let directory = directory
            .unwrap_or_else(|| PathBuf::from("pipelines"))
            .join(&self.id);
        let path = directory.join("pipeline.yaml");
        if path.exists() {
            let error = Error::request(format!("{} already exists", path.display()));
            return Err(error
                .help("remove it, or name another directory with --output")
                .into());
        }
        let purpose = Purpose::request_unless(self.no_download);
        let network = downloads::network(session, &DownloadLimits::default(), purpose);
        let draft = prep_app::draft(
            settings,
            self.source.or_setting(session),
            &network,
            &self.id,
            &DraftChoices {
                id: self.id_column.clone(),
                targets: self.target.clone(),
                metric: self.metric.clone(),
            },
        )?;
        std::fs::create_dir_all(&directory)
            .map_err(|error| Error::writing("make the directory", &directory, &error))?;
        write_atomically(&path, |out| out.write_all(draft.text.as_bytes()))?;
        for note in &draft.notes {
            session.printer.message(note.clone());
        }
        if Catalog::embedded().find(&self.id).is_some() {
            let note = format!(
                "prep has a pipeline for `{}`; --pipelines replaces it with this one",
                self.id
            );
            session.printer.message(note);
        }
        let json = || json!({ "competitions": [{ "id": self.id, "pipeline": path, "bundle": draft.bundle, "notes": draft.notes }] });
        let text = || format!("{}\n", path.display());
        session.printer.show(json, text)?;
        Ok(Exit::Success)
    }
}
