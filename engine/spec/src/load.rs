//! Parses a pipeline file in all its variants.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::model::{Check, Pipeline, Reading, Spanned, Table, TableOrigin, Variant};
use crate::parse::{ParseState, ResolvedVariant, resolve};
use crate::text::diagnostic::{Diagnostic, Diagnostics, Severity, SourceFile, Span};
use crate::text::yaml;
use crate::text::yaml::{Kind, MappingEntry, Scalar, Style, YamlNode};
use crate::variant::{Corrections, FIXED_VARIANT, is_correction_name, variant_name};
use crate::words::{MAX_CORRECTIONS, Vocabulary};

/// Loads one variant of the pipeline of the competition `id`. Messages name the file `file_name`.
///
/// # Errors
/// If any variant has an error, or the variant is unknown.
pub fn load(
    vocabulary: &Vocabulary,
    id: &str,
    file_name: &str,
    text: &str,
    variant: &str,
) -> Result<Pipeline, Diagnostics> {
    read(vocabulary, id, file_name, text).finish(variant)
}

/// Same as [`load`], but parses only this variant. No variant of `text` may have errors or warnings; the caller must have
/// checked this. Returns `None` if the variant cannot be parsed.
pub fn load_checked(
    vocabulary: &Vocabulary,
    id: &str,
    file_name: &str,
    text: &str,
    variant: &str,
) -> Option<Pipeline> {
    let source = Arc::new(SourceFile::new(file_name, text));
    let root = yaml::parse(&source).ok()?;
    let wanted = Corrections::parse(variant).ok()?;
    let tree = CorrectedTree::new(&root);
    let places = tree.corrections.iter().enumerate();
    let selected = places.filter(|(_, one)| wanted.has(&one.key));
    let set = selected.fold(0, |set, (place, _)| set | 1 << place);
    let mut pipeline = tree.resolve(vocabulary, id, &source, set).reading?.pipeline;
    variant.clone_into(&mut pipeline.variant.name);
    Some(pipeline)
}

/// Parses a pipeline in all its variants, which are all combinations of its corrections.
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

/// Returns the names of a file's corrections in file order.
///
/// # Errors
/// If the text is not YAML.
pub fn corrections(text: &str) -> Result<Vec<String>, Diagnostics> {
    let source = Arc::new(SourceFile::new("pipeline.yaml", text));
    let root = yaml::parse(&source).map_err(|fault| Diagnostics::single(source, fault))?;
    Ok(CorrectedTree::new(&root).names())
}

/// Returns the names of a file's variants: `v1` (no corrections), `fixed` (all corrections), and one for each other
/// combination of corrections.
///
/// # Errors
/// If the text is not YAML.
pub fn variants(text: &str) -> Result<Vec<String>, Diagnostics> {
    let names = corrections(text)?;
    let sets = combinations(names.len());
    Ok(sets.map(|set| name_of(&names, set)).collect())
}

/// A set of corrections. Bit N stands for the correction with index N in the file.
type CorrectionSet = u32;

/// Returns the name of the variant with these corrections.
fn name_of(names: &[String], set: CorrectionSet) -> String {
    variant_name(names, |name| {
        let place = names.iter().position(|one| one == name);
        place.is_some_and(|place| has(set, place))
    })
}

fn has(set: CorrectionSet, place: usize) -> bool {
    set >> place & 1 == 1
}

/// Returns all subsets of `count` corrections: first the empty set, then the full set, then the others.
fn combinations(count: usize) -> impl Iterator<Item = CorrectionSet> {
    let full: CorrectionSet = (1 << count.min(MAX_CORRECTIONS)) - 1;
    let ends = std::iter::once(0).chain((full > 0).then_some(full));
    ends.chain(1..full)
}

