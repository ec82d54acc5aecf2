//! Parses the paths in `grade`, and converts the rest of the section to JSON.

use std::collections::BTreeMap;

use super::json;
use super::state::ParseState;
use crate::model::{Grade, Output, Spanned};
use crate::text::diagnostic::Diagnostic;
use crate::text::suggest::nearest;
use crate::text::yaml::{Kind, YamlNode};
use crate::words::{self, Produces};

/// The default of the key `sample`.
const SAMPLE: &str = "public/sample_submission.csv";

impl ParseState {
    pub fn grade(
        &mut self,
        node: &YamlNode,
        public: &[Output],
        private: &[Output],
    ) -> Option<Spanned<Grade>> {
        let entries = self.keys(node, words::GRADE.name)?;
        let fields = self.select(&entries, node, &words::GRADE, words::GRADE.name);
        let answers = fields.get("answers").and_then(|node| self.path(node));
        let sample = match fields.get("sample") {
            Some(node) => self.path(node),
            None => Some(Spanned {
                value: SAMPLE.to_owned(),
                span: node.span,
            }),
        };
        let invalid_sample = fields.get("invalid_sample");
        let invalid_sample = invalid_sample.and_then(|node| self.text(node, "a reason"));
        if let Some(answers) = &answers
            && !answers.value.starts_with("private/")
        {
            let message = format!("the answers `{}` are not private", answers.value);
            let help = "write the path of a private output, for example `private/answers.csv`";
            self.report(Diagnostic::error("public-answers", answers.span, message).help(help));
        }
        let is_default = fields.get("sample").is_none();
        for (path, expected_prefix, is_default) in [
            (&answers, "private/", false),
            (&sample, "public/", is_default),
        ] {
            if let Some(path) = path {
                self.check_made(path, (expected_prefix, is_default), [public, private]);
            }
        }
        let own = |key: &str| words::GRADE.key(key).is_some();
        let mut rest = node.clone();
        if let Kind::Mapping(entries) = &mut rest.kind {
            entries.retain(|entry| !own(&entry.key));
        }
        let mut places = BTreeMap::new();
        let rules = json::tree(self, &rest, "", &mut places);
        // A missing path was already reported. The rest of the section can still be checked.
        let nothing = || Spanned {
            value: String::new(),
            span: node.span,
        };
        let value = Grade {
            answers: answers.unwrap_or_else(nothing),
            sample: sample.unwrap_or_else(nothing),
            invalid_sample: invalid_sample.map(|reason| reason.value),
            rules,
            places,
        };
        Some(Spanned {
            value,
            span: node.span,
        })
    }

    /// Reports a path that no output creates. Any path below an output directory is accepted. Suggests an output whose path
    /// begins with `expected_prefix`: `public/` or `private/`. `is_default` states that the path is the default of `sample`,
    /// which the pipeline does not contain.
    fn check_made(
        &mut self,
        path: &Spanned<String>,
        (expected_prefix, is_default): (&str, bool),
        [public, private]: [&[Output]; 2],
    ) {
        let mut all: Vec<String> = Vec::new();
        for (section, outputs) in [("public", public), ("private", private)] {
            let is_empty =
                |output: &&Output| matches!(output.declaration.form.makes, Produces::Empty);
            let outputs = outputs.iter().filter(|output| !is_empty(output));
            let paths = outputs.map(|output| output.path.value.as_str());
            let paths = paths.map(|path| path.strip_prefix("./").unwrap_or(path));
            all.extend(paths.map(|path| format!("{section}/{path}")));
        }
        let made = all.iter().any(|output| match output.ends_with('/') {
            true => path.value.starts_with(output.as_str()) && path.value != *output,
            false => path.value == *output,
        });
        if made || self.unread_outputs.contains(&path.value) {
            return;
        }
        let message = format!("no output creates `{}`", path.value);
        let found = Diagnostic::error("unknown-output", path.span, message);
        // An output with the requested file name is a better suggestion than an output with a similar path.
        all.retain(|output| output.starts_with(expected_prefix));
        let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let same = all.iter().find(|output| name(output) == name(&path.value));
        let same = same.map(String::as_str);
        let near = same.or_else(|| nearest(&path.value, all.iter().map(String::as_str)));
        let help = "write it as `public/NAME` or `private/NAME`, where NAME is an output";
        self.report(match is_default {
            true => found.help("add this output, or write the path of the sample submission: `sample: public/NAME`"),
            false => found.suggest_or(near, help),
        });
    }
}
