//! Lists the prepared outputs, and whether they have their published checksums.

use prep_app::CatalogEntry;
use prep_digests::ChecksumStatus;
use prep_spec::Pipeline;
use prep_steps::Manifest;

/// The result of comparing an output with its published checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputComparison {
    /// The output has the published MD5. The time of the comparison is in seconds since 1970.
    Equal { when: Option<i64> },
    /// The output has a different MD5.
    Differs,
    /// There is a published checksum, but it was not compared.
    Skipped,
    /// This output has no published checksum.
    NotPublished,
    /// The published checksums belong to a different variant.
    OtherVariant,
}

/// One output: a file, or a directory of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputFile {
    pub path: String,
    pub files: u64,
    pub bytes: u64,
    pub rows: Option<u64>,
    pub columns: usize,
    /// BLAKE3 digest of the content, for a single file.
    pub digest: Option<String>,
    /// The published MD5.
    pub md5: Option<String>,
    pub compared: OutputComparison,
}

/// Returns the outputs of a competition, as its manifest describes them.
pub fn files(
    manifest: &Manifest,
    pipeline: Option<&Pipeline>,
    entry: &CatalogEntry,
) -> Vec<OutputFile> {
    let published = entry.published_checksums().ok().flatten();
    let is_base = pipeline.is_none_or(|pipeline| !pipeline.variant.differs);
    let md5_of = |path: &str| published.as_ref()?.of_output(path).map(str::to_owned);
    let status = manifest.origin.as_ref().map(|origin| &origin.checksums);
    let preparation = manifest.preparation.as_ref();
    let when = preparation.and_then(|one| i64::try_from(one.compared_at?).ok());
    let outputs = manifest.outputs.iter();
    let outputs = outputs.map(|output| {
        let md5 = md5_of(&output.path);
        let compared = match &md5 {
            _ if !is_base && published.is_some() => OutputComparison::OtherVariant,
            None => OutputComparison::NotPublished,
            // The comparison is part of the data directory. The cache may have one of another directory.
            Some(_) => match status {
                Some(ChecksumStatus::Passed) => OutputComparison::Equal { when },
                Some(ChecksumStatus::Differ { outputs }) if outputs.contains(&output.path) => {
                    OutputComparison::Differs
                }
                _ => OutputComparison::Skipped,
            },
        };
        OutputFile {
            path: output.path.clone(),
            files: output.files,
            bytes: output.bytes,
            rows: output.rows,
            columns: output.columns.len(),
            digest: output.digest.map(|digest| digest.to_string()),
            md5: md5.filter(|_| is_base),
            compared,
        }
    });
    outputs.collect()
}
