//! `public`, `private`, and the members of archives.

use std::collections::BTreeMap;

use super::tables::extension;
use crate::context::{Context, Fields};
use crate::diagnostic::Diagnostic;
use crate::model::{ArchiveKind, Output, OutputKind, Quoting, Spanned};
use crate::words::{self, Section};
use crate::yaml::{Kind, Node};

/// The formats that an output's name can ask for.
const KNOWN: &str =
    "names that tell it end in .csv, .tsv, .json, .parquet, .npy, or in `/` for a folder of files";

impl Context {
    /// Outputs below one folder. `wanted` says in a message what they are.
    pub fn outputs(&mut self, node: &Node, wanted: &str) -> Vec<Output> {
        let wanted = format!("outputs by path in `{wanted}`");
        let entries = self.entries(node, &wanted, "duplicate-output", "the output");
        let mut outputs = Vec::new();
        for entry in entries.unwrap_or_default() {
            self.check_path(&entry.key, entry.key_span);
            let path = Spanned {
                value: entry.key.clone(),
                span: entry.key_span,
            };
            let kind = match &entry.value.kind {
                Kind::Mapping(_) => self.output(&path, &entry.value),
                _ => self.by_name(&path, &entry.value),
            };
            if let Some(kind) = kind {
                self.check_shape(&path, &kind);
                outputs.push(Output { path, kind });
            }
        }
        self.check_places(&outputs);
        outputs
    }

    /// A query whose output's name tells the format.
    fn by_name(&mut self, path: &Spanned<String>, node: &Node) -> Option<OutputKind> {
        let query = self.query(node);
        if path.value.ends_with('/') {
            return Some(OutputKind::Files { query: query? });
        }
        let kind = extension(&path.value);
        match kind.as_str() {
            "csv" | "tsv" => Some(OutputKind::Csv {
                query: query?,
                delimiter: default_delimiter(&path.value),
                quoting: Quoting::Minimal,
            }),
            "json" => Some(OutputKind::Json {
                query: query?,
                indent: None,
            }),
            "parquet" => Some(OutputKind::Parquet { query: query? }),
            "npy" => Some(OutputKind::Npy { query: query? }),
            _ => {
                let message = format!("the name `{}` does not tell a format", path.value);
                let help = format!("{KNOWN}; or write `{{ csv: SELECT ... }}`");
                self.report(Diagnostic::error("unknown-format", path.span, message).help(help));
                None
            }
        }
    }

    fn output(&mut self, path: &Spanned<String>, node: &Node) -> Option<OutputKind> {
        let (section, fields) = self.one_of(node, words::OUTPUTS, "an output")?;
        let head = fields.get(section.head());
        match section.head() {
            "csv" => self.csv(&path.value, &fields),
            "json" => {
                let indent = fields.get("indent").and_then(|node| self.natural(node));
                let query = self.query(head?)?;
                Some(OutputKind::Json { query, indent })
            }
            "parquet" => Some(OutputKind::Parquet {
                query: self.query(head?)?,
            }),
            "npy" => Some(OutputKind::Npy {
                query: self.query(head?)?,
            }),
            "lines" => Some(OutputKind::Lines {
                query: self.query(head?)?,
            }),
            "copy" => Some(OutputKind::Copy(self.path(head?)?)),
            "empty" => {
                let word = self.text(head?, "`true`")?;
                if word.value != "true" {
                    let message = format!("expected `true`, found `{}`", word.value);
                    let help = "an empty folder is written `empty: true`; remove the output if it is not wanted";
                    self.report(Diagnostic::error("wrong-type", word.span, message).help(help));
                }
                Some(OutputKind::Empty)
            }
            _ => self.archive(section, head?),
        }
    }

    fn csv(&mut self, path: &str, fields: &Fields<'_>) -> Option<OutputKind> {
        let query = fields.get("csv").and_then(|node| self.query(node));
        let delimiter = match fields.get("delimiter") {
            Some(node) => self.delimiter(node)?,
            None => default_delimiter(path),
        };
        let quoting = fields
            .get("quoting")
            .and_then(|node| self.word(node, words::QUOTING));
        Some(OutputKind::Csv {
            query: query?,
            delimiter,
            quoting: match quoting {
                Some("nonnumeric") => Quoting::NonNumeric,
                _ => Quoting::Minimal,
            },
        })
    }

    fn archive(&mut self, section: &Section, node: &Node) -> Option<OutputKind> {
        let kind = match section.head() {
            "zip" => ArchiveKind::Zip,
            "zip_stored" => ArchiveKind::ZipStored,
            "tar" => ArchiveKind::Tar,
            _ => ArchiveKind::SevenZip,
        };
        let members = self.outputs(node, section.head());
        Some(OutputKind::Archive { kind, members })
    }

    /// Folders end in `/`, files do not.
    fn check_shape(&mut self, path: &Spanned<String>, kind: &OutputKind) {
        let folder = path.value.ends_with('/');
        let wanted = match kind {
            OutputKind::Files { .. } | OutputKind::Empty => true,
            OutputKind::Copy(from) => from.value.ends_with('/'),
            _ => false,
        };
        if folder == wanted {
            return;
        }
        let shown = &path.value;
        let (message, help) = match (kind, folder) {
            (OutputKind::Copy(from), true) => (
                format!("`{shown}` is a folder, but `{}` is a file", from.value),
                format!(
                    "copy a folder: `{}/`; or name the file that is written",
                    from.value
                ),
            ),
            (OutputKind::Copy(from), false) => (
                format!("`{shown}` is a file, but `{}` is a folder", from.value),
                format!("write `{shown}/`"),
            ),
            (_, true) => (
                format!("`{shown}` is a folder, but its content is one file"),
                "remove the `/` at its end".to_owned(),
            ),
            (_, false) => (
                format!("`{shown}` is a file, but its content is a folder"),
                format!("write `{shown}/`"),
            ),
        };
        self.report(Diagnostic::error("folder-or-file", path.span, message).help(help));
    }

    /// No output is in the way of another: a file has nothing below it, an empty folder stays empty.
    fn check_places(&mut self, outputs: &[Output]) {
        let mut taken: BTreeMap<&str, &Output> = BTreeMap::new();
        for output in outputs {
            let name = output.path.value.trim_end_matches('/');
            if let Some(other) = taken.insert(name, output) {
                let (path, first) = (&output.path, &other.path);
                let message = format!("`{}` and `{}` have the same name", path.value, first.value);
                let found = Diagnostic::error("duplicate-output", path.span, message);
                self.report(found.label(first.span, "first here"));
            }
        }
        for output in outputs {
            let path = &output.path;
            let above = path.value.trim_end_matches('/').match_indices('/');
            for (at, _) in above {
                let folder = path.value.get(..at).unwrap_or_default();
                let Some(other) = taken.get(folder) else {
                    continue;
                };
                let what = match other.kind {
                    OutputKind::Empty => "a folder that stays empty",
                    _ if other.path.value.ends_with('/') => continue,
                    _ => "a file",
                };
                let message = format!(
                    "`{}` lies below `{}`, which is {what}",
                    path.value, other.path.value
                );
                let found = Diagnostic::error("output-conflict", path.span, message);
                self.report(found.label(other.path.span, "written here"));
            }
        }
    }
}

fn default_delimiter(path: &str) -> u8 {
    if extension(path) == "tsv" {
        b'\t'
    } else {
        b','
    }
}
