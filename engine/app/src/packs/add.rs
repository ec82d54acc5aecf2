//! Adds and removes packs.
//!
//! A pack is copied into a temporary directory next to its final place, checked there, and then renamed. Therefore another
//! process sees either the complete pack or no pack, and a failed installation leaves no files behind.
//!
//! Only regular files are copied, without their permissions. The readers of `prep_formats` check the paths in archives, and
//! reject links and paths that lead out of the archive's directory.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_cache::Store;
use prep_contents::{ArchiveFormat, ContentsError, entries, listing};
use prep_core::{Cancel, Context, Failure, Quoted, Remedy, Source, units};
use prep_digests::Sha256;
use prep_fetch::{BundleChecksums, LazyNetwork, SearchPath, WebAddress, WebFile};
use prep_spec::{BASE_VARIANT, Pack, nearest};
use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::{CORRECT, MAX_FILE_BYTES, PACK_FILE, PackFiles, installed_packs, no_pack, open_file};
use crate::catalog::{Catalog, CatalogEntry, PIPELINE_FILE};
use crate::error::{Error, failure_of};
use crate::export::TemporaryCopy;
use crate::settings::Settings;
use crate::stages::load::Loader;

/// Maximum size of each YAML file of a pack, in bytes: of `pack.yaml` and of the pipelines.
const MAX_YAML_BYTES: u64 = 1 << 20;

/// Maximum total size of the files of a pack, in bytes.
const MAX_PACK_BYTES: u64 = 256 << 20;

/// Maximum number of files and directories of a pack.
const MAX_PATHS: usize = 20_000;

/// Maximum depth of a file in a pack: the number of directories above it.
const MAX_DEPTH: usize = 8;

/// The directory, archive or URL from which a pack is added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PackOrigin {
    /// A directory or an archive. `sha256` is the SHA-256 that the archive must have. `None` if any content is
    /// accepted.
    Path {
        path: PathBuf,
        sha256: Option<Sha256>,
    },
    /// An archive at a URL, with the SHA-256 that it must have.
    Url { url: String, sha256: Sha256 },
}

impl PackOrigin {
    /// Parses `DIR`, `ARCHIVE`, `ARCHIVE@sha256:DIGEST` or `URL@sha256:DIGEST`.
    ///
    /// # Errors
    /// Returns an error if a URL has no digest, or if the digest is not 64 hexadecimal digits.
    pub fn parse(text: &str) -> Result<PackOrigin, Error> {
        let is_url = text.starts_with("https://") || text.starts_with("http://");
        let divided = match is_url {
            true => text.rsplit_once('@'),
            false => text.rsplit_once("@sha256:"),
        };
        let Some((place, digest)) = divided.or(is_url.then_some((text, ""))) else {
            let (path, sha256) = (text.into(), None);
            return Ok(PackOrigin::Path { path, sha256 });
        };
        let digest = digest.strip_prefix("sha256:").unwrap_or(digest);
        let Ok(sha256) = digest.to_lowercase().parse::<Sha256>() else {
            let message = match is_url {
                true => "the URL of a pack needs the SHA-256 of the archive",
                false => "a SHA-256 has 64 hexadecimal digits",
            };
            let help =
                "write URL@sha256:DIGEST or FILE@sha256:DIGEST; `sha256sum FILE` prints the digest";
            return Err(Error::request(message).help(help));
        };
        Ok(match is_url {
            true => PackOrigin::Url {
                url: place.to_owned(),
                sha256,
            },
            false => PackOrigin::Path {
                path: place.into(),
                sha256: Some(sha256),
            },
        })
    }
}

/// Adds a pack to the directory of packs. Runs none of the pack's pipelines. If `replaces`, replaces an installed pack of
/// this name.
///
/// # Errors
/// Returns an error if the pack, one of its queries or its name is not valid, if a pack of this name is installed and
/// not replaced, or if a file cannot be copied. After an error, the directory of packs is unchanged.
pub fn add_pack(
    settings: &Settings,
    origin: &PackOrigin,
    replaces: bool,
    network: &LazyNetwork,
    cancel: &Cancel,
) -> Result<Arc<Pack>, Error> {
    let check_queries = |entries: &[CatalogEntry]| {
        let mut entries = entries.iter();
        entries.try_for_each(|entry| {
            let loaded = Loader::without_notes().load(entry, BASE_VARIANT);
            loaded.map(|_| ())
        })
    };
    install(
        settings,
        origin,
        replaces,
        (network, cancel),
        &check_queries,
    )
}