/// Parses all variants. A diagnostic that several variants have is reported once.
fn all_variants(
    vocabulary: &Vocabulary,
    id: &str,
    source: Arc<SourceFile>,
    root: &YamlNode,
) -> ParsedFile {
    let tree = CorrectedTree::new(root);
    let (names, corrections) = (tree.names(), &tree.corrections);
    let mut readings = Vec::new();
    let mut findings = Vec::new();
    let mut unused: Vec<(CorrectionSet, Vec<Diagnostic>)> = Vec::new();
    let mut seen: BTreeSet<Diagnostic> = BTreeSet::new();
    for set in combinations(corrections.len()) {
        let resolved = tree.resolve(vocabulary, id, &source, set);
        readings.extend(resolved.reading);
        for mut one in resolved.diagnostics {
            if !seen.insert(one.clone()) {
                continue;
            }
            let mut latest_first = tree.selected(set).rev();
            if let (true, Some(base)) = (CONTRADICTIONS.contains(&one.code), &tree.base)
                && let Some(found) =
                    latest_first.find_map(|patch| inherited(base, &patch.value, one.span))
            {
                one = found.explain(one, &source);
            }
            // If the position of a diagnostic is not inside a correction, the position does not show the variant.
            // Therefore the message names the variant.
            let mut patches = corrections.iter().map(|patch| patch.value.span);
            if set > 0 && !patches.any(|patch| is_inside(one.span, patch)) {
                one.message += &format!(", in the variant `{}`", name_of(&names, set));
            }
            findings.push(one);
        }
        unused.push((set, resolved.unused));
    }
    // Unused declarations are reported only if there are no other findings, because a part with errors may use them.
    if findings.is_empty() {
        findings = always_unused(corrections, unused);
    }
    findings.extend(replaced_twice(corrections));
    ParsedFile {
        source,
        corrections: names,
        readings,
        findings,
    }
}

/// Returns a warning for each value that two corrections replace. A variant with both corrections contains only the value of
/// the later one.
fn replaced_twice(corrections: &[MappingEntry]) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (place, later) in corrections.iter().enumerate() {
        for earlier in corrections.iter().take(place) {
            if let Some(span) = common_value(&earlier.value, &later.value) {
                let (later, earlier) = (&later.key, &earlier.key);
                let message = format!(
                    "the correction `{later}` replaces a value that the correction `{earlier}` also replaces, so `fixed` \
                     does not contain the change of `{earlier}`"
                );
                let warning = Diagnostic::warning("replaced-correction", span, message);
                found.push(warning.help(
                    "make one correction of both, or let each of them change a table of its own",
                ));
            }
        }
    }
    found
}

/// Returns the position of the first value in `later` that replaces a value of `earlier`.
fn common_value(earlier: &YamlNode, later: &YamlNode) -> Option<Span> {
    let (Kind::Mapping(before), Kind::Mapping(after)) = (&earlier.kind, &later.kind) else {
        return Some(later.span);
    };
    after.iter().find_map(|entry| {
        let same = before.iter().find(|one| one.key == entry.key)?;
        common_value(&same.value, &entry.value)
    })
}

/// The codes of mistakes that arise if a key of a correction contradicts a key of the base. The base is the file without
/// corrections.
const CONTRADICTIONS: [&str; 3] = ["conflicting-keys", "missing-key", "unknown-key"];

/// A place in the base that may contradict a correction: a mapping in which the correction changes a value, or a key of
/// such a mapping that the correction does not change.
struct Inherited<'a> {
    /// The key of the base. The correction does not have this key. `None` for the mapping itself.
    key: Option<&'a MappingEntry>,
    /// The position of the first key that the correction changes in this mapping.
    correction: Span,
}

impl Inherited<'_> {
    /// Moves the position of `mistake` to the correction, and sets the help. The author must change the correction,
    /// because a change of the base would also change the variants without this correction.
    fn explain(&self, mut mistake: Diagnostic, source: &SourceFile) -> Diagnostic {
        mistake.span = self.correction;
        let key = self.key.filter(|_| mistake.code != "missing-key");
        if let Some(MappingEntry { key, key_span, .. }) = key {
            let (line, _) = source.position(key_span.start);
            mistake.message += &format!("; `{key}` is inherited from line {line}");
            mistake.help = Some(format!("write `{key}: null` in the correction"));
        }
        mistake
    }
}

/// Finds the innermost mapping of `base` that contains `span` and in which `patch` changes a value.
fn inherited<'a>(base: &'a YamlNode, patch: &YamlNode, span: Span) -> Option<Inherited<'a>> {
    let (Kind::Mapping(entries), Kind::Mapping(changes)) = (&base.kind, &patch.kind) else {
        return None;
    };
    let mut leaves = changes.iter();
    let leaf = leaves.find(|change| !matches!(change.value.kind, Kind::Mapping(_)));
    let of_key = |key| {
        let correction = leaf?.key_span;
        Some(Inherited { key, correction })
    };
    if span.start == base.span.start {
        return of_key(None);
    }
    let contains = |entry: &&MappingEntry| {
        let whole = Span::new(entry.key_span.start, entry.value.span.end);
        is_inside(span, whole) || is_inside(span, entry.key_span)
    };
    let entry = entries.iter().find(contains)?;
    match changes.iter().find(|change| change.key == entry.key) {
        Some(change) => inherited(&entry.value, &change.value, span),
        None => of_key(Some(entry)),
    }
}

