//! Converts the YAML nodes of a pipeline into the [`model`](crate::model). A pipeline with several [variants](Variant) is
//! converted once for each variant.

mod checks;
mod declared;
mod grade;
mod items;
mod json;
mod links;
mod outputs;
mod paths;
mod sources;
mod state;
mod tables;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Bundle, Pipeline, Reading, Spanned, Table, Variant};
use crate::text::diagnostic::{Diagnostic, SourceFile, Span};
use crate::text::yaml::YamlNode;
use crate::variant::{FIXED_VARIANT, is_correction_name};
use crate::words::{self, MAX_CORRECTIONS, Vocabulary};
use state::TableUser;

pub use state::{Fields, ParseState};

pub struct ResolvedVariant {
    /// The variant, as far as it could be parsed. `None` if the file is not a mapping.
    pub reading: Option<Reading>,
    pub diagnostics: Vec<Diagnostic>,
    /// Declarations that this variant does not use. They are reported if no variant uses them.
    pub unused: Vec<Diagnostic>,
}

pub fn resolve(
    vocabulary: &Vocabulary,
    id: &str,
    source: &Arc<SourceFile>,
    root: &YamlNode,
    variant: Variant,
) -> ResolvedVariant {
    let mut context = ParseState::new(vocabulary, Arc::clone(source));
    let mut unused = Vec::new();
    let pipeline = pipeline(&mut context, id, root, variant, &mut unused);
    let unread = context.unread;
    ResolvedVariant {
        reading: pipeline.map(|pipeline| Reading { pipeline, unread }),
        diagnostics: context.diagnostics,
        unused,
    }
}

fn pipeline(
    context: &mut ParseState,
    id: &str,
    root: &YamlNode,
    variant: Variant,
    unused: &mut Vec<Diagnostic>,
) -> Option<Pipeline> {
    let fields = context.fields(root, &words::PIPELINE)?;
    let text = |context: &mut ParseState, key| {
        let text = context.text(fields.get(key)?, "a string")?;
        Some(text.value)
    };
    let name = text(context, "name");
    let category = text(context, "category");
    let bundle = fields.get("bundle").and_then(|node| context.bundle(node));
    let sources = fields.get("sources").map(|node| context.sources(node));
    let lists = fields.get("lists").map(|node| context.lists(node));
    if let Some(node) = fields.get("defaults") {
        context.defaults(node);
    }
    let tables = fields.get("tables").map(|node| context.tables(node));
    let mut tables: Vec<Table> = tables.unwrap_or_default();
    context.reads.reader = TableUser::End;
    let mut section = |key: &str| {
        let node = fields.get(key)?;
        Some(context.outputs(node, key))
    };
    let public = section("public").unwrap_or_default();
    let private = section("private").unwrap_or_default();
    let checks = fields.get("checks").map(|node| context.checks(node));
    let accepted = fields.get("accepted").map(|node| context.accepted(node));
    let grade = fields.get("grade");
    let grade = grade.and_then(|node| context.grade(node, &public, &private));
    if let Some(node) = fields.get("variants") {
        context.variants(node);
    }
    let lists = lists.unwrap_or_default();
    links::lists_as_tables(context, &lists, &mut tables);
    links::check(context, &tables, unused);
    links::unused_lists(context, &lists, unused);
    links::unused_defaults(context, unused);
    let sources = sources.unwrap_or_default();
    links::unused_sources(context, &sources, unused);
    if fields.get("bundle").is_none() {
        context.require_bundle(root, sources.is_empty());
    }
    Some(Pipeline {
        id: id.to_owned(),
        name: name.unwrap_or_default(),
        category: category.unwrap_or_default(),
        bundle,
        sources,
        lists,
        tables,
        public,
        private,
        checks: checks.unwrap_or_default(),
        accepted: accepted.unwrap_or_default(),
        grade,
        variant,
        source: Arc::clone(&context.source),
        warnings: None,
    })
}

impl ParseState {
    fn bundle(&mut self, node: &YamlNode) -> Option<Bundle> {
        let fields = self.fields(node, &words::BUNDLE)?;
        let kaggle = fields
            .get("kaggle")
            .and_then(|node| self.text(node, "Kaggle's name of the competition"));
        let md5 = fields.get("md5").and_then(|node| self.md5(node));
        Some(Bundle {
            kaggle: kaggle?.value,
            md5,
        })
    }