/// Adds a pack. `check` checks its pipelines further, in addition to [`PackFiles::check_pipelines`].
fn install(
    settings: &Settings,
    origin: &PackOrigin,
    replaces: bool,
    (network, cancel): (&LazyNetwork, &Cancel),
    check: &dyn Fn(&[CatalogEntry]) -> Result<(), Error>,
) -> Result<Arc<Pack>, Error> {
    let root = root(settings)?;
    fs::create_dir_all(root).map_err(|error| Error::writing("create", root, &error))?;
    let failed = |error: io::Error| Error::writing("write", root, &error);
    let draft = TemporaryCopy::new(root).map_err(failed)?;
    let mut staging = Staging {
        root: draft.join("files"),
        ..Staging::default()
    };
    fs::create_dir(&staging.root).map_err(failed)?;
    let label = match origin {
        PackOrigin::Path { path, .. } => path.display().to_string(),
        PackOrigin::Url { url, .. } => url.clone(),
    };
    match origin {
        PackOrigin::Path { path, sha256: None } if path.is_dir() => {
            staging.copy(&label, |visit| {
                listing::walk(path, &mut |path, place, _| {
                    let file = open_file(place).map_err(ContentsError::system_error(place));
                    visit(path, &mut file?)
                })
            })?
        }
        PackOrigin::Path { path, sha256 } => {
            if let Some(sha256) = sha256 {
                check_digest(path, sha256)?;
            }
            staging.unpack(path, settings)?;
        }
        PackOrigin::Url { url, sha256 } => {
            let sha256 = sha256.to_string();
            let path = download(settings, (url, &sha256), &draft, network, cancel)?;
            staging.unpack(&path, settings)?;
        }
    }
    let home = staging.home();
    let files = PackFiles::new(&home, &label);
    let pack = Arc::new(files.read()?);
    staging.check_directories(&home, &pack)?;
    let entries = files.entries(&pack)?;
    check_name(settings, &pack.name)?;
    files.check_pipelines(&entries)?;
    check(&entries)?;
    let target = root.join(&pack.name);
    let is_taken = |error: &io::Error| {
        matches!(
            error.kind(),
            ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists
        )
    };
    let placed = match fs::rename(&home, &target) {
        Err(error) if replaces && is_taken(&error) => {
            replace(&home, &target, &draft.join("replaced"))
        }
        placed => placed,
    };
    placed.map_err(|error| match is_taken(&error) {
        true => Error::request(format!("the pack `{}` is already installed", pack.name))
            .help(Remedy::ReplacePack),
        false => Error::writing("create", &target, &error),
    })?;
    Ok(pack)
}