/// Returns the declarations that are unused in every variant that contains them.
fn always_unused(
    corrections: &[MappingEntry],
    unused: Vec<(CorrectionSet, Vec<Diagnostic>)>,
) -> Vec<Diagnostic> {
    let sets: Vec<CorrectionSet> = unused.iter().map(|(set, _)| *set).collect();
    let count_of_declaring_variants = |one: &Diagnostic| {
        let mut others = corrections.iter().enumerate();
        let home = others.find(|(_, other)| is_inside(one.span, other.value.span));
        let is_declared = |set: &&CorrectionSet| home.is_none_or(|(place, _)| has(**set, place));
        sets.iter().filter(is_declared).count()
    };
    let mut counts: BTreeMap<Diagnostic, usize> = BTreeMap::new();
    for one in unused.into_iter().flat_map(|(_, list)| list) {
        *counts.entry(one).or_default() += 1;
    }
    counts.retain(|one, count| *count == count_of_declaring_variants(one));
    counts.into_keys().collect()
}

/// The YAML tree of a file, and its corrections.
struct CorrectedTree<'a> {
    root: &'a YamlNode,
    /// The tree without the section `variants`. `None` if the file has no corrections.
    base: Option<YamlNode>,
    corrections: Vec<MappingEntry>,
}

impl CorrectedTree<'_> {
    fn new(root: &YamlNode) -> CorrectedTree<'_> {
        let (base, corrections) = take_corrections(root).unwrap_or_default();
        CorrectedTree {
            root,
            base,
            corrections,
        }
    }

    fn names(&self) -> Vec<String> {
        self.corrections.iter().map(|one| one.key.clone()).collect()
    }

    /// Applies a set of corrections, and parses the variant.
    fn resolve(
        &self,
        vocabulary: &Vocabulary,
        id: &str,
        source: &Arc<SourceFile>,
        set: CorrectionSet,
    ) -> ResolvedVariant {
        let variant = Variant {
            name: name_of(&self.names(), set),
            differs: set > 0,
        };
        // Errors in the keys of the section `variants` are reported once, because only the base variant contains this section.
        let base = self.base.as_ref().filter(|_| set > 0);
        let Some(mut node) = base.cloned() else {
            return resolve(vocabulary, id, source, self.root, variant);
        };
        for one in self.selected(set) {
            merge(&mut node, &one.value);
        }
        resolve(vocabulary, id, source, &node, variant)
    }

    /// Returns the corrections in a set, in the order of the file.
    fn selected(&self, set: CorrectionSet) -> impl DoubleEndedIterator<Item = &MappingEntry> {
        let corrections = self.corrections.iter().enumerate();
        corrections.filter_map(move |(place, one)| has(set, place).then_some(one))
    }
}

/// Splits the YAML tree of a file into the tree without the key `variants`, and the corrections. Returns `None` if the file
/// has no corrections.
fn take_corrections(root: &YamlNode) -> Option<(Option<YamlNode>, Vec<MappingEntry>)> {
    let Kind::Mapping(entries) = &root.kind else {
        return None;
    };
    let place = entries.iter().position(|entry| entry.key == "variants")?;
    let mut base = entries.clone();
    let Kind::Mapping(sections) = base.remove(place).value.kind else {
        return None;
    };
    let mut sections = sections.into_iter();
    let fixed = sections.find(|entry| entry.key == FIXED_VARIANT);
    let Kind::Mapping(mut corrections) = fixed?.value.kind else {
        return None;
    };
    corrections
        .retain(|one| is_correction_name(&one.key) && matches!(one.value.kind, Kind::Mapping(_)));
    corrections.truncate(MAX_CORRECTIONS);
    let base = YamlNode {
        span: root.span,
        kind: Kind::Mapping(base),
    };
    Some((Some(base), corrections))
}