    /// Reports that `bundle` is missing, if a path of the pipeline refers to the bundle, or if there are no other sources.
    fn require_bundle(&mut self, root: &YamlNode, has_no_sources: bool) {
        let start = Span::new(root.span.start, root.span.start);
        let example = || words::PIPELINE.key("bundle").map_or("", |key| key.example);
        let (span, help) = match self.sources.in_bundle {
            _ if has_no_sources => (start, format!("for example `bundle: {}`", example())),
            Some(span) => (
                span,
                "write `NAME:path` for a file of the source `NAME`, or add `bundle: { kaggle: ID }`"
                    .to_owned(),
            ),
            None => return,
        };
        let message = "the pipeline lacks `bundle`";
        self.report(Diagnostic::error("missing-key", span, message).help(help));
    }

    fn md5(&mut self, node: &YamlNode) -> Option<String> {
        self.hex_digits(node, "an MD5", 32, "bad-md5")
    }

    fn hex_digits(
        &mut self,
        node: &YamlNode,
        what: &str,
        count: usize,
        code: &'static str,
    ) -> Option<String> {
        let text = self.text(node, what)?.value;
        let are_digits = text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if text.len() == count && are_digits {
            return Some(text.to_ascii_lowercase());
        }
        let message = format!("`{text}` is not {what}");
        let length = text.chars().count();
        let help = format!("{what} has {count} hex digits; this value has {length} characters");
        self.report(Diagnostic::error(code, node.span, message).help(help));
        None
    }

    fn lists(&mut self, node: &YamlNode) -> Vec<(Spanned<String>, Vec<String>)> {
        let entries = self.entries(node, "lists by name", "duplicate-list", "the list");
        let mut lists = Vec::new();
        for entry in entries.unwrap_or_default() {
            let name = self.name(&entry.key, entry.key_span, "the name of a list");
            let texts = self.texts(&entry.value);
            Arc::make_mut(&mut self.lists.texts).insert(entry.key.clone(), texts.clone());
            self.lists.places.insert(entry.key.clone(), entry.key_span);
            lists.push((name, texts));
        }
        lists
    }

    /// Checks the names of corrections. Their content is parsed after it is merged into the pipeline.
    fn variants(&mut self, node: &YamlNode) {
        let Some(fields) = self.fields(node, &words::VARIANTS) else {
            return;
        };
        let Some(node) = fields.get(FIXED_VARIANT) else {
            return;
        };
        let (expected, code) = ("corrections by name", "duplicate-correction");
        let corrections = self.entries(node, expected, code, "the correction");
        let corrections = corrections.unwrap_or_default();
        for one in corrections.iter().skip(MAX_CORRECTIONS).take(1) {
            let message = format!("a pipeline can have at most {MAX_CORRECTIONS} corrections");
            self.error("too-many-corrections", one.key_span, message);
        }
        for one in corrections {
            let is_section = words::PIPELINE.key(&one.key).is_some();
            if is_section || !is_correction_name(&one.key) {
                let message = format!("`{}` cannot be the name of a correction", one.key);
                let found = Diagnostic::error("bad-correction", one.key_span, message);
                self.report(found.help(
                    "name the correction by the number of an upstream issue, or by a word: `fixed: { 63: { public: ... } }`",
                ));
                continue;
            }
            self.keys(&one.value, "a correction");
        }
    }

    /// Parses a list of strings. Reports duplicates.
    pub fn texts(&mut self, node: &YamlNode) -> Vec<String> {
        self.texts_of(node, |state, item| {
            state.text(item, "a string").into_iter().collect()
        })
    }

    /// Parses a list of different strings. `parse` returns the strings of an item.
    pub fn texts_of(
        &mut self,
        node: &YamlNode,
        parse: impl Fn(&mut Self, &YamlNode) -> Vec<Spanned<String>>,
    ) -> Vec<String> {
        let mut texts = Vec::new();
        let Some(items) = self.list(node, "a list of strings") else {
            return Vec::new();
        };
        if items.is_empty() {
            self.error("empty-list", node.span, "the list is empty");
        }
        let mut seen = BTreeMap::new();
        let texts_of_items: Vec<_> = items.iter().flat_map(|item| parse(self, item)).collect();
        for text in texts_of_items {
            if let Some(first) = seen.insert(text.value.clone(), text.span) {
                let message = format!("`{}` is in the list twice", text.value);
                let found = Diagnostic::error("duplicate-text", text.span, message);
                self.report(found.label(first, "first here"));
                continue;
            }
            texts.push(text.value);
        }
        texts
    }

    fn accepted(&mut self, node: &YamlNode) -> Vec<(Spanned<String>, String)> {
        let entries = self.entries(node, "reasons by name", "duplicate-key", "the reason for");
        let mut accepted = Vec::new();
        for entry in entries.unwrap_or_default() {
            let reason = self.text(&entry.value, "a reason");
            accepted.extend(reason.map(|reason| (entry.name(), reason.value)));
        }
        accepted
    }
}
