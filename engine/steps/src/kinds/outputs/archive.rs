//! `pack`: writes outputs into an archive. The bytes of the archive depend only on its members.
//!
//! If a member is deflated in its source zip archive, the new zip archive gets a copy of the compressed bytes. The step
//! inflates them for verification, but does not deflate them again.

mod gaps;

use std::io::{Seek, Write};

use prep_cache::Stored;
use prep_core::{Context, FileValue, Step, StepError};
use prep_formats::sevenz::SevenZWriter;
use prep_formats::tar::TarWriter;
use prep_formats::zip::{MemberInflater, ZipMethod, ZipWriter};
use prep_spec::model::Declaration;
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};
use prep_sql::Session;

use self::gaps::{ArchiveOutput, GapBytes, Gaps};
use crate::kinds::{FunctionStep, StepKind};
use crate::value::{
    ContentRef, OpenContent, Opener, OutputLayout, Tree, TreeBuilder, TreeFile, memory_of_trees,
};

/// LZMA2 level of 7z archives. Images hardly compress, and higher levels take hours.
const SEVEN_ZIP_LEVEL: u32 = 1;

pub(crate) const ZIP: StepKind = kind(
    "a zip archive",
    "A zip archive of outputs with deflated members.",
    &[members("zip", "{ train.csv: SELECT * FROM train }")],
    |declaration, _| {
        pack("zip", declaration, |context, tree| {
            store(context, tree, |out| Zip::new(out, ZipMethod::Deflate))
        })
    },
);

pub(crate) const ZIP_STORED: StepKind = kind(
    "a zip archive without compression",
    "A zip archive of outputs with uncompressed members.",
    &[members("zip_stored", "{ ./: { copy: images/ } }")],
    |declaration, _| {
        pack("zip_stored", declaration, |context, tree| {
            store(context, tree, |out| Zip::new(out, ZipMethod::Stored))
        })
    },
);

pub(crate) const TAR: StepKind = kind(
    "a tar archive",
    "A tar archive of outputs.",
    &[members("tar", "{ ./: { copy: images/ } }")],
    |declaration, _| {
        pack("tar", declaration, |context, tree| {
            store(context, tree, TarWriter::new)
        })
    },
);

pub(crate) const SEVEN_ZIP: StepKind = kind(
    "a 7z archive",
    "A 7z archive of outputs.",
    &[members("7z", "{ train.csv: SELECT * FROM train }")],
    |declaration, _| pack("7z", declaration, store_7z),
);

const fn members(word: &'static str, example: &'static str) -> SectionKey {
    SectionKey::required(word, KeyType::Outputs, "The members.", example)
}

const fn kind(
    name: &'static str,
    doc: &'static str,
    keys: &'static [SectionKey],
    step: fn(&Declaration, &Session) -> Option<Box<dyn Step>>,
) -> StepKind {
    StepKind {
        form: KindSpec {
            section: Section { name, doc, keys },
            methods: &[],
            makes: Produces::File(&[]),
            check: None,
        },
        step,
    }
}

/// Creates a step that packs the members that the key `kind` declares.
fn pack(
    kind: &'static str,
    declaration: &Declaration,
    store: fn(&Context, &Tree) -> Result<Stored, StepError>,
) -> Option<Box<dyn Step>> {
    // Inputs are named by their path in the archive. Directories end in `/`, and `./` is the root.
    let members = declaration.outputs(kind).iter();
    let members: Vec<String> = members.map(|member| member.path.value.clone()).collect();
    let params = serde_json::json!({ "kind": kind, "members": members });
    let function = FunctionStep::new("pack", 1, params, move |context, inputs| {
        let mut layout = OutputLayout::default();
        for path in &members {
            let value = crate::value::input(inputs, path)?;
            layout.add(path, |files| add_output(context, value, path, files))?;
        }
        let tree = layout
            .into_tree(false, &context.cancel)
            .map_err(StepError::pipeline)?;
        let (_, bytes) = tree.size();
        context.progress.set_total_bytes(bytes);
        Ok(FileValue::stored(store(context, &tree)?).into_value())
    });
    // Memory for the input trees, the combined tree, and the central directory.
    function
        .memory(|inputs| (96 << 20) + 3 * memory_of_trees(inputs))
        .step()
}

