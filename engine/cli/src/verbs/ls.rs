//! `prep ls`: what is in a bundle, without downloading it.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Catalog, Entry, Error, FurtherSource, Options};
use prep_core::{Cancel, units};
use prep_fetch::Members;
use prep_formats::limits;
use prep_formats::zip::{EntryKind, ZipEntry, ZipListing};
use prep_spec::{BASE_VARIANT, Pipeline};
use serde::Serialize;

use crate::downloads::{self, Limits, Purpose};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::table::{Align, Table};
use crate::{Ended, Session};

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

#[derive(Debug, Serialize)]
struct Listing {
    id: String,
    /// The bundle's place; none if it was listed on Kaggle.
    bundle: Option<PathBuf>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    md5: Option<String>,
    /// Bytes that `--partial` downloads; none without a pipeline.
    used_bytes: Option<u64>,
    files: Vec<Row>,
    /// Sources beside the bundle.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sources: Vec<SourceRow>,
}

#[derive(Debug, Serialize)]
struct SourceRow {
    #[serde(flatten)]
    source: FurtherSource,
    /// Length of its file, if that can be told.
    bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct Row {
    path: String,
    bytes: u64,
    compressed_bytes: u64,
    /// Whether the pipeline reads it.
    used: bool,
}

impl Ls {
    pub fn call(&self, session: &Session) -> Ended {
        let catalog = Catalog::of(&session.settings)?;
        let entry = catalog.find(&self.id);
        let pipeline = entry.and_then(|entry| entry.load(BASE_VARIANT).ok());
        let members = match &pipeline {
            Some(pipeline) => Some(Members::new(prep_steps::members(pipeline))?),
            None => None,
        };
        let mut folders: Vec<&Path> = self.source.iter().map(PathBuf::as_path).collect();
        folders.push(&session.settings.data_dir);
        let local = prep_fetch::LocalBundle::new(&self.id, &folders, None);
        let sources = match (entry, &pipeline) {
            (Some(entry), Some(pipeline)) => self.sources(session, entry, pipeline)?,
            _ => Vec::new(),
        };
        let listing = match local.path() {
            Some(path) => self.local(path, members.as_ref())?,
            None => {
                let kaggle = entry.map_or(self.id.clone(), |entry| entry.kaggle());
                let purpose = Purpose::question_unless(self.no_download);
                let network = downloads::network(session, &Limits::default(), purpose);
                let near = catalog.near(&self.id).filter(|_| entry.is_none());
                let network = network
                    .get()
                    .map_err(|cause| CliError::from(local.not_fetched(cause)).suggest(near))?;
                let remote = network.list(&kaggle, &Cancel::default())?;
                Listing {
                    md5: remote.md5,
                    ..self.listing(remote.entries, remote.bytes, members.as_ref())
                }
            }
        };
        let listing = Listing { sources, ..listing };
        if session.printer.json {
            session.printer.json(&listing)?;
        } else {
            session.printer.result(&render(&listing))?;
            session.printer.message(said(&listing));
        }
        Ok(Exit::Success)
    }

    fn sources(
        &self,
        session: &Session,
        entry: &Entry,
        pipeline: &Pipeline,
    ) -> Result<Vec<SourceRow>, CliError> {
        let purpose = Purpose::question_unless(self.no_download);
        let network = downloads::network(session, &Limits::default(), purpose);
        let options = Options {
            source: self.source.clone(),
            ..Options::default()
        };
        let sources = prep_app::sources(entry, pipeline, &session.settings, &options, &network)?;
        let rows = sources.into_iter().map(|source| {
            let bytes = match (&source.path, source.remote()) {
                (Some(path), Some(_)) => path.metadata().map(|file| file.len()).ok(),
                (None, Some((url, file))) => {
                    let length = network.any().map(|network| {
                        let cancel = Cancel::default();
                        network.length(file, url, &cancel).ok()
                    });
                    length.ok().flatten().or(source.published_bytes)
                }
                _ => None,
            };
            SourceRow { source, bytes }
        });
        Ok(rows.collect())
    }

    fn local(&self, path: &Path, members: Option<&Members>) -> Result<Listing, CliError> {
        let failed = |error| Error::reading("read the bundle", path, &error);
        let file = File::open(path).map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        let listing = ZipListing::read(&file, 0..bytes, &limits::Limits::default().budget(bytes))
            .map_err(|error| {
            CliError::new(
                Exit::Input,
                format!("the bundle {}: {error}", path.display()),
            )
        })?;
        Ok(Listing {
            bundle: Some(path.to_path_buf()),
            ..self.listing(listing.entries, bytes, members)
        })
    }

    fn listing(&self, entries: Vec<ZipEntry>, bytes: u64, members: Option<&Members>) -> Listing {
        let used_bytes = members.map(|members| members.bytes(&entries));
        let files = entries.into_iter();
        let files = files.filter(|entry| entry.kind == EntryKind::File);
        let row = |entry: ZipEntry| Row {
            used: members.is_some_and(|members| members.wants(&entry)),
            bytes: entry.size,
            compressed_bytes: entry.compressed_size,
            path: entry.path,
        };
        Listing {
            id: self.id.clone(),
            bundle: None,
            bytes,
            md5: None,
            used_bytes,
            files: files.map(row).collect(),
            sources: Vec::new(),
        }
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

fn render_sources(rows: &[SourceRow]) -> String {
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
