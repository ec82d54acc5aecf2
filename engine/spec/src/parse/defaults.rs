//! Parses `defaults`: values of optional keys for all tables and outputs of a kind.

use std::collections::BTreeMap;

use super::state::{ParseState, quoted};
use crate::text::diagnostic::{Diagnostic, Span};
use crate::text::suggest::nearest;
use crate::text::yaml::{MappingEntry, YamlNode};
use crate::words::{KindSpec, SectionKey};

/// The default values of one kind.
pub struct KindDefaults {
    pub span: Span,
    pub values: BTreeMap<&'static str, YamlNode>,
    pub is_used: bool,
}

impl ParseState {
    pub(super) fn defaults(&mut self, node: &YamlNode) {
        let entries = self.entries(node, "defaults by kind", "duplicate-key", "key");
        let forms: Vec<&'static KindSpec> = self.vocabulary.kinds_with_options().collect();
        let heads = || forms.iter().map(|form| form.head());
        for entry in entries.unwrap_or_default() {
            let Some(form) = forms.iter().find(|form| form.head() == entry.key) else {
                let message = format!("there is no kind `{}` with optional keys", entry.key);
                let found = Diagnostic::error("unknown-key", entry.key_span, message);
                let help = format!("the kinds are {}", quoted(heads()));
                self.report(found.suggest_or(nearest(&entry.key, heads()), help));
                continue;
            };
            self.kind_defaults(form, entry);
        }
    }

    fn kind_defaults(&mut self, form: &'static KindSpec, entry: &MappingEntry) {
        let keys = form.optional_keys();
        let names = || keys.iter().map(|key| key.name);
        let Some(entries) = self.keys(&entry.value, "the defaults of a kind") else {
            return;
        };
        let mut values = BTreeMap::new();
        for one in entries {
            if let Some(name) = names().find(|name| *name == one.key) {
                values.insert(name, one.value.clone());
                continue;
            }
            let is_required = form.keys(None).any(|key| key.name == one.key);
            let message = match is_required {
                true => format!("`{}` is not an optional key of `{}`", one.key, entry.key),
                false => format!("`{}` has no key `{}`", entry.key, one.key),
            };
            let found = Diagnostic::error("unknown-key", one.key_span, message);
            let help = format!("its keys are {}", quoted(names()));
            self.report(found.suggest_or(nearest(&one.key, names()), help));
        }
        let defaults = KindDefaults {
            span: entry.key_span,
            values,
            is_used: false,
        };
        self.defaults.insert(form.head(), defaults);
    }

    /// Returns the default value of a key.
    pub(super) fn default_of(&mut self, form: &KindSpec, key: &SectionKey) -> Option<YamlNode> {
        let defaults = self.defaults.get_mut(form.head())?;
        let value = defaults.values.get(key.name)?;
        defaults.is_used = true;
        (!value.is_null()).then(|| value.clone())
    }
}