/// Moves the directory `new` to `target`. Afterwards, the directory that was at `target` is at `new` or `old`.
fn replace(new: &Path, target: &Path, old: &Path) -> io::Result<()> {
    // During an exchange, other processes see either the old or the new pack. Some file systems cannot exchange
    // directories. Two renames then replace the pack.
    if renameat_with(CWD, new, CWD, target, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    fs::rename(target, old)?;
    fs::rename(new, target).inspect_err(|_| {
        let _ = fs::rename(old, target);
    })
}

/// Adds a pack to a new directory of packs, without a check of its queries. Returns the pack, settings that name this
/// directory, and a guard that removes the directory when it is dropped.
///
/// # Errors
/// See [`add_pack`].
pub fn add_pack_temporarily(
    settings: &Settings,
    origin: &PackOrigin,
    network: &LazyNetwork,
    cancel: &Cancel,
) -> Result<(Arc<Pack>, Settings, TemporaryCopy), Error> {
    let parent = settings.temp_dir();
    let failed = |error: io::Error| Error::writing("create a directory in", &parent, &error);
    fs::create_dir_all(&parent).map_err(failed)?;
    let home = TemporaryCopy::new(&parent).map_err(failed)?;
    let settings = Settings {
        packs: Some(home.join("packs")),
        ..settings.clone()
    };
    let pack = install(&settings, origin, false, (network, cancel), &|_| Ok(()))?;
    Ok((pack, settings, home))
}

/// Compares an archive with the SHA-256 that it must have.
fn check_digest(path: &Path, expected: &Sha256) -> Result<(), Error> {
    let read = prep_digests::digest_of_file(path);
    let (found, _) = read.map_err(|error| Error::reading("read", path, &error))?;
    if found == *expected {
        return Ok(());
    }
    let message = format!(
        "{} has the SHA-256 {found}, expected {expected}",
        path.display()
    );
    Err(Error::new(Failure::Check, message).help("download the archive again"))
}

/// Removes a pack from the directory of packs. Prepared data stay.
///
/// # Errors
/// Returns an error if there is no such pack, or if it cannot be removed.
pub fn remove_pack(settings: &Settings, name: &str) -> Result<(), Error> {
    let root = root(settings)?;
    let packs = installed_packs(settings)?;
    let Some(found) = packs.iter().find(|pack| pack.name == name) else {
        return Err(no_pack(name, &packs));
    };
    let failed = |error: io::Error| Error::writing("remove", &found.directory, &error);
    // After the rename, no process sees a part of the pack. Dropping `draft` removes it.
    let draft = TemporaryCopy::new(root).map_err(failed)?;
    fs::rename(&found.directory, draft.join("removed")).map_err(failed)
}

fn root(settings: &Settings) -> Result<&Path, Error> {
    let root = settings.packs.as_deref();
    root.ok_or_else(|| Error::request("the directory of packs is not set"))
}

/// Checks that no competition outside of packs has the pack's name. Otherwise the pack and this competition would use the
/// same data directory.
fn check_name(settings: &Settings, name: &str) -> Result<(), Error> {
    let without_packs = Settings {
        packs: None,
        ..settings.clone()
    };
    let catalog = Catalog::open(&without_packs)?;
    match catalog
        .iter()
        .find(|entry| entry.id.eq_ignore_ascii_case(name))
    {
        Some(entry) => {
            let message = format!(
                "the pack `{name}` has the name of the competition `{}`",
                entry.id
            );
            Err(Error::request(message).help(format!("change `name` in {PACK_FILE}")))
        }
        None => Ok(()),
    }
}

/// Downloads an archive, and checks its SHA-256. Returns its path.
fn download(
    settings: &Settings,
    (url, sha256): (&str, &str),
    draft: &TemporaryCopy,
    network: &LazyNetwork,
    cancel: &Cancel,
) -> Result<PathBuf, Error> {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let format = ArchiveFormat::split_path(&path.to_lowercase()).map(|_| path);
    let file = format.and_then(|path| path.rsplit('/').next());
    let file = file.ok_or_else(|| not_an_archive(url))?;
    let data = draft.join("download");
    let search = SearchPath {
        id: "pack",
        directories: &[],
        data: &data,
    };
    let address = WebAddress {
        source: "pack",
        file,
        url,
        member: None,
    };
    let sums = BundleChecksums {
        md5: None,
        sha256: Some(sha256.to_owned()),
    };
    let source = WebFile::new(address, search, sums, true, network.clone())?;
    let store = Store::open(&draft.join("cache"))?;
    let context = Context::new(store, settings.limits(), cancel.clone());
    source.run(&context)?;
    let missing = || {
        Error::new(
            Failure::Internal,
            "the archive is missing after the download",
        )
    };
    source.location().ok_or_else(missing)
}

/// Returns the error that a path does not exist. It suggests a directory or archive with a similar name.
fn no_such_path(path: &Path) -> Error {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let parent = path.parent().filter(|parent| *parent != Path::new(""));
    let siblings = fs::read_dir(parent.unwrap_or(Path::new(".")));
    let siblings = siblings.into_iter().flatten().flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        entry.path().is_dir() || ArchiveFormat::split_path(&name).is_some()
    });
    let siblings = siblings.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let siblings: Vec<String> = siblings.collect();
    let near = nearest(&name, siblings.iter().map(String::as_str));
    let near = near.map(|near| path.with_file_name(near).display().to_string());
    let message = format!("{} does not exist", Quoted(&path.display().to_string()));
    let error = Error::new(Failure::Input, message);
    match near {
        None => error.help(NAME_ARCHIVE),
        near => error.suggest(near.as_deref()),
    }
}

