//! `prep export`: a copy of what is prepared that can be taken elsewhere.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Expand, Export, Form};
use prep_core::units;

use crate::exit::Exit;
use crate::interrupt;
use crate::options::{ExpandArg, Which};
use crate::session::{Ended, Session};

/// Copy what is prepared of a competition, to take it elsewhere: plain files or a tar archive, with a manifest
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep export spaceship-titanic for-agents
  prep export spaceship-titanic grader.tar --private
  prep export aerial-cactus-identification cactus --expand-archives=instead

The copy has the layout of a data folder, TARGET/ID/prepared/public, with relative paths only; its files share \
nothing with the store and may be written. Private files are left out unless --private is given. TARGET/ID/manifest.json \
lists the files with sizes and MD5s; TARGET/ID/croissant.json describes the public ones to programs (MLCommons' Croissant). \
A target whose name ends in .tar is an archive; equal contents give equal bytes.")]
pub struct ExportArgs {
    /// The competition
    #[arg(value_name = "ID")]
    id: String,
    /// Folder or .tar to make; it must not be there
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// Also copy the answers and whatever else is private
    #[arg(long)]
    private: bool,
    /// Unpack zip, tar and 7z archives in `public`: train.zip as train/
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "beside")]
    expand_archives: Option<ExpandArg>,
    #[command(flatten)]
    which: Which,
}

impl ExportArgs {
    pub fn call(&self, session: &Session) -> Ended {
        let wanted = Export {
            form: Form::of(&self.target)?,
            private: self.private,
            expand: self.expand_archives.map(Expand::from),
            target: self.target.clone(),
        };
        let catalog = session.catalog()?;
        let settings = self.which.settings(session);
        let (_watching, cancel) = interrupt::watched(&session.printer)?;
        let exported = prep_app::export(&catalog, &settings, &self.id, &wanted, &cancel)?;
        if session.printer.json {
            session.printer.json(&exported)?;
        } else {
            session.printer.result(&format!(
                "{}: {}, {}\n",
                self.target.display(),
                units::count(exported.files.len() as u64, "file"),
                units::bytes(exported.bytes)
            ))?;
        }
        Ok(Exit::Success)
    }
}
