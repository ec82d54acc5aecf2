//! Entry points: parse one file in all its variants.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use crate::draft::{ParsedFile, Reading};
use crate::merge::merge;
use crate::model::{Pipeline, Variant};
use crate::parse::resolve;
use crate::words::{self, Vocabulary};
use crate::yaml::{self, Kind, MappingEntry, YamlNode};

/// The variant that a file describes outside of `variants`.
pub const BASE_VARIANT: &str = "v1";

/// Returns the names of the variants that the language knows. Every pipeline has each of them.
pub fn known_variants() -> impl Iterator<Item = &'static str> {
    let others = words::VARIANTS.keys.iter().map(|key| key.name);
    std::iter::once(BASE_VARIANT).chain(others)
}

/// Loads a pipeline in one variant. `vocabulary` has the kinds that it may use, `id` is the competition's id, and
/// messages call the file `file_name`.
///
/// # Errors
/// The errors of [`ParsedFile::finish`]. If the text is not YAML, only the first syntax error.
pub fn load(
    vocabulary: &Vocabulary,
    id: &str,
    file_name: &str,
    text: &str,
    variant: &str,
) -> Result<Pipeline, Diagnostics> {
    read(vocabulary, id, file_name, text).finish(variant)
}

/// Parses a pipeline in all its variants.
pub fn read(vocabulary: &Vocabulary, id: &str, file_name: &str, text: &str) -> ParsedFile {
    let source = Arc::new(SourceFile::new(file_name, text));
    let (readings, findings) = match yaml::parse(&source) {
        Ok(root) => all_variants(vocabulary, id, &source, &root),
        Err(fault) => (Vec::new(), vec![fault]),
    };
    ParsedFile::new(source, readings, findings)
}

/// Returns the variants that a file defines: [`BASE_VARIANT`], then the keys of `variants`.
///
/// # Errors
/// The first syntax error if the text is not YAML.
pub fn variants(text: &str) -> Result<Vec<String>, Diagnostics> {
    let source = Arc::new(SourceFile::new("pipeline.yaml", text));
    let root = yaml::parse(&source).map_err(|fault| Diagnostics::single(source, fault))?;
    let (_, sections) = take_variants(&root);
    let own = sections.into_iter().map(|section| section.key);
    Ok(std::iter::once(BASE_VARIANT.to_owned())
        .chain(own)
        .collect())
}

fn all_variants(
    vocabulary: &Vocabulary,
    id: &str,
    source: &Arc<SourceFile>,
    root: &YamlNode,
) -> (Vec<Reading>, Vec<Diagnostic>) {
    let (base, sections) = take_variants(root);
    let variant = |name: &str, differs| Variant {
        name: name.to_owned(),
        differs,
    };
    // The base is resolved together with `variants`, so that the keys of `variants` are checked once.
    let first = resolve(vocabulary, id, source, root, variant(BASE_VARIANT, false));
    let mut readings: Vec<Reading> = first.reading.into_iter().collect();
    let mut findings = first.diagnostics;
    let mut unused = first.unused;
    for section in sections {
        let Some(mut node) = base.clone() else {
            continue;
        };
        merge(&mut node, &section.value);
        let other = resolve(vocabulary, id, source, &node, variant(&section.key, true));
        readings.extend(other.reading);
        findings.extend(other.diagnostics);
        unused.retain(|one| other.unused.contains(one));
        // Things that exist only in the variant are not in the base's list.
        unused.extend(
            other
                .unused
                .into_iter()
                .filter(|one| is_inside(one.span, section.value.span)),
        );
    }
    // If there are errors, something that seems unused may be used in a part that could not be read.
    if findings.is_empty() {
        findings.extend(unused);
    }
    (readings, findings)
}

/// Returns the tree without `variants`, and the variants that are mappings.
fn take_variants(root: &YamlNode) -> (Option<YamlNode>, Vec<MappingEntry>) {
    let Kind::Mapping(entries) = &root.kind else {
        return (None, Vec::new());
    };
    let Some(place) = entries.iter().position(|entry| entry.key == "variants") else {
        return (None, Vec::new());
    };
    let mut base = entries.clone();
    let Kind::Mapping(mut sections) = base.remove(place).value.kind else {
        return (None, Vec::new());
    };
    sections.retain(|section| {
        let known = words::VARIANTS.key(&section.key).is_some();
        known && matches!(section.value.kind, Kind::Mapping(_))
    });
    let base = YamlNode {
        span: root.span,
        kind: Kind::Mapping(base),
    };
    (Some(base), sections)
}

fn is_inside(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