/// Adds an output to `files`: a file with the path `path`, or a tree in the directory `path`. If `path` is `DIR/./`, the
/// files of the tree are added directly to `DIR`.
pub(crate) fn add_output(
    context: &Context,
    value: &prep_core::Value,
    path: &str,
    files: &mut TreeBuilder,
) -> Result<(), StepError> {
    let path = path.trim_end_matches('/');
    let top = match path {
        "." => "",
        path => path.strip_suffix("/.").unwrap_or(path),
    };
    if let Ok(file) = FileValue::from_value(value) {
        files.push(top, Some(&file.into()));
        return Ok(());
    }
    let mut path = String::new();
    for file in Tree::load(context, value)?.files() {
        path.clear();
        path.push_str(top);
        if !top.is_empty() && !file.path().is_empty() {
            path.push('/');
        }
        path.push_str(file.path());
        files.push_file(&path, file);
    }
    Ok(())
}

/// Writes the members of an archive one after another. A *gap* is space in the archive that is reserved for the bytes
/// of a member, which are written later.
trait ArchiveWriter<W> {
    fn directory(&mut self, path: &str) -> Result<(), StepError>;
    fn file(&mut self, path: &str, content: &OpenContent<'_>) -> Result<(), StepError>;
    /// Returns which bytes of a member the caller must write into its gap.
    fn gap_bytes(&self) -> GapBytes {
        GapBytes::Plain
    }
    /// Adds a file with a gap, into which the caller later writes the bytes. Returns `false`, and adds no file, if the
    /// size of the gap is unknown.
    fn leave_gap(
        &mut self,
        file: TreeFile<'_>,
        content: &ContentRef,
        gaps: &Gaps,
    ) -> Result<bool, StepError>;
    fn finish(self) -> Result<W, StepError>;
}

/// Stores a tree as an archive. `archive` creates the writer.
fn store<A: ArchiveWriter<ArchiveOutput>>(
    context: &Context,
    tree: &Tree,
    archive: impl FnOnce(ArchiveOutput) -> A,
) -> Result<Stored, StepError> {
    let opener = Opener::new(context);
    let out = ArchiveOutput::new(context, tree)?;
    let gaps = out.gaps();
    let archive = archive(out);
    let gap_bytes = archive.gap_bytes();
    let out = write(context, &opener, tree, archive, gaps.as_deref())?;
    out.commit(context, &opener, tree, gap_bytes)
}

/// Stores a tree as a 7z archive. The header of a 7z archive is at the beginning, but is written last. An object of the
/// cache can only be written from front to back. Therefore the archive is first written to a temporary file.
fn store_7z(context: &Context, tree: &Tree) -> Result<Stored, StepError> {
    let file = context.temp_file().map_err(StepError::machine)?;
    let archive = SevenZWriter::new(file, SEVEN_ZIP_LEVEL);
    let mut file = write(context, &Opener::new(context), tree, archive, None)?;
    file.rewind().map_err(StepError::machine)?;
    let mut out = context.store.writer()?;
    std::io::copy(&mut file, &mut out).map_err(StepError::machine)?;
    Ok(out.commit()?)
}

/// Writes a tree to an archive. If `gaps` is given, leaves gaps for files from compressed archives. The caller then fills
/// the gaps in the order of the source archives.
fn write<W>(
    context: &Context,
    opener: &Opener,
    tree: &Tree,
    mut archive: impl ArchiveWriter<W>,
    gaps: Option<&Gaps>,
) -> Result<W, StepError> {
    for file in tree.files() {
        context.check()?;
        let Some(content) = file.content() else {
            archive.directory(file.path())?;
            continue;
        };
        if let Some(gaps) = gaps.filter(|_| file.is_layered())
            && archive.leave_gap(file, &content, gaps)?
        {
            continue;
        }
        let opened = opener.open(&content)?;
        archive.file(file.path(), &opened)?;
        context.progress.add_bytes(content.bytes());
        context.progress.add_file();
    }
    archive.finish()
}

struct Zip<W: Write> {
    writer: ZipWriter<W>,
    method: ZipMethod,
    inflater: MemberInflater,
    buffer: Vec<u8>,
}

impl<W: Write> Zip<W> {
    fn new(out: W, method: ZipMethod) -> Self {
        Self {
            writer: ZipWriter::new(out),
            method,
            inflater: MemberInflater::default(),
            buffer: Vec::new(),
        }
    }
}

impl<W: Write> ArchiveWriter<W> for Zip<W> {
    fn directory(&mut self, path: &str) -> Result<(), StepError> {
        self.writer.add_directory(path).map_err(StepError::machine)
    }

