//! `redact_matlab`: copies a file or archive of the bundle without some variables of its MATLAB files.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use prep_core::{BoxError, Context, FileValue, Inputs, StepError, Value};
use prep_formats::archive::{ArchiveFormat, Member, StoredForms};
use prep_formats::limits::{ArchiveBudget, DecodingLimits, Limit};
use prep_formats::matlab::{self, MAX_VARIABLE_BYTES};
use prep_formats::tar::{self, TarWriter};
use prep_formats::zip::{ZipDirectory, ZipMethod, ZipWriter};
use prep_spec::words::{KeyType, KindSpec, Produces, Section, SectionKey};

use crate::kinds::unpack::CancellableFile;
use crate::kinds::{FunctionStep, StepKind};
use crate::limits::{FileError, limits, undecodable};
use crate::value::{Opener, file_content, memory_of_trees, only_tree};

pub(crate) const KIND: StepKind = StepKind {
    form: KindSpec {
        section: Section {
            name: "a redacted file",
            doc: "Copies a file of the bundle, but removes variables from MATLAB files (version 5). The file is a \
            MATLAB file, or a zip or tar archive with MATLAB files, including MATLAB files in nested archives.\n\nAll \
            other members of an archive are copied. 7z archives are copied unchanged, so MATLAB files in 7z archives \
            keep their variables. MATLAB files of version 7.3 (HDF5) are an error.",
            keys: &[
                SectionKey::required(
                    "redact_matlab",
                    KeyType::Source,
                    "Path in the bundle.",
                    "test.tar.gz",
                ),
                SectionKey::required(
                    "variables",
                    KeyType::Texts,
                    "Variables to remove, and fields of structures (`Video.Labels`) to empty.",
                    "[Video.Labels]",
                ),
            ],
        },
        methods: &[],
        makes: Produces::File(&[]),
        check: None,
    },
    step: |declaration, _| {
        let from = declaration.text("redact_matlab")?.to_owned();
        let variables = declaration.texts("variables").to_vec();
        let params = serde_json::json!({ "from": from, "variables": variables });
        // The name `redact` is part of the keys of cached results.
        let function = FunctionStep::new("redact", 1, params, move |context, inputs| {
            redact(context, inputs, &from, &variables)
        });
        // Memory for a MATLAB file in three forms: stored, inflated and rewritten.
        function
            .memory(|inputs| (512 << 20) + 2 * memory_of_trees(inputs))
            .step()
    },
};

fn redact(
    context: &Context,
    inputs: &Inputs,
    from: &str,
    variables: &[String],
) -> Result<Value, StepError> {
    let tree = only_tree(context, inputs)?;
    let content = file_content(&tree, from, "redact_matlab")?;
    context.progress.set_total_bytes(content.bytes());
    let opener = Opener::new(context);
    let opened = opener.open(&content)?;
    let mut out = StepFile(context.store.writer()?);
    let limits = limits(context);
    let redaction = Redaction {
        variables,
        context,
        limits,
        budget: limits.budget(content.bytes()),
    };
    let mut input = ProgressReader {
        inner: opened.reader()?,
        context,
    };
    redaction
        .write(from, 0, &mut input, &mut out)
        .map_err(undecodable)?;
    Ok(FileValue::stored(out.0.commit()?).into_value())
}

/// Adds the path of an archive member or of a file to an error.
fn member_error(path: &str, cause: impl Into<BoxError>) -> io::Error {
    io::Error::other(FileError::new(path, cause))
}

/// A file that this step writes. Write errors are errors of the system, not of the input.
struct StepFile<F>(F);

/// Marks a write error as an error of the system. `Interrupted` stays as it is, because callers then repeat the write.
fn machine(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::Interrupted => error,
        _ => StepError::machine(error).into(),
    }
}

impl<F: Write> Write for StepFile<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Ok(0) if !bytes.is_empty() => Err(machine(io::ErrorKind::WriteZero.into())),
            written => written.map_err(machine),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(machine)
    }
}

struct ProgressReader<'a, R> {
    inner: R,
    context: &'a Context,
}

impl<R: Read> Read for ProgressReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.context.progress.add_bytes(count as u64);
        Ok(count)
    }
}

struct Redaction<'a> {
    variables: &'a [String],
    context: &'a Context,
    limits: DecodingLimits,
    budget: ArchiveBudget,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MatlabContainer {
    Matlab,
    Zip,
    Tar,
    GzippedTar,
}