fn is_inside(inner: Span, outer: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// A parsed file: its variants, as far as they could be parsed, and the errors found so far.
#[derive(Debug, Clone)]
pub struct ParsedFile {
    pub(crate) source: Arc<SourceFile>,
    pub(crate) corrections: Vec<String>,
    /// The variants. The first is the base variant, without corrections.
    pub(crate) readings: Vec<Reading>,
    pub(crate) findings: Vec<Diagnostic>,
}

impl ParsedFile {
    /// Returns the variants of the file, the base variant first. Empty if nothing could be parsed.
    pub fn readings(&self) -> &[Reading] {
        &self.readings
    }

    /// Adds the errors and warnings of another check.
    pub fn report(&mut self, findings: impl IntoIterator<Item = Diagnostic>) {
        self.findings.extend(findings);
    }

    /// Returns the pipeline in the variant named `variant`, with the warnings about all variants.
    ///
    /// All competitions of a run use the same variant. Therefore `variant` may contain corrections that this pipeline does not
    /// have, and such corrections are ignored.
    ///
    /// # Errors
    /// If any variant has an error, or the variant is unknown.
    pub fn finish(mut self, variant: &str) -> Result<Pipeline, Diagnostics> {
        let chosen = match Corrections::parse(variant) {
            Ok(corrections) => self.position(&corrections),
            Err(message) => {
                let found = Diagnostic::error("unknown-variant", Span::default(), message);
                self.findings.push(found);
                0
            }
        };
        let findings = std::mem::take(&mut self.findings).into_iter();
        let is_error = |one: &Diagnostic| one.severity == Severity::Error;
        let (mut errors, warnings): (Vec<_>, Vec<_>) = findings.partition(is_error);
        if errors.is_empty() && chosen >= self.readings.len() {
            let message = "the pipeline is not complete";
            errors.push(Diagnostic::error("missing-key", Span::default(), message));
        }
        if let Some(found) = Diagnostics::new(Arc::clone(&self.source), errors) {
            return Err(found);
        }
        let mut pipeline = self.readings.swap_remove(chosen).pipeline;
        pipeline.warnings = Diagnostics::new(self.source, warnings);
        variant.clone_into(&mut pipeline.variant.name);
        Ok(pipeline)
    }

    /// Returns the index of the variant with these corrections. Ignores corrections that the file does not have.
    fn position(&self, corrections: &Corrections) -> usize {
        let name = variant_name(&self.corrections, |name| corrections.has(name));
        let mut readings = self.readings.iter();
        let place = readings.position(|one| one.pipeline.variant.name == name);
        place.unwrap_or(0)
    }
}

/// Applies `patch` to `base`: merges mappings, replaces other values, and removes keys whose value is null.
pub fn merge(base: &mut YamlNode, patch: &YamlNode) {
    let (Kind::Mapping(entries), Kind::Mapping(changes)) = (&mut base.kind, &patch.kind) else {
        *base = patch.clone();
        return;
    };
    for change in changes {
        let place = entries.iter().position(|entry| entry.key == change.key);
        match place {
            Some(place) if change.value.is_null() => {
                entries.remove(place);
            }
            Some(place) => {
                if let Some(entry) = entries.get_mut(place) {
                    merge(&mut entry.value, &change.value);
                }
            }
            None => entries.push(change.clone()),
        }
    }
}

/// Returns a copy of `pipeline` that has no outputs and only one check. The check has the name `name` and the query `query`.
///
/// # Errors
/// If the query is invalid, or reads a table that does not exist.
pub fn query_pipeline(
    pipeline: &Pipeline,
    vocabulary: &Vocabulary,
    name: &str,
    query: &str,
) -> Result<Pipeline, Diagnostics> {
    let source = Arc::new(SourceFile::new("query", query));
    let mut state = ParseState::new(vocabulary, Arc::clone(&source));
    let lists = pipeline.lists.iter();
    let lists = lists.map(|(name, texts)| (name.value.clone(), texts.clone()));
    state.lists.texts = Arc::new(lists.collect());
    let span = Span::new(0, query.len());
    let node = YamlNode {
        span,
        kind: Kind::Scalar(Scalar {
            text: query.to_owned(),
            style: Style::Plain,
        }),
    };
    let query = state.query(&node);
    let mut tables = pipeline.tables.clone();
    for (_, table) in std::mem::take(&mut state.reads.mentions) {
        let mut lists = pipeline.lists.iter();
        if tables.iter().any(|one| one.has(&table.value)) {
            continue;
        }
        match lists.find(|(name, _)| name.value == table.value) {
            Some((name, texts)) => tables.push(Table {
                names: vec![name.clone()],
                made: TableOrigin::List(texts.clone()),
            }),
            None => {
                let names = tables.iter().flat_map(|table| &table.names);
                let names = names.map(|name| name.value.as_str());
                state.unknown_table(&table, names);
            }
        }
    }
    if let Some(found) = Diagnostics::new(Arc::clone(&source), state.diagnostics) {
        return Err(found);
    }
    let name = Spanned {
        value: name.to_owned(),
        span,
    };
    let check = query.map(|query| Check { name, query });
    Ok(Pipeline {
        tables,
        public: Vec::new(),
        private: Vec::new(),
        checks: check.into_iter().collect(),
        grade: None,
        source,
        warnings: None,
        ..pipeline.clone()
    })
}