    fn file(&mut self, path: &str, content: &OpenContent<'_>) -> Result<(), StepError> {
        if let (Some((file, member)), ZipMethod::Deflate) = (content.member(), self.method) {
            // The compressed bytes are copied, so inflate them only to verify them.
            content.check(&mut self.inflater, &mut self.buffer)?;
            let copied = self.writer.copy_member(path, file, member);
            return copied.map_err(StepError::input);
        }
        let reader = content.reader()?;
        self.writer
            .add_file(path, self.method, reader)
            .map_err(StepError::input)
    }

    fn gap_bytes(&self) -> GapBytes {
        match self.method {
            ZipMethod::Stored => GapBytes::Plain,
            ZipMethod::Deflate => GapBytes::Compressed,
        }
    }

    fn leave_gap(
        &mut self,
        file: TreeFile<'_>,
        content: &ContentRef,
        gaps: &Gaps,
    ) -> Result<bool, StepError> {
        let ContentRef::Member { entry, .. } = content else {
            return Ok(false);
        };
        let mut entry = entry.clone();
        if self.method == ZipMethod::Stored {
            entry.method = ZipMethod::Stored;
            entry.compressed_size = entry.size;
        }
        let gap = gaps.add_gap(file.index(), entry.compressed_size);
        let added = self.writer.add_compressed(file.path(), &entry, gap);
        added.map(|()| true).map_err(StepError::machine)
    }

    fn finish(self) -> Result<W, StepError> {
        self.writer.finish().map_err(StepError::machine)
    }
}

impl<W: Write> ArchiveWriter<W> for TarWriter<W> {
    fn directory(&mut self, path: &str) -> Result<(), StepError> {
        self.add_directory(path).map_err(StepError::machine)
    }

    fn file(&mut self, path: &str, content: &OpenContent<'_>) -> Result<(), StepError> {
        let reader = content.reader()?;
        self.add_file(path, content.bytes(), reader)
            .map_err(StepError::input)
    }

    fn leave_gap(
        &mut self,
        file: TreeFile<'_>,
        content: &ContentRef,
        gaps: &Gaps,
    ) -> Result<bool, StepError> {
        let bytes = content.bytes();
        let gap = gaps.add_gap(file.index(), bytes);
        let added = self.add_file(file.path(), bytes, gap);
        added.map(|()| true).map_err(StepError::machine)
    }

    fn finish(self) -> Result<W, StepError> {
        self.finish().map_err(StepError::machine)
    }
}

impl<W: Write + Seek> ArchiveWriter<W> for SevenZWriter<W> {
    fn directory(&mut self, path: &str) -> Result<(), StepError> {
        self.add_directory(path).map_err(StepError::machine)
    }

    fn file(&mut self, path: &str, content: &OpenContent<'_>) -> Result<(), StepError> {
        let reader = content.reader()?;
        self.add_file(path, reader).map_err(StepError::input)
    }

    fn leave_gap(&mut self, _: TreeFile<'_>, _: &ContentRef, _: &Gaps) -> Result<bool, StepError> {
        Ok(false)
    }

    fn finish(self) -> Result<W, StepError> {
        self.finish().map_err(StepError::machine)
    }
}
