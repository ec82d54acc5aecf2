//! Entry points: parse a file in all its variants.

mod draft;
mod merge;
mod query_pipeline;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Pipeline, Variant};
use crate::parse::resolve;
use crate::text::diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use crate::text::yaml::{self, Kind, MappingEntry, YamlNode};
use crate::variant::{FIXED_VARIANT, is_correction_name, variant_name};
use crate::words::{MAX_CORRECTIONS, Vocabulary};
use merge::merge;

pub use draft::ParsedFile;
pub use query_pipeline::query_pipeline;

/// Loads a pipeline in one variant. `vocabulary` contains the kinds that the pipeline may use, `id` is the
/// competition's id, and messages refer to the file as `file_name`.
///
/// # Errors
/// Same as for [`ParsedFile::finish`]. If the text is not YAML, the only error is the first syntax error.
pub fn load(
    vocabulary: &Vocabulary,
    id: &str,
    file_name: &str,
    text: &str,
    variant: &str,
) -> Result<Pipeline, Diagnostics> {
    read(vocabulary, id, file_name, text).finish(variant)
}

/// Parses a pipeline in all its variants: without corrections, with all corrections, and with each other combination.
pub fn read(vocabulary: &Vocabulary, id: &str, file_name: &str, text: &str) -> ParsedFile {
    let source = Arc::new(SourceFile::new(file_name, text));
    match yaml::parse(&source) {
        Ok(root) => all_variants(vocabulary, id, source, &root),
        Err(fault) => ParsedFile {
            source,
            corrections: Vec::new(),
            readings: Vec::new(),
            findings: vec![fault],
        },
    }
}

/// Returns the names of the corrections that a file defines, in file order.
///
/// # Errors
/// If the text is not YAML, returns the first syntax error.
pub fn corrections(text: &str) -> Result<Vec<String>, Diagnostics> {
    let source = Arc::new(SourceFile::new("pipeline.yaml", text));
    let root = yaml::parse(&source).map_err(|fault| Diagnostics::single(source, fault))?;
    let (_, corrections) = take_corrections(&root);
    Ok(corrections.into_iter().map(|one| one.key).collect())
}

/// Returns the variants that a file defines: `v1`, `fixed` if there are corrections, and then each other combination.
///
/// # Errors
/// If the text is not YAML, returns the first syntax error.
pub fn variants(text: &str) -> Result<Vec<String>, Diagnostics> {
    let names = corrections(text)?;
    let sets = combinations(names.len());
    Ok(sets.map(|set| name_of(&names, set)).collect())
}

/// A set of corrections. Bit N represents the correction at index N in the file.
type CorrectionSet = u32;

fn name_of(names: &[String], set: CorrectionSet) -> String {
    variant_name(names, |name| {
        let place = names.iter().position(|one| one == name);
        place.is_some_and(|place| has(set, place))
    })
}

fn has(set: CorrectionSet, place: usize) -> bool {
    set >> place & 1 == 1
}

/// Returns all sets of `count` corrections: the empty set, the full set, and then the other sets.
fn combinations(count: usize) -> impl Iterator<Item = CorrectionSet> {
    let full: CorrectionSet = (1 << count.min(MAX_CORRECTIONS)) - 1;
    let ends = std::iter::once(0).chain((full > 0).then_some(full));
    ends.chain(1..full)
}

fn all_variants(
    vocabulary: &Vocabulary,
    id: &str,
    source: Arc<SourceFile>,
    root: &YamlNode,
) -> ParsedFile {
    let (base, corrections) = take_corrections(root);
    let names: Vec<String> = corrections.iter().map(|one| one.key.clone()).collect();
    let mut readings = Vec::new();
    let mut findings = Vec::new();
    let mut unused: Vec<(CorrectionSet, Vec<Diagnostic>)> = Vec::new();
    for set in combinations(corrections.len()) {
        // The base is resolved together with `variants`, so that the keys of `variants` are checked only once.
        let mut node = match (set, &base) {
            (0, _) | (_, None) => root.clone(),
            (_, Some(base)) => base.clone(),
        };
        let selected = corrections.iter().enumerate();
        for (_, one) in selected.filter(|(place, _)| has(set, *place)) {
            merge(&mut node, &one.value);
        }
        let variant = Variant {
            name: name_of(&names, set),
            differs: set > 0,
        };
        let resolved = resolve(vocabulary, id, &source, &node, variant);
        readings.extend(resolved.reading);
        findings.extend(resolved.diagnostics);
        unused.push((set, resolved.unused));
    }
    // If there are errors, a part that could not be parsed may use a declaration that seems unused.
    if findings.is_empty() {
        findings = always_unused(&corrections, unused);
    }
    ParsedFile {
        source,
        corrections: names,
        readings,
        findings,
    }
}

/// Returns the errors about declarations that are unused in every variant that contains them.
fn always_unused(
    corrections: &[MappingEntry],
    unused: Vec<(CorrectionSet, Vec<Diagnostic>)>,
) -> Vec<Diagnostic> {
    let sets: Vec<CorrectionSet> = unused.iter().map(|(set, _)| *set).collect();
    let declaring = |one: &Diagnostic| {
        let mut others = corrections.iter().enumerate();
        let home = others.find(|(_, other)| is_inside(one.span, other.value.span));
        let is_declared = |set: &&CorrectionSet| home.is_none_or(|(place, _)| has(**set, place));
        sets.iter().filter(is_declared).count()
    };
    // The number of variants in which a declaration is unused.
    let mut counts: BTreeMap<Diagnostic, usize> = BTreeMap::new();
    for one in unused.into_iter().flat_map(|(_, list)| list) {
        *counts.entry(one).or_default() += 1;
    }
    counts.retain(|one, count| *count == declaring(one));
    counts.into_keys().collect()
}

/// Returns the tree without `variants`, and the corrections whose values are mappings.
fn take_corrections(root: &YamlNode) -> (Option<YamlNode>, Vec<MappingEntry>) {
    let Kind::Mapping(entries) = &root.kind else {
        return (None, Vec::new());
    };
    let Some(place) = entries.iter().position(|entry| entry.key == "variants") else {
        return (None, Vec::new());
    };
    let mut base = entries.clone();
    let Kind::Mapping(sections) = base.remove(place).value.kind else {
        return (None, Vec::new());
    };
    let mut sections = sections.into_iter();
    let fixed = sections.find(|entry| entry.key == FIXED_VARIANT);
    let Some(Kind::Mapping(mut corrections)) = fixed.map(|entry| entry.value.kind) else {
        return (None, Vec::new());
    };
    corrections
        .retain(|one| is_correction_name(&one.key) && matches!(one.value.kind, Kind::Mapping(_)));
    corrections.truncate(MAX_CORRECTIONS);
    let base = YamlNode {
        span: root.span,
        kind: Kind::Mapping(base),
    };
    (Some(base), corrections)
}

fn is_inside(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
