//! The entry: one file, one variant.

use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Diagnostics, SourceFile, Span};
use crate::merge::merge;
use crate::model::{Pipeline, Variant};
use crate::parse::{Resolved, resolve};
use crate::suggest::nearest;
use crate::words;
use crate::yaml::{self, Entry, Kind, Node};

/// The variant that a file describes without `variants`.
pub const BASE_VARIANT: &str = "v1";

/// Loads a pipeline: `id` is the competition's, `file_name` what messages call the file.
///
/// Every variant of the file is checked, whichever is asked for. A known variant without a section of its own is the
/// base; [`Variant::differs`] tells.
///
/// # Errors
/// Everything that is wrong with the file; the first fault alone when it is not YAML. A variant that the language
/// does not know is a finding, too.
pub fn load(id: &str, file_name: &str, text: &str, variant: &str) -> Result<Pipeline, Diagnostics> {
    let source = Arc::new(SourceFile::new(file_name, text));
    let fail = |list| Diagnostics::new(Arc::clone(&source), list);
    let (findings, found) = match yaml::parse(&source) {
        Ok(root) => all_variants(id, &source, root, variant),
        Err(fault) => (vec![fault], None),
    };
    match (fail(findings), found) {
        (Some(diagnostics), _) => Err(diagnostics),
        (None, Some(pipeline)) => Ok(pipeline),
        (None, None) => {
            let message = "the pipeline is not complete";
            let fault = Diagnostic::error("missing-key", Span::default(), message);
            let source = Arc::clone(&source);
            Err(Diagnostics::of(source, fault))
        }
    }
}

/// The variants that a file tells of: always [`BASE_VARIANT`], then the keys of `variants`.
///
/// # Errors
/// The first fault where the text is not YAML.
pub fn variants(text: &str) -> Result<Vec<String>, Diagnostics> {
    let source = Arc::new(SourceFile::new("pipeline.yaml", text));
    let root = yaml::parse(&source).map_err(|fault| Diagnostics::of(source, fault))?;
    let (_, sections) = take_variants(&root);
    let own = sections.into_iter().map(|section| section.key);
    Ok(std::iter::once(BASE_VARIANT.to_owned())
        .chain(own)
        .collect())
}

fn all_variants(
    id: &str,
    source: &Arc<SourceFile>,
    root: Node,
    wanted: &str,
) -> (Vec<Diagnostic>, Option<Pipeline>) {
    let mut findings = Vec::new();
    let known = || words::VARIANTS.keys.iter().map(|key| key.name);
    if wanted != BASE_VARIANT && known().all(|name| name != wanted) {
        let message = format!("there is no variant `{wanted}`");
        let names = std::iter::once(BASE_VARIANT).chain(known());
        let found = Diagnostic::error("unknown-variant", Span::default(), message);
        findings.push(found.suggest(nearest(wanted, names)));
    }
    let (base, sections) = take_variants(&root);
    // `variants` itself stays in what the base is resolved from, so that its keys are checked once.
    let differs = sections.iter().any(|section| section.key == wanted);
    let variant = |name: &str, differs| Variant {
        name: name.to_owned(),
        differs,
    };
    let name = if differs { BASE_VARIANT } else { wanted };
    let first = resolve(id, source, &root, variant(name, false));
    let mut unused = first.unused;
    findings.extend(first.diagnostics);
    let mut found = first.pipeline.filter(|_| !differs);
    for section in sections {
        let Some(mut node) = base.clone() else {
            continue;
        };
        merge(&mut node, &section.value);
        let Resolved {
            pipeline,
            diagnostics,
            unused: also_unused,
        } = resolve(id, source, &node, variant(&section.key, true));
        findings.extend(diagnostics);
        unused.retain(|one| also_unused.contains(one));
        // What only the variant has is not in the base's list.
        unused.extend(
            also_unused
                .into_iter()
                .filter(|one| within(one.span, section.value.span)),
        );
        if section.key == wanted {
            found = pipeline;
        }
    }
    // What a mistake elsewhere hides may be what uses it.
    if findings.is_empty() {
        findings.extend(unused);
    }
    (findings, found)
}

/// The tree without `variants`, and the variants that are a mapping.
fn take_variants(root: &Node) -> (Option<Node>, Vec<Entry>) {
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
    let base = Node {
        span: root.span,
        kind: Kind::Mapping(base),
    };
    (Some(base), sections)
}

fn within(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