const NAME_ARCHIVE: &str = "name a directory, or a .zip, .tar, .tar.gz, .tgz or .7z file";

fn not_an_archive(name: &str) -> Error {
    let message = format!("{} is neither a directory nor an archive", Quoted(name));
    Error::new(Failure::Input, message).help(NAME_ARCHIVE)
}

/// A function that receives the path and the content of each file of a pack.
type Visit<'a> = &'a mut dyn FnMut(&str, &mut dyn Read) -> Result<(), ContentsError>;

/// The copied files of a pack.
#[derive(Default)]
struct Staging {
    root: PathBuf,
    /// All paths, each with whether it is a directory. The keys are the paths in lower case.
    paths: BTreeMap<String, (String, bool)>,
    bytes: u64,
}

impl Staging {
    /// Copies the members of an archive.
    fn unpack(&mut self, archive: &Path, settings: &Settings) -> Result<(), Error> {
        let shown = archive.display().to_string();
        if !archive.exists() {
            return Err(no_such_path(archive));
        }
        let name = archive.file_name().unwrap_or_default().to_string_lossy();
        let format = ArchiveFormat::split_path(&name.to_lowercase()).map(|(format, _)| format);
        let format = format.ok_or_else(|| not_an_archive(&shown))?;
        let length = open_file(archive).and_then(|file| Ok(file.metadata()?.len()));
        let length = length.map_err(|error| Error::reading("read", archive, &error))?;
        let budget = settings.inspection_limits(1).budget(length);
        self.copy(&shown, |visit| {
            entries::of_archive(format, archive, &shown, &budget, &mut |member, content| {
                visit(member.path, content)
            })
        })
    }

