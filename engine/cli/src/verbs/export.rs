//! `prep export`: a copy of what is prepared that can be taken elsewhere.

use std::path::PathBuf;

use clap::Args;
use prep_app::{Catalog, Export, Form};
use prep_core::units;

use crate::exit::Exit;
use crate::{Ended, Session};

/// Copy what is prepared of a competition, to take it elsewhere: plain files or a tar archive, with a manifest
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep export spaceship-titanic for-agents
  prep export spaceship-titanic grader.tar --private

The copy has the layout of a data folder, TARGET/ID/prepared/public, with relative paths only; its files share
nothing with the store and may be written. Private files are left out unless --private is given. TARGET/ID/manifest.json
lists the files with sizes and MD5s. A target whose name ends in .tar is an archive; equal contents give equal bytes.")]
pub struct ExportArgs {
    #[arg(value_name = "ID")]
    id: String,
    /// Folder or .tar to make; it must not be there
    #[arg(value_name = "TARGET")]
    target: PathBuf,
    /// Also copy the answers and whatever else is private
    #[arg(long)]
    private: bool,
}

impl ExportArgs {
    pub fn call(&self, session: &Session) -> Ended {
        Catalog::of(&session.settings)?.get(&self.id)?;
        let is_tar = self.target.extension().is_some_and(|one| one == "tar");
        let wanted = Export {
            form: if is_tar { Form::Tar } else { Form::Folder },
            private: self.private,
            target: self.target.clone(),
        };
        let exported = prep_app::export(&session.settings, &self.id, &wanted)?;
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
