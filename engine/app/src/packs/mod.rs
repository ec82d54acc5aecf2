//! Packs. A pack is a directory with a `pack.yaml` and competitions, which a user adds to the built-in competitions.
//!
//! ```text
//! PACKS/NAME/pack.yaml            name, version, sets and dates of competitions
//! PACKS/NAME/pack.lock            the digests that the pack's author published (see `check`)
//! PACKS/NAME/ID/pipeline.yaml     and description.md, leaderboard.csv, checksums.json
//! ```
//!
//! Adding a pack runs none of its pipelines. Because other people wrote the pack, its files are checked when it is added and
//! when it is read.
//!
//! A damaged pack is reported only when it is used, so it does not affect other competitions.

pub(crate) mod add;
pub(crate) mod check;
pub(crate) mod lock;

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use prep_core::{Failure, Quoted, Remedy};
use prep_spec::model::SourceLocation;
use prep_spec::{BASE_VARIANT, BUILT_IN_PACK, CompetitionId, Pack, nearest, read_pack};
use rustix::fs::{Mode, OFlags};

use crate::catalog::{CatalogEntry, PIPELINE_FILE};
use crate::error::Error;
use crate::grading;
use crate::settings::Settings;

/// The file that describes a pack.
pub const PACK_FILE: &str = "pack.yaml";

/// Maximum size of a file of a pack, in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 16 << 20;

/// The help of an error that only the author of a pack can correct.
pub(crate) const CORRECT: &str = "correct the pack, or get a correct one from its author";

/// A pack in the directory of packs.
#[derive(Debug, Clone)]
pub struct InstalledPack {
    pub name: String,
    pub directory: PathBuf,
    /// The content of `pack.yaml`, or the reason why the pack cannot be used.
    pub pack: Result<Arc<Pack>, Error>,
}

/// Returns the packs in the directory of packs, sorted by name.
///
/// # Errors
/// Returns an error if the directory exists and cannot be read.
pub fn installed_packs(settings: &Settings) -> Result<Vec<InstalledPack>, Error> {
    let Some(root) = &settings.packs else {
        return Ok(Vec::new());
    };
    let failed =
        |error: std::io::Error| Error::reading("read the directory of packs", root, &error);
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut packs = Vec::new();
    for entry in entries {
        let directory = entry.map_err(failed)?.path();
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || !directory.is_dir() {
            continue;
        }
        let name = name.into_owned();
        let pack = PackFiles::new(&directory, &directory.display().to_string()).read();
        let pack = pack.and_then(|pack| match pack.name == name {
            true => Ok(Arc::new(pack)),
            false => {
                let message = format!("{} has the name `{}`", directory.display(), pack.name);
                Err(Error::new(Failure::Pipeline, message).help("add the pack again"))
            }
        });
        packs.push(InstalledPack {
            pack,
            directory,
            name,
        });
    }
    packs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packs)
}

/// Returns the error that the pack `name` is not one of the installed packs `packs`.
pub(crate) fn no_pack(name: &str, packs: &[InstalledPack]) -> Error {
    if name == BUILT_IN_PACK {
        let message =
            format!("the pack `{name}` is built in, so it can be neither removed nor checked");
        return Error::request(message).help("name an installed pack");
    }
    let error = Error::request(format!("there is no pack {}", Quoted(name)));
    // The name may be the path of a directory that contains the pack.
    let last = name.trim_end_matches('/').rsplit('/').next();
    let names = packs.iter().map(|pack| pack.name.as_str());
    match nearest(last.unwrap_or_default(), names) {
        None => error.help(Remedy::AddPack),
        near => error.suggest(near),
    }
}

/// The files of a pack in a directory.
pub(crate) struct PackFiles<'a> {
    directory: &'a Path,
    /// The directory or archive that messages name.
    label: String,
}