impl MatlabContainer {
    /// Returns the format that the suffix of `path` implies. `None` for a file that is copied unchanged.
    fn from_path(path: &str) -> Option<MatlabContainer> {
        let path = path.to_ascii_lowercase();
        let ends = |end: &str| path.ends_with(end);
        match ArchiveFormat::split_path(&path) {
            Some((ArchiveFormat::Zip, _)) => Some(MatlabContainer::Zip),
            Some((ArchiveFormat::Tar, _)) if ends(".tar") => Some(MatlabContainer::Tar),
            Some((ArchiveFormat::Tar, _)) => Some(MatlabContainer::GzippedTar),
            _ => ends(".mat").then_some(MatlabContainer::Matlab),
        }
    }
}

impl Redaction<'_> {
    /// Redacts the file at `path`, which is inside `depth` archives.
    fn write(
        &self,
        path: &str,
        depth: u64,
        input: &mut dyn Read,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let depth = depth + 1;
        let format = MatlabContainer::from_path(path);
        if !matches!(format, None | Some(MatlabContainer::Matlab)) {
            let nesting = self.limits.check(Limit::Nesting, depth);
            nesting.map_err(|error| member_error(path, error))?;
        }
        match format {
            None => io::copy(input, out).map(drop),
            Some(MatlabContainer::Matlab) => {
                let mut bytes = Vec::new();
                input.take(MAX_VARIABLE_BYTES + 1).read_to_end(&mut bytes)?;
                if bytes.len() as u64 > MAX_VARIABLE_BYTES {
                    return Err(member_error(path, matlab::MatlabError::TooLong));
                }
                let found = matlab::remove_variables(&bytes, self.variables)
                    .map_err(|error| member_error(path, error))?;
                self.context.check()?;
                out.write_all(found.as_ref().unwrap_or(&bytes))
            }
            Some(MatlabContainer::Zip) => self.zip(path, depth, input, out),
            Some(MatlabContainer::Tar) => self.tar(path, depth, input, out).map(drop),
            Some(MatlabContainer::GzippedTar) => {
                // Most of the content is already compressed, so a higher level would save little.
                let packed = GzEncoder::new(out, Compression::fast());
                self.tar(path, depth, input, packed)?.finish().map(drop)
            }
        }
    }

    /// Copies a tar archive, and redacts the members that are MATLAB files or contain them.
    fn tar<W: Write>(&self, path: &str, depth: u64, input: &mut dyn Read, out: W) -> io::Result<W> {
        let mut archive = TarWriter::new(out);
        let mut each = |member: &Member<'_>, content: &mut dyn Read| {
            self.context.check()?;
            let (name, size) = (member.path, member.size.unwrap_or(0));
            let added = match member.is_directory {
                true => archive.add_directory(name),
                false if MatlabContainer::from_path(name).is_some() => {
                    let mut file = self.in_temp_file(|file| {
                        self.write(&format!("{path}/{name}"), depth, content, file)
                    })?;
                    let size = file.metadata().map_err(machine)?.len();
                    file.rewind().map_err(machine)?;
                    let file = self.context.cancel.reader(file);
                    archive.add_file(name, size, BufReader::new(file))
                }
                false => archive.add_file(name, size, content),
            };
            added.map_err(io::Error::other)
        };
        let read = tar::read(input, &self.budget, StoredForms::Skip, &mut each);
        read.map_err(|error| member_error(path, error))?;
        archive.finish().map_err(io::Error::other)
    }

    /// Same as [`tar`](Self::tar), for a zip archive. Members without MATLAB files are copied in their compressed form.
    fn zip(
        &self,
        path: &str,
        depth: u64,
        input: &mut dyn Read,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let archive_file = self.in_temp_file(|file| io::copy(input, file).map(drop))?;
        let length = archive_file.metadata().map_err(machine)?.len();
        let archive_file = CancellableFile {
            cancel: &self.context.cancel,
            file: &archive_file,
        };
        let directory = ZipDirectory::read(&archive_file, 0..length, &self.budget)
            .map_err(|error| member_error(path, error))?;
        let mut archive = ZipWriter::new(out);
        for member in directory.iter() {
            self.context.check()?;
            let added = match member.is_directory {
                true => archive.add_directory(member.path),
                false if MatlabContainer::from_path(member.path).is_some() => {
                    let entry = member.to_entry();
                    let mut content = entry
                        .open(&archive_file)
                        .map_err(|error| member_error(path, error))?;
                    let mut file = self.in_temp_file(|file| {
                        let path = format!("{path}/{}", member.path);
                        self.write(&path, depth, &mut content, file)
                    })?;
                    file.rewind().map_err(machine)?;
                    let file = self.context.cancel.reader(file);
                    archive.add_file(member.path, ZipMethod::Deflate, BufReader::new(file))
                }
                false => archive.copy_member(member.path, &archive_file, &member.to_entry()),
            };
            added.map_err(|error| member_error(path, error))?;
        }
        archive.finish().map_err(io::Error::other).map(drop)
    }

    /// Returns a temporary file that `fill` has written.
    fn in_temp_file(
        &self,
        fill: impl FnOnce(&mut StepFile<File>) -> io::Result<()>,
    ) -> io::Result<File> {
        let mut file = StepFile(self.context.temp_file().map_err(machine)?);
        fill(&mut file)?;
        Ok(file.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prep_cache::Store;
    use prep_core::{Cancel, Failure};

    use super::*;

    fn context(directory: &Path, cancel: &Cancel) -> Context {
        let store = Store::open(directory).unwrap();
        let limits = prep_core::RunLimits {
            jobs: 1,
            memory: 1 << 30,
        };
        Context::new(store, limits, cancel.clone())
    }

    /// Returns the error of redacting `input`, a file with the name `path`.
    fn failure(
        context: &Context,
        path: &str,
        input: &mut dyn Read,
        out: &mut dyn Write,
    ) -> StepError {
        let redaction = Redaction {
            variables: &["labels".to_owned()],
            context,
            limits: DecodingLimits::default(),
            budget: DecodingLimits::default().budget(1 << 20),
        };
        let ended = redaction.write(path, 0, input, out);
        StepError::input(ended.expect_err("a failure"))
    }

    /// A reader that cancels the run after `left` reads.
    struct Stopping<'a> {
        inner: &'a [u8],
        left: usize,
        cancel: &'a Cancel,
    }

    impl Read for Stopping<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.left {
                0 => self.cancel.cancel(),
                _ => self.left -= 1,
            }
            let few = buffer.len().min(700);
            self.inner.read(buffer.get_mut(..few).unwrap_or_default())
        }
    }

    /// Returns archives whose members have names with this ending, but are not MATLAB files.
    fn archives(end: &str) -> [(&'static str, Vec<u8>); 2] {
        let mut zip = ZipWriter::new(Vec::new());
        let mut tar = TarWriter::new(Vec::new());
        for number in 0..20 {
            let name = format!("{number}{end}");
            let content = vec![b'x'; 4000];
            zip.add_file(&name, ZipMethod::Stored, content.as_slice())
                .unwrap();
            tar.add_file(&name, 4000, content.as_slice()).unwrap();
        }
        [
            ("a.zip", zip.finish().unwrap()),
            ("a.tar", tar.finish().unwrap()),
        ]
    }

    #[test]
    fn errors_have_their_category_and_location() {
        let directory = tempfile::tempdir().unwrap();
        let context = context(directory.path(), &Cancel::default());
        for (name, archive) in archives(".mat") {
            let error = failure(&context, name, &mut archive.as_slice(), &mut Vec::new());
            assert_eq!(error.failure(), Failure::Input, "{name}: {error}");
            let message = prep_core::chain(&error);
            assert!(message.contains(&format!("{name}/0.mat")), "{message}");
            // This writer accepts no bytes, like a file on a full disk.
            let mut full = StepFile([0_u8; 0].as_mut_slice());
            let error = failure(&context, "x", &mut archive.as_slice(), &mut full);
            assert_eq!(error.failure(), Failure::Machine, "{name}: {error}");
        }
        let error = failure(&context, "x.mat", &mut io::repeat(1), &mut Vec::new());
        assert_eq!(error.failure(), Failure::Input, "{error}");
        let message = prep_core::chain(&error);
        assert!(message.contains("128 MB"), "{message}");
    }

    #[test]
    fn cancelling_stops_extraction_within_a_member() {
        for (name, archive) in archives(".txt") {
            for left in [0, 3, 9] {
                let (directory, cancel) = (tempfile::tempdir().unwrap(), Cancel::default());
                let context = context(directory.path(), &cancel);
                let stopping = Stopping {
                    inner: &archive,
                    left,
                    cancel: &cancel,
                };
                let mut input = cancel.reader(stopping);
                let error = failure(&context, name, &mut input, &mut Vec::new());
                assert_eq!(error.failure(), Failure::Cancelled, "{name}: {error}");
            }
        }
        // Cancel while members are processed, when the input is already in a temporary file.
        let (directory, cancel) = (tempfile::tempdir().unwrap(), Cancel::default());
        let context = context(directory.path(), &cancel);
        let (name, archive) = archives(".txt").into_iter().next().unwrap();
        let stopping = Stopping {
            inner: &archive,
            left: archive.len() / 700 + 1,
            cancel: &cancel,
        };
        let error = failure(&context, name, &mut { stopping }, &mut Vec::new());
        assert_eq!(error.failure(), Failure::Cancelled, "{error}");
    }
}
