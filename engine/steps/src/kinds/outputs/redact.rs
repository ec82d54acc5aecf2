//! `redact`: a file of the bundle without some of what is in the MATLAB files in it, in archives however deep.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use prep_cache::Access;
use prep_core::{Context, FileValue, Inputs, Outputs, Step, StepError};
use prep_formats::archive::MemberKind;
use prep_formats::matlab;
use prep_formats::tar::{self, TarWriter};
use prep_formats::zip::{Directory, EntryKind, Method, ZipLimits, ZipWriter};
use prep_spec::words::{Form, Key, Makes, Section, Value};

use super::copy::Absent;
use crate::kinds::unpack::similar;
use crate::kinds::{Kind, one};
use crate::value::{Opener, memory_of_trees, only_tree};

pub(crate) static KIND: Kind = Kind {
    form: Form {
        section: Section {
            name: "a redacted file",
            doc: "A file of the bundle without some variables of the MATLAB files (version 5) in it. Zip and tar archives are entered, archives in them too, and written anew; all other members stay as they are.",
            keys: &[
                Key::required(
                    "redact",
                    Value::Source,
                    "Path in the bundle.",
                    "test.tar.gz",
                ),
                Key::required(
                    "variables",
                    Value::Texts,
                    "Variables that are left out, and fields of structures (`Video.Labels`), which are left empty.",
                    "[Video.Labels]",
                ),
            ],
        },
        methods: &[],
        makes: Makes::File(&[]),
        check: None,
    },
    step: |declaration, _| {
        let from = declaration.text("redact")?.to_owned();
        let variables = declaration.texts("variables").to_vec();
        Some(Box::new(Redact { from, variables }))
    },
};

struct Redact {
    /// Path in the bundle.
    from: String,
    variables: Vec<String>,
}

impl Step for Redact {
    fn kind(&self) -> &'static str {
        "redact"
    }

    fn version(&self) -> u32 {
        1
    }

    fn params(&self) -> serde_json::Value {
        serde_json::json!({ "from": self.from, "variables": self.variables })
    }

    fn memory(&self, inputs: &Inputs) -> u64 {
        // A MATLAB file, as it is and inflated, and as it is written.
        (512 << 20) + 2 * memory_of_trees(inputs)
    }

    fn run(&self, context: &Context, inputs: &Inputs) -> Result<Outputs, StepError> {
        let tree = only_tree(context, inputs)?;
        let file = tree.find(&self.from).filter(|file| !file.is_folder());
        let Some(content) = file.and_then(|file| file.content()) else {
            return Err(StepError::input(Absent {
                path: self.from.clone(),
                similar: similar(&tree, &self.from),
            }));
        };
        context.progress.set_total_bytes(content.bytes());
        let opener = Opener::new(context);
        let opened = opener.open(&content)?;
        let mut out = context.store.writer()?;
        let redaction = Redaction {
            variables: &self.variables,
            context,
        };
        let mut input = opened.reader()?;
        redaction
            .write(&self.from, &mut input, &mut out)
            .map_err(StepError::input)?;
        Ok(one(FileValue::stored(out.commit()?).into_value()))
    }
}

struct Redaction<'a> {
    variables: &'a [String],
    context: &'a Context,
}

/// Formats in which MATLAB files are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Matlab,
    Zip,
    Tar,
    GzippedTar,
}

impl Format {
    fn of(path: &str) -> Option<Format> {
        let path = path.to_ascii_lowercase();
        let ends = |end: &str| path.ends_with(end);
        match () {
            () if ends(".mat") => Some(Format::Matlab),
            () if ends(".zip") => Some(Format::Zip),
            () if ends(".tar") => Some(Format::Tar),
            () if ends(".tar.gz") || ends(".tgz") => Some(Format::GzippedTar),
            () => None,
        }
    }
}

impl Redaction<'_> {
    fn write(&self, path: &str, input: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
        match Format::of(path) {
            None => io::copy(input, out).map(drop),
            Some(Format::Matlab) => {
                let mut bytes = Vec::new();
                input.read_to_end(&mut bytes)?;
                let found = matlab::without(&bytes, self.variables)
                    .map_err(|error| io::Error::other(format!("{path}: {error}")))?;
                out.write_all(found.as_ref().unwrap_or(&bytes))
            }
            Some(Format::Zip) => self.zip(path, input, out),
            Some(Format::Tar) => self.tar(path, input, out).map(drop),
            Some(Format::GzippedTar) => {
                // What is in it is compressed already, mostly.
                let packed = GzEncoder::new(out, Compression::fast());
                self.tar(path, input, packed)?.finish().map(drop)
            }
        }
    }

    fn tar<W: Write>(&self, path: &str, input: &mut dyn Read, out: W) -> io::Result<W> {
        let mut archive = TarWriter::new(out);
        let each = |name: &str, kind, content: &mut dyn Read| {
            let added = match kind {
                MemberKind::Directory => archive.add_directory(name),
                MemberKind::File { .. } if Format::of(name).is_some() => {
                    let mut file =
                        self.apart(|file| self.write(&format!("{path}/{name}"), content, file))?;
                    let size = file.metadata()?.len();
                    file.rewind()?;
                    archive.add_file(name, size, BufReader::new(file))
                }
                MemberKind::File { size } => archive.add_file(name, size, content),
            };
            added.map_err(io::Error::other)
        };
        tar::read(input, u64::MAX, each).map_err(io::Error::other)?;
        archive.finish().map_err(io::Error::other)
    }

    fn zip(&self, path: &str, input: &mut dyn Read, out: &mut dyn Write) -> io::Result<()> {
        let whole = self.apart(|file| io::copy(input, file).map(drop))?;
        let length = whole.metadata()?.len();
        let directory = Directory::read(&whole, 0..length, &ZipLimits::default())
            .map_err(|error| io::Error::other(format!("{path}: {error}")))?;
        let mut archive = ZipWriter::new(out);
        for member in directory.iter() {
            let added = match member.kind {
                EntryKind::Directory => archive.add_directory(member.path),
                EntryKind::File if Format::of(member.path).is_some() => {
                    let entry = member.to_entry();
                    let mut content = entry.open(&whole).map_err(io::Error::other)?;
                    let mut file = self.apart(|file| {
                        self.write(&format!("{path}/{}", member.path), &mut content, file)
                    })?;
                    file.rewind()?;
                    archive.add_file(member.path, Method::Deflate, BufReader::new(file))
                }
                EntryKind::File => archive.copy_member(member.path, &whole, &member.to_entry()),
            };
            added.map_err(io::Error::other)?;
        }
        archive.finish().map_err(io::Error::other).map(drop)
    }

    /// A file of its own, which is gone when it is closed.
    fn apart(&self, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<File> {
        let accesses = self.context.store.accesses();
        let folder = self.context.temp_dir();
        let announce = |access, folder: &Path| accesses.before(access, folder);
        announce(Access::Create, &folder)?;
        let mut file = tempfile::tempfile_in(&folder)?;
        announce(Access::Write, &folder)?;
        fill(&mut file)?;
        Ok(file)
    }
}
