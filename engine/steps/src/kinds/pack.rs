//! `pack`: outputs as an archive. The same members give the same bytes, on any machine.
//!
//! A member that comes deflated from a zip and goes into a zip keeps its compressed bytes; it is inflated once to be
//! checked, but not deflated again.

use std::io::{Seek, Write};

use prep_core::{Context, FileValue, Inputs, Outputs, Step, StepError};
use prep_formats::sevenz::SevenZWriter;
use prep_formats::tar::TarWriter;
use prep_formats::zip::{MemberInflater, Method, ZipWriter};
use prep_spec::model::ArchiveKind;

use super::one;
use crate::value::{Content, Opener, Tree, TreeEntry};

/// LZMA2 level of 7z archives: images hardly compress, and higher levels take hours.
const SEVEN_ZIP_LEVEL: u32 = 1;

pub(crate) struct Pack {
    pub kind: ArchiveKind,
    /// Where each input goes in the archive; a folder ends in `/`, `./` is the top.
    pub members: Vec<(String, String)>,
}

impl Step for Pack {
    fn kind(&self) -> &'static str {
        "pack"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        let kind = match self.kind {
            ArchiveKind::Zip => "zip",
            ArchiveKind::ZipStored => "zip_stored",
            ArchiveKind::Tar => "tar",
            ArchiveKind::SevenZip => "7z",
        };
        serde_json::json!({ "kind": kind, "members": self.members })
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let mut entries = Vec::new();
        for (name, path) in &self.members {
            let value = crate::value::input(inputs, name)?;
            place(context, value, path, &mut entries)?;
        }
        let tree = Tree::new(entries).map_err(StepError::pipeline)?;
        let bytes = tree
            .entries()
            .iter()
            .filter_map(|entry| entry.content.as_ref())
            .map(Content::bytes)
            .sum();
        context.progress.set_total_bytes(bytes);
        let opener = Opener::new(context);
        let out = context.store.writer()?;
        let out = match self.kind {
            ArchiveKind::Zip => zip(context, &opener, &tree, out, Method::Deflate)?,
            ArchiveKind::ZipStored => zip(context, &opener, &tree, out, Method::Stored)?,
            ArchiveKind::Tar => tar(context, &opener, &tree, out)?,
            ArchiveKind::SevenZip => {
                // The format's first bytes are written last, which an object under way cannot do.
                let mut file =
                    tempfile::tempfile_in(context.temp_dir()).map_err(StepError::machine)?;
                file = sevenz(context, &opener, &tree, file)?;
                file.rewind().map_err(StepError::machine)?;
                let mut out = out;
                std::io::copy(&mut file, &mut out).map_err(StepError::machine)?;
                out
            }
        };
        Ok(one(FileValue::stored(out.commit()?).into_value()))
    }
}

/// Puts an output at `path`: a file, or the files of a tree below it.
pub(crate) fn place(
    context: &Context,
    value: &prep_core::Value,
    path: &str,
    entries: &mut Vec<TreeEntry>,
) -> Result<(), StepError> {
    let path = path.trim_end_matches('/');
    let top = if path == "." { "" } else { path };
    if let Ok(file) = FileValue::of(value) {
        let content = Content::Object {
            digest: file.digest,
            bytes: file.bytes,
        };
        entries.push(TreeEntry {
            path: top.to_owned(),
            content: Some(content),
        });
        return Ok(());
    }
    for entry in Tree::load(context, value)?.entries() {
        let path = match (top, entry.path.as_str()) {
            (top, "") => top.to_owned(),
            ("", inner) => inner.to_owned(),
            (top, inner) => format!("{top}/{inner}"),
        };
        entries.push(TreeEntry {
            path,
            content: entry.content.clone(),
        });
    }
    Ok(())
}

fn zip<W: Write>(
    context: &Context,
    opener: &Opener,
    tree: &Tree,
    out: W,
    method: Method,
) -> Result<W, StepError> {
    let mut writer = ZipWriter::new(out);
    let mut inflater = MemberInflater::default();
    let mut buffer = Vec::new();
    for entry in tree.entries() {
        context.check()?;
        let Some(content) = &entry.content else {
            writer
                .add_directory(&entry.path)
                .map_err(StepError::machine)?;
            continue;
        };
        let opened = opener.open(content)?;
        match opened.member() {
            Some((file, member)) if method == Method::Deflate => {
                opened.read_into(&mut inflater, &mut buffer)?;
                writer
                    .copy_member(&entry.path, file, member)
                    .map_err(StepError::machine)?;
            }
            _ => {
                let reader = opened.reader()?;
                writer
                    .add_file(&entry.path, method, reader)
                    .map_err(StepError::input)?;
            }
        }
        context.progress.add_bytes(content.bytes());
        context.progress.add_file();
    }
    writer.finish().map_err(StepError::machine)
}

fn tar<W: Write>(context: &Context, opener: &Opener, tree: &Tree, out: W) -> Result<W, StepError> {
    let mut writer = TarWriter::new(out);
    for entry in tree.entries() {
        context.check()?;
        let Some(content) = &entry.content else {
            writer
                .add_directory(&entry.path)
                .map_err(StepError::machine)?;
            continue;
        };
        let opened = opener.open(content)?;
        let reader = opened.reader()?;
        writer
            .add_file(&entry.path, content.bytes(), reader)
            .map_err(StepError::input)?;
        context.progress.add_bytes(content.bytes());
    }
    writer.finish().map_err(StepError::machine)
}

fn sevenz<W: Write + Seek>(
    context: &Context,
    opener: &Opener,
    tree: &Tree,
    out: W,
) -> Result<W, StepError> {
    let mut writer = SevenZWriter::new(out, SEVEN_ZIP_LEVEL);
    for entry in tree.entries() {
        context.check()?;
        let Some(content) = &entry.content else {
            writer
                .add_directory(&entry.path)
                .map_err(StepError::machine)?;
            continue;
        };
        let opened = opener.open(content)?;
        writer
            .add_file(&entry.path, opened.reader()?)
            .map_err(StepError::input)?;
        context.progress.add_bytes(content.bytes());
    }
    writer.finish().map_err(StepError::machine)
}
