//! A copy of what is prepared that can be taken elsewhere: plain files or a tar archive, with relative paths and a manifest.
//!
//! Files of the data folder share their bytes with the store and are read-only; those of a copy are on their own. The copy
//! has the layout of a data folder (`ID/prepared/public/...`), so graders and harnesses can be pointed to it. Private files
//! are left out unless they are asked for.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use md5::{Digest as _, Md5};
use prep_core::Failure;
use serde::Serialize;

use crate::error::Error;
use crate::prepared;
use crate::settings::Settings;

/// The name of the manifest, beside `prepared`.
const MANIFEST: &str = "manifest.json";

/// What a copy is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A folder.
    Folder,
    /// A tar archive. Equal contents give equal bytes.
    Tar,
}

/// What is wanted.
#[derive(Debug, Clone)]
pub struct Export {
    pub form: Form,
    /// Whether answers and whatever else is private are part of it.
    pub private: bool,
    /// The folder or archive to make. It must not be there.
    pub target: PathBuf,
}

/// What a copy holds. It is what the manifest says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exported {
    pub competition: String,
    pub variant: String,
    pub private: bool,
    pub bytes: u64,
    pub files: Vec<ExportedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExportedFile {
    /// Below the competition's folder: `prepared/public/train.csv`.
    pub path: String,
    pub bytes: u64,
    pub md5: String,
}

/// Makes a copy. It gets its name when it is complete.
///
/// # Errors
/// When the competition is not prepared, or not completely so; when the target is there, or cannot be written.
pub fn export(settings: &Settings, id: &str, wanted: &Export) -> Result<Exported, Error> {
    let Some(manifest) = prepared::manifest(&settings.data_dir, id)? else {
        return Err(prepared::not_prepared(id));
    };
    let home = settings.data_dir.join(id);
    if !manifest.is_intact(&home.join("prepared")) {
        let message = format!("the prepared data of `{id}` is not complete, or was changed since");
        return Err(
            Error::new(Failure::Input, message).help(format!("`prep run -c {id}` mends it"))
        );
    }
    let target = &wanted.target;
    if fs::symlink_metadata(target).is_ok() {
        let message = format!("{} is there already", target.display());
        return Err(Error::request(message).help("name a folder or file that is not there yet"));
    }
    let mut paths = Vec::new();
    list(&home.join("prepared/public"), "prepared/public", &mut paths)?;
    if wanted.private {
        list(
            &home.join("prepared/private"),
            "prepared/private",
            &mut paths,
        )?;
    }
    paths.sort();
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let failed = |error: io::Error| Error::writing("write", target, &error);
    fs::create_dir_all(parent).map_err(failed)?;
    let draft = tempfile::Builder::new()
        .prefix(".prep-export-")
        .tempdir_in(parent)
        .map_err(failed)?;
    let made = draft.path().join("made");
    let mut exported = Exported {
        competition: id.to_owned(),
        variant: manifest.variant.clone(),
        private: wanted.private,
        bytes: 0,
        files: Vec::with_capacity(paths.len()),
    };
    match wanted.form {
        Form::Folder => folder(&home, id, &paths, &made, &mut exported)?,
        Form::Tar => tar(&home, id, &paths, &made, &mut exported).map_err(failed)?,
    }
    fs::rename(&made, target).map_err(failed)?;
    Ok(exported)
}

/// The files below a folder, as paths below the competition's folder.
fn list(folder: &Path, name: &str, paths: &mut Vec<String>) -> Result<(), Error> {
    let failed = |error: io::Error| Error::reading("read", folder, &error);
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        let Some(own) = entry
            .file_name()
            .to_str()
            .map(|own| format!("{name}/{own}"))
        else {
            let message = format!("{} is no UTF-8", entry.path().display());
            return Err(Error::new(Failure::Input, message));
        };
        if kind.is_dir() {
            list(&entry.path(), &own, paths)?;
        } else if kind.is_file() {
            paths.push(own);
        }
    }
    Ok(())
}

fn folder(
    home: &Path,
    id: &str,
    paths: &[String],
    made: &Path,
    exported: &mut Exported,
) -> Result<(), Error> {
    let root = made.join(id);
    for path in paths {
        let to = root.join(path);
        let failed = |error: io::Error| Error::writing("write", &to, &error);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        let from = home.join(path);
        let mut source =
            File::open(&from).map_err(|error| Error::reading("read", &from, &error))?;
        let mut out = File::create_new(&to).map_err(failed)?;
        let (bytes, md5) = copy(&mut source, &mut out).map_err(failed)?;
        exported.add(path, bytes, md5);
    }
    let path = root.join(MANIFEST);
    fs::write(&path, exported.manifest())
        .map_err(|error| Error::writing("write", &path, &error))?;
    // Temporary folders are private; what is in this one is not.
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(made, open).map_err(|error| Error::writing("write", made, &error))
}

fn tar(
    home: &Path,
    id: &str,
    paths: &[String],
    made: &Path,
    exported: &mut Exported,
) -> io::Result<()> {
    let mut archive = tar::Builder::new(io::BufWriter::with_capacity(
        1 << 20,
        File::create_new(made)?,
    ));
    for path in paths {
        let mut source = Sum {
            inner: File::open(home.join(path))?,
            md5: Md5::new(),
            bytes: 0,
        };
        let length = source.inner.metadata()?.len();
        append(&mut archive, &format!("{id}/{path}"), length, &mut source)?;
        let (bytes, md5) = (source.bytes, hex(source.md5));
        exported.add(path, bytes, md5);
    }
    let text = exported.manifest();
    let name = format!("{id}/{MANIFEST}");
    append(&mut archive, &name, text.len() as u64, &mut text.as_bytes())?;
    archive
        .into_inner()?
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?
        .sync_all()
}

fn append<W: Write>(
    archive: &mut tar::Builder<W>,
    name: &str,
    length: u64,
    content: &mut dyn Read,
) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(length);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    archive.append_data(&mut header, name, content)
}

/// Sums up what is read through it.
struct Sum {
    inner: File,
    md5: Md5,
    bytes: u64,
}

impl Read for Sum {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if let Some(read) = buffer.get(..count) {
            self.md5.update(read);
        }
        self.bytes += count as u64;
        Ok(count)
    }
}

fn copy(from: &mut File, to: &mut File) -> io::Result<(u64, String)> {
    let mut source = Sum {
        inner: from.try_clone()?,
        md5: Md5::new(),
        bytes: 0,
    };
    io::copy(&mut io::BufReader::with_capacity(1 << 20, &mut source), to)?;
    Ok((source.bytes, hex(source.md5)))
}

fn hex(md5: Md5) -> String {
    let sum = md5.finalize();
    sum.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Exported {
    fn add(&mut self, path: &str, bytes: u64, md5: String) {
        self.bytes += bytes;
        self.files.push(ExportedFile {
            path: path.to_owned(),
            bytes,
            md5,
        });
    }

    fn manifest(&self) -> String {
        // Plain values have a form in JSON.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}
