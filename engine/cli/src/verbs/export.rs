//! `prep export`: copies a prepared competition, for use on other machines or in containers.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Export, ExportForm};
use prep_core::units;
use prep_spec::PackLayout;
use serde_json::{Map, Value, json};

use crate::error::Exit;
use crate::options::{ExpandArgs, VariantArg};
use crate::process;
use crate::session::{CliSession, VerbResult};

/// Copy a prepared competition to a directory or tar file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep export spaceship-titanic -o for-agents
  prep export spaceship-titanic -o grader.tar --private
  prep export aerial-cactus-identification -o cactus --expand-archives=instead
  prep export mle-dojo/DontGetKicked -o competitions --private --layout dojo

The copy has the layout of a data directory, TARGET/ID/prepared/public. Its files are writable and share no disk space \
with the cache. TARGET/ID/manifest.json lists the files with sizes and MD5s; TARGET/ID/croissant.json describes the \
public files in the Croissant format of MLCommons. If TARGET ends in .tar, the copy is an archive; equal contents give \
equal bytes. With the layout dojo, the copy has TARGET/ID/data/{public,private} and TARGET/ID/info, as MLE-Dojo reads \
them.")]
pub struct ExportArgs {
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    /// Directory or .tar file; it must not exist
    #[arg(long, short, value_name = "TARGET")]
    output: PathBuf,
    /// Also copy the private files, such as the answers
    #[arg(long)]
    private: bool,
    /// Layout of the files: mle-bench or dojo [default: that of the pack, or mle-bench]
    #[arg(long, value_name = "LAYOUT")]
    layout: Option<PackLayout>,
    #[command(flatten)]
    expand: ExpandArgs,
    #[command(flatten)]
    variant: VariantArg,
}

impl ExportArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let wanted = Export {
            form: ExportForm::from_target(&self.output)?,
            private: self.private,
            layout: self.layout,
            expand: self.expand.expand_archives.unwrap_or_default(),
            target: self.output.clone(),
        };
        let catalog = session.catalog()?;
        let settings = self.variant.settings(session);
        let (_watching, cancel) = process::watched(&session.printer)?;
        let exported = prep_app::export(&catalog, &settings, &self.id, &wanted, &cancel)?;
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
                "{}: not copied, because `prep` did not publish them: {paths}",
                self.id
            ));
        }
        Ok(Exit::Success)
    }
}