impl<'a> PackFiles<'a> {
    pub(crate) fn new(directory: &'a Path, label: &str) -> PackFiles<'a> {
        let label = label.to_owned();
        PackFiles { directory, label }
    }

    fn shown(&self, path: &str) -> String {
        format!("{}/{path}", self.label.trim_end_matches('/'))
    }

    pub(crate) fn read(&self) -> Result<Pack, Error> {
        let shown = self.shown(PACK_FILE);
        let text = read_text(&self.directory.join(PACK_FILE));
        let text = text.map_err(|error| {
            let help = format!("name the directory or archive that contains {PACK_FILE}");
            Error::reading("read", Path::new(&shown), &error).help(help)
        })?;
        Ok(read_pack(&shown, &text)?)
    }

    pub(crate) fn entries(&self, pack: &Arc<Pack>) -> Result<Vec<CatalogEntry>, Error> {
        let entries = pack.competitions.keys().map(|name| {
            let id = format!("{}/{name}", pack.name).parse::<CompetitionId>();
            let id = id.map_err(|reason| Error::new(Failure::Pipeline, reason))?;
            let directory = self.directory.join(name);
            let shown = self.shown(&format!("{name}/{PIPELINE_FILE}"));
            let shown = Path::new(&shown);
            let text = read_text(&directory.join(PIPELINE_FILE));
            let text =
                text.map_err(|error| Error::reading_pipeline(shown, &error).help(CORRECT))?;
            let entry =
                CatalogEntry::entry_of_directory(id.to_string(), shown, &directory, text.into())?;
            Ok(CatalogEntry {
                pack: Some(Arc::clone(pack)),
                ..entry
            })
        });
        entries.collect()
    }

    /// Parses all pipelines without planning their queries, and all leaderboards. Fails if the directory of a source is
    /// outside the pack.
    pub(crate) fn check_pipelines(&self, entries: &[CatalogEntry]) -> Result<(), Error> {
        for entry in entries {
            let (vocabulary, text) = (prep_steps::vocabulary(), entry.pipeline()?);
            let parsed = prep_spec::read(vocabulary, &entry.id, &entry.file_name, text);
            for source in parsed
                .readings()
                .iter()
                .flat_map(|one| &one.pipeline.sources)
            {
                if let SourceLocation::Folder(folder) = &source.place {
                    inner_directory(entry, &source.name.value, folder)?;
                }
            }
            let pipeline = parsed.finish(BASE_VARIANT)?;
            grading::parse_leaderboard(entry, grading::direction(&pipeline))?;
            entry.check_checksums(&pipeline)?;
        }
        Ok(())
    }
}

/// Returns the path of `folder`, the directory of the source named `source`. `folder` is relative to the directory
/// of the pipeline.
///
/// Fails if the path leads out of the pack. Checks only the components of the path, because a pack contains no links.
pub(crate) fn inner_directory(
    entry: &CatalogEntry,
    source: &str,
    folder: &str,
) -> Result<PathBuf, Error> {
    // The depth below the pack's directory. The directory of the pipeline has depth 1.
    let depth = Path::new(folder)
        .components()
        .try_fold(1u32, |depth, part| match part {
            Component::Normal(_) => Some(depth + 1),
            Component::CurDir => Some(depth),
            Component::ParentDir => depth.checked_sub(1),
            Component::RootDir | Component::Prefix(_) => None,
        });
    match (depth, &entry.directory) {
        (Some(_), Some(home)) => Ok(home.join(folder)),
        _ => {
            let message = format!(
                "{}: the source `{source}` is the directory {}, which is not inside the pack",
                entry.file_name,
                Quoted(folder)
            );
            Err(Error::new(Failure::Pipeline, message)
                .help("put the files into the pack, or use a URL with a digest"))
        }
    }
}

/// Reads a text file. Does not follow a link, and does not wait for the writer of a pipe.
pub(crate) fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    open_file(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    match text.len() as u64 > MAX_FILE_BYTES {
        true => Err(std::io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {MAX_FILE_BYTES} bytes"),
        )),
        false => Ok(text),
    }
}

/// Opens a regular file that is not a link.
pub(crate) fn open_file(path: &Path) -> std::io::Result<fs::File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(std::io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file",
        )),
    }
}
