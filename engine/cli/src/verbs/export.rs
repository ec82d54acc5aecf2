//! `prep export`: copies a prepared competition, for use on other machines or in containers.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prep_app::{Catalog, Export, ExportForm, HarborExport, Recipient};
use prep_core::units;
use prep_spec::PackLayout;
use serde_json::{Map, Value, json};

use crate::error::{CliError, Exit};
use crate::options::{ExpandArgs, VariantArg};
use crate::process;
use crate::session::{CliSession, VerbResult};

/// Copy prepared data to a directory or tar file, or as tasks
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep export spaceship-titanic -o for-agents
  prep export spaceship-titanic -o grader.tar --private
  prep export aerial-cactus-identification -o cactus --expand-archives=instead
  prep export mle-dojo/DontGetKicked -o competitions --private --layout dojo
  prep export --layout harbor --for age1... spaceship-titanic AI4Code -o tasks

The copy has the layout of a data directory, TARGET/ID/prepared/public. Its files are writable and share no disk space \
with the cache. TARGET/ID/manifest.json lists the files with sizes and MD5s; TARGET/ID/croissant.json describes the \
public files in the Croissant format of MLCommons. With --private, `prep --data-dir TARGET grade` can grade with the copy. If TARGET ends in .tar, the copy is an archive; equal contents give \
equal bytes.

With --layout dojo, the copy has TARGET/ID/data/{public,private} and TARGET/ID/info, as MLE-Dojo reads them. With --layout \
harbor, TARGET contains a Harbor task per competition, and dataset.toml. The answers are only in the verifier's part; with \
--for, or if the competition is sealed, they are encrypted.")]
pub struct ExportArgs {
    /// The competition; several with --layout harbor
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Layout of the copy [default: that of the pack, or mle-bench]
    #[arg(long, value_name = "NAME", value_enum)]
    layout: Option<Layout>,
    /// Directory or .tar file; it must not exist
    #[arg(long, short, value_name = "TARGET")]
    output: PathBuf,
    /// Also copy the private files, such as the answers
    #[arg(long)]
    private: bool,
    /// Harbor: seal the answers for this public key (age1...); can be repeated
    #[arg(long = "for", alias = "recipient", value_name = "KEY")]
    recipients: Vec<Recipient>,
    /// Harbor: mount the public files from the data directory instead of copying them
    #[arg(long)]
    mount_public: bool,
    #[command(flatten)]
    expand: ExpandArgs,
    #[command(flatten)]
    variant: VariantArg,
}

/// The layout of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Layout {
    /// A data directory
    MleBench,
    /// Directories of MLE-Dojo
    Dojo,
    /// Tasks for Harbor (harborframework.com)
    Harbor,
}

impl ExportArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let layout = match self.layout {
            Some(Layout::Harbor) => return self.harbor(session, &catalog, &self.ids),
            Some(Layout::MleBench) => Some(PackLayout::MleBench),
            Some(Layout::Dojo) => Some(PackLayout::Dojo),
            None => None,
        };
        match self.ids.as_slice() {
            _ if !self.recipients.is_empty() || self.mount_public => Err(CliError::usage(
                "--for and --mount-public need --layout harbor",
            )),
            [id] => self.data(session, &catalog, id, layout),
            _ => {
                Err(CliError::usage("a copy contains one competition")
                    .help("export one id at a time"))
            }
        }
    }

    fn harbor(&self, session: &CliSession, catalog: &Catalog, ids: &[String]) -> VerbResult {
        let program = std::env::current_exe().map_err(|error| {
            CliError::new(Exit::Machine, format!("cannot find this program: {error}"))
        })?;
        let wanted = HarborExport {
            target: self.output.clone(),
            program,
            mounts_public: self.mount_public,
            recipients: self.recipients.clone(),
            expand: self.expand.expand_archives.unwrap_or_default(),
        };
        let settings = self.variant.settings(session);
        let (_watching, cancel) = process::watched(&session.printer)?;
        let tasks = prep_app::export_harbor(catalog, &settings, ids, &wanted, &cancel)?;
        let count = units::count(tasks.len() as u64, "task");
        let text = || format!("{}: {count}\n", self.output.display());
        session
            .printer
            .show(|| json!({ "competitions": tasks }), text)?;
        let plain = tasks.iter().filter(|task| !task.sealed);
        let plain: Vec<&str> = plain.map(|task| task.id.as_str()).collect();
        if !plain.is_empty() {
            session.printer.warning(format!(
                "the answers of {} in `tests` are not encrypted; --for seals them",
                plain.join(", ")
            ));
        }
        Ok(Exit::Success)
    }

    fn data(
        &self,
        session: &CliSession,
        catalog: &Catalog,
        id: &str,
        layout: Option<PackLayout>,
    ) -> VerbResult {
        let wanted = Export {
            form: ExportForm::from_target(&self.output)?,
            private: self.private,
            layout,
            expand: self.expand.expand_archives.unwrap_or_default(),
            target: self.output.clone(),
        };
        let settings = self.variant.settings(session);
        let (_watching, cancel) = process::watched(&session.printer)?;
        let exported = prep_app::export(catalog, &settings, id, &wanted, &cancel)?;
        let json = || {
            let mut copy = Map::from_iter([("id".to_owned(), json!(exported.competition))]);
            if let Value::Object(mut members) = json!(exported) {
                members.remove("competition");
                copy.extend(members);
            }
            json!({ "competitions": [copy] })
        };
        let text = || {
            format!(
                "{}: {}, {}\n",
                self.output.display(),
                units::count(exported.files.len() as u64, "file"),
                units::bytes(exported.bytes)
            )
        };
        session.printer.show(json, text)?;
        if let Some(paths) = &exported.unpublished {
            session.printer.warning(format!(
                "{id}: files that `prep` did not publish were not copied: {paths}"
            ));
        }
        Ok(Exit::Success)
    }
}
