//! Lists the prepared outputs, and whether they have their published checksums.

use prep_app::CatalogEntry;
use prep_cache::{History, Store};
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
    /// There is a published checksum, but the last run did not compare it.
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

/// Returns the outputs of a competition.
pub fn files(
    manifest: &Manifest,
    pipeline: Option<&Pipeline>,
    entry: &CatalogEntry,
    history: &History,
    store: &Store,
) -> Vec<OutputFile> {
    let published = entry.published_checksums().ok().flatten();
    let is_base = pipeline.is_none_or(|pipeline| !pipeline.variant.differs);
    let md5_of = |path: &str| published.as_ref()?.of_output(path).map(str::to_owned);
    let differ = match manifest.origin.as_ref().map(|origin| &origin.checksums) {
        Some(ChecksumStatus::Differ { outputs }) => outputs.as_slice(),
        _ => &[],
    };
    let outputs = manifest.outputs.iter();
    let outputs = outputs.map(|output| {
        let md5 = md5_of(&output.path);
        let compared = match &md5 {
            _ if !is_base && published.is_some() => OutputComparison::OtherVariant,
            None => OutputComparison::NotPublished,
            Some(_) if differ.contains(&output.path) => OutputComparison::Differs,
            Some(_) => match history.steps.get(&format!("checksum/{}", output.path)) {
                None => OutputComparison::Skipped,
                Some(step) => OutputComparison::Equal {
                    when: super::steps::creation(store, &step.key).map(|(when, _)| when),
                },
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