    /// Copies all files that `visit_all` visits. Skips a file if its name, or the name of a directory in its path,
    /// begins with `.`.
    fn copy(
        &mut self,
        shown: &str,
        visit_all: impl FnOnce(Visit<'_>) -> Result<(), ContentsError>,
    ) -> Result<(), Error> {
        let mut failed = None;
        let visited = visit_all(&mut |path, content| {
            if path.split('/').any(|part| part.starts_with('.')) {
                return Ok(());
            }
            self.write(path, content).map_err(|error| {
                let message = failed.insert(error).message.clone();
                ContentsError::Damaged(message)
            })
        });
        let found = match (failed, visited) {
            (Some(error), _) => error,
            (None, Err(error)) => Error::new(failure_of(&error), error.to_string()),
            (None, Ok(())) => return Ok(()),
        };
        Err(Error {
            message: format!("{shown}: {}", found.message),
            help: found.help.or(Some(CORRECT.into())),
            ..found
        })
    }

    /// Writes a file. Records its path, and the paths of the directories that contain it.
    fn write(&mut self, path: &str, content: &mut dyn Read) -> Result<(), Error> {
        for (place, _) in path.match_indices('/') {
            self.record_path(path.get(..place).unwrap_or_default(), true)?;
        }
        self.record_path(path, false)?;
        let target = self.root.join(path);
        let failed = |error: io::Error| Error::writing("write", &target, &error);
        fs::create_dir_all(target.parent().unwrap_or(&self.root)).map_err(failed)?;
        // The limit of YAML files is lower, because a parser needs many times the memory of the text.
        let limit = if path.ends_with(".yaml") {
            MAX_YAML_BYTES
        } else {
            MAX_FILE_BYTES
        };
        let left = limit.min(MAX_PACK_BYTES.saturating_sub(self.bytes));
        let mut out = fs::File::create_new(&target).map_err(failed)?;
        let copied = io::copy(&mut content.take(left + 1), &mut out);
        let copied = copied.map_err(|error| {
            let cause = ContentsError::from(error);
            Error::new(failure_of(&cause), format!("{}: {cause}", Quoted(path)))
        })?;
        if copied > left {
            let message = match left == limit {
                true => format!("{} has more than {}", Quoted(path), units::bytes(limit)),
                false => format!("the pack has more than {}", units::bytes(MAX_PACK_BYTES)),
            };
            return Err(Error::new(Failure::Input, message).help(
                "publish large files on a server, and name their URLs in `sources` of the pipeline",
            ));
        }
        self.bytes += copied;
        Ok(())
    }

    /// Records a path of the pack. Rejects a path that differs from a recorded one only in case, because some file systems
    /// ignore case.
    fn record_path(&mut self, path: &str, is_directory: bool) -> Result<(), Error> {
        let refused = |message: String| Err(Error::new(Failure::Input, message));
        let new = (path.to_owned(), is_directory);
        let is_deep = path.matches('/').count() > MAX_DEPTH;
        match self.paths.get(&path.to_lowercase()) {
            _ if is_deep => refused(format!(
                "{} is nested more than {MAX_DEPTH} directories deep",
                Quoted(path)
            )),
            None if self.paths.len() >= MAX_PATHS => refused(format!(
                "the pack has more than {MAX_PATHS} files and directories"
            )),
            Some(before) if *before == new && is_directory => Ok(()),
            Some((before, _)) => refused(format!(
                "the paths {} and {} are the same on a system that ignores case",
                Quoted(before),
                Quoted(path)
            )),
            None => {
                self.paths.insert(path.to_lowercase(), new);
                Ok(())
            }
        }
    }

    /// Returns the directory with `pack.yaml`. If there is only one entry at the top and it is a directory, returns
    /// this directory. Otherwise returns the root.
    fn home(&self) -> PathBuf {
        let mut tops = self.paths.values().filter(|(path, _)| !path.contains('/'));
        match (tops.next(), tops.next()) {
            (Some((only, true)), None) => self.root.join(only),
            _ => self.root.clone(),
        }
    }

    /// Checks that `pack.yaml` names each directory that has a pipeline.
    fn check_directories(&self, home: &Path, pack: &Pack) -> Result<(), Error> {
        for (path, _) in self.paths.values() {
            let path = self.root.join(path);
            let inner = path
                .strip_prefix(home)
                .ok()
                .filter(|path| path.ends_with(PIPELINE_FILE));
            let name = inner.and_then(Path::parent).and_then(Path::to_str);
            if let Some(name) = name.filter(|name| !pack.competitions.contains_key(*name)) {
                let message = format!("{PACK_FILE} does not name the competition {}", Quoted(name));
                let error = Error::new(Failure::Pipeline, message);
                let known = pack.competitions.keys().map(String::as_str);
                return Err(match nearest(name, known) {
                    Some(near) => error.suggest(Some(near)),
                    None => error.help("add it to `competitions`"),
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_needs_a_digest() {
        let digest = "0123456789abcdef".repeat(4);
        let url = "https://a.org/p.zip";
        for text in [format!("{url}@sha256:{digest}"), format!("{url}@{digest}")] {
            let expected = PackOrigin::Url {
                url: url.to_owned(),
                sha256: digest.parse().unwrap(),
            };
            assert_eq!(PackOrigin::parse(&text).unwrap(), expected);
        }
        for text in [
            url.to_owned(),
            format!("{url}@sha256:12"),
            format!("{url}@md5:{digest}"),
        ] {
            assert!(PackOrigin::parse(&text).is_err(), "{text}");
        }
        let path = PackOrigin::parse("a@b").unwrap();
        let plain = |path: &str, sha256| PackOrigin::Path {
            path: path.into(),
            sha256,
        };
        assert_eq!(path, plain("a@b", None));
        let path = PackOrigin::parse(&format!("a.zip@sha256:{}", "0a".repeat(32))).unwrap();
        assert_eq!(path, plain("a.zip", Some(Sha256::from_bytes([10; 32]))));
        assert!(PackOrigin::parse("a.zip@sha256:0a").is_err());
    }
}
