//! Formats plain tables. Columns are as wide as their cells and separated by two spaces.

use std::borrow::Cow;
use std::fmt::Write as _;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Level, Renderer, Snippet};
use prep_app::RemovedFiles;
use prep_core::units;
use prep_spec::{Diagnostic, Diagnostics, Severity, SourceFile, Span, shortened};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

#[derive(Debug)]
pub struct PrintedTable {
    columns: Vec<(String, Align)>,
    /// All cells, row by row, in one string because a table may have millions of cells.
    cells: String,
    /// The end of each cell in `cells`.
    ends: Vec<usize>,
    /// Columns that a narrow terminal omits, the least important one first.
    optional: &'static [&'static str],
}

impl PrintedTable {
    pub fn new(columns: &[(&str, Align)]) -> PrintedTable {
        let columns = columns.iter();
        PrintedTable {
            columns: columns
                .map(|(name, align)| ((*name).to_owned(), *align))
                .collect(),
            cells: String::new(),
            ends: Vec::new(),
            optional: &[],
        }
    }

    /// Creates a table from a header line, in which two spaces separate the headings.
    /// A `>` before a heading aligns its column to the right.
    pub fn with_header(header: &str) -> PrintedTable {
        let columns = header.split(GAP).map(|name| match name.strip_prefix('>') {
            Some(name) => (name, Align::Right),
            None => (name, Align::Left),
        });
        PrintedTable::new(&columns.collect::<Vec<_>>())
    }

    /// Sets the columns that a narrow terminal omits, the least important one first.
    #[must_use]
    pub fn optional(self, optional: &'static [&'static str]) -> PrintedTable {
        PrintedTable { optional, ..self }
    }

    /// Adds a row. Missing cells are empty.
    pub fn row(&mut self, cells: Vec<String>) {
        let cells = cells.iter().map(String::as_str);
        let cells = cells.chain(std::iter::repeat(""));
        for cell in cells.take(self.columns.len()) {
            // A cell must be one line, but a file name may contain line breaks.
            self.cells
                .extend(cell.chars().map(|c| if c.is_control() { ' ' } else { c }));
            self.ends.push(self.cells.len());
        }
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let ranges = starts.zip(&self.ends);
        ranges.map(|(start, end)| self.cells.get(*start..*end).unwrap_or_default())
    }

    /// Formats all columns. Each line ends with a newline and has no trailing spaces.
    pub fn render(&self) -> String {
        self.text(&[], usize::MAX)
    }

    /// Formats lines of at most `width` characters. If the table is too wide, omits optional columns. If the table is still
    /// too wide, shortens the first column to at least `MIN_FIRST_COLUMN_WIDTH` characters. Lines may still exceed `width`.
    pub fn format_within(&self, width: usize) -> String {
        let mut left_out = Vec::new();
        for name in self.optional {
            if self.width(&left_out) <= width {
                break;
            }
            left_out.push(*name);
        }
        let over = self.width(&left_out).saturating_sub(width);
        let first = self.widths().first().copied().unwrap_or(0);
        self.text(
            &left_out,
            first.saturating_sub(over).max(MIN_FIRST_COLUMN_WIDTH),
        )
    }

    /// Returns each column's width in characters. Cells longer than [`MAX_WIDTH`] do not widen their column.
    fn widths(&self) -> Vec<usize> {
        let names = self.columns.iter().map(|(name, _)| name.chars().count());
        let mut widths: Vec<usize> = names.collect();
        for (number, cell) in self.cells().enumerate() {
            if let Some(width) = widths.get_mut(number % self.columns.len()) {
                *width = cell.chars().take(MAX_WIDTH).count().max(*width);
            }
        }
        widths
    }

    fn width(&self, left_out: &[&str]) -> usize {
        let shown = self.columns.iter().zip(self.widths());
        let shown = shown.filter(|((name, _), _)| !left_out.contains(&name.as_str()));
        let widths: Vec<usize> = shown.map(|(_, width)| width).collect();
        widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1)
    }

    /// Formats the table without the columns in `left_out`. `first` is the maximum width of the first column.
    fn text(&self, left_out: &[&str], first: usize) -> String {
        let widths = self.widths();
        let names = self.columns.iter().map(|(name, _)| name.as_str());
        let (mut text, mut line) = (String::new(), String::new());
        for (number, cell) in names.chain(self.cells()).enumerate() {
            let column = number % self.columns.len();
            let (Some((name, align)), Some(width)) = (self.columns.get(column), widths.get(column))
            else {
                continue;
            };
            if !left_out.contains(&name.as_str()) {
                let (cell, width) = match column {
                    0 => (Cow::Owned(shortened(cell, first)), *width.min(&first)),
                    _ => (Cow::Borrowed(cell), *width),
                };
                let _ = match align {
                    Align::Left => write!(line, "{cell:<width$}{GAP}"),
                    Align::Right => write!(line, "{cell:>width$}{GAP}"),
                };
            }
            if column + 1 == self.columns.len() {
                text.push_str(line.trim_end());
                text.push('\n');
                line.clear();
            }
        }
        text
    }
}

/// Returns the disk space that the removal of files frees, or `-` if there are no files.
pub fn freed(removed: RemovedFiles) -> String {
    match removed.files {
        0 => "-".to_owned(),
        _ => units::bytes(removed.freed_bytes),
    }
}

/// Maximum width of a column, in characters. A single longer cell widens only its own row.
const MAX_WIDTH: usize = 200;

const GAP: &str = "  ";

const MIN_FIRST_COLUMN_WIDTH: usize = 12;

/// Maximum length of a printed text from a file, such as a name or a cell, in characters. Longer texts are shortened.
const MAX_TEXT: usize = 200;

/// Formats text from files, such as a name or a cell, for one line:
/// replaces line breaks and control characters with spaces, and shortens the text.
pub fn one_line(text: &str) -> String {
    prep_spec::one_line(text, MAX_TEXT)
}

/// Renders mistakes and warnings in a pipeline, with an empty line after each.
/// The text has colours, which the printer removes if the user disables them.
pub fn render(diagnostics: &Diagnostics) -> String {
    let renderer = Renderer::styled().decor_style(DecorStyle::Ascii);
    let mut text = String::new();
    for diagnostic in diagnostics {
        let report = report(diagnostics.source(), diagnostic);
        text.push_str(&renderer.render(&[report]));
        text.push_str("\n\n");
    }
    if let Some(rest) = diagnostics.rest() {
        text.push_str(&format!("{}: {rest}\n\n", diagnostics.source().name));
    }
    text
}

fn report<'a>(source: &'a SourceFile, diagnostic: &'a Diagnostic) -> annotate_snippets::Group<'a> {
    let place = |kind: AnnotationKind, span: Span| kind.span(range(source, span));
    let labels = diagnostic.labels.iter().map(|label| -> Annotation<'a> {
        place(AnnotationKind::Context, label.span).label(label.message.as_str())
    });
    let snippet = Snippet::source(source.text.as_str())
        .path(source.name.as_str())
        .annotation(place(AnnotationKind::Primary, diagnostic.span))
        .annotations(labels);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let group = level
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code)
        .element(snippet);
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// Returns the range of the first line of `span`, because a long query would push the message out of view.
/// If `span` exceeds the text, the range ends at the end of the text.
fn range(source: &SourceFile, span: Span) -> std::ops::Range<usize> {
    let text = &source.text;
    let clamp = |mut at: usize| {
        at = at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let (start, end) = (clamp(span.start), clamp(span.end));
    let line = text[start..end]
        .find('\n')
        .map_or(end, |length| start + length);
    start..line.max(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_from_files_become_one_short_line() {
        assert_eq!(one_line("a b"), "a b");
        assert_eq!(one_line("a\nerror: b\u{1b}[2J"), "a error: b [2J");
        assert_eq!(one_line(&"é".repeat(5_000)).chars().count(), MAX_TEXT);
    }

    #[test]
    fn long_cells_do_not_lengthen_all_rows() {
        let mut table = PrintedTable::with_header("name  >files");
        let long = "x".repeat(60_000);
        table.row(vec![long.clone(), "1".into()]);
        for _ in 0..1000 {
            table.row(vec!["short".into(), "1".into()]);
        }
        let text = table.render();
        assert!(text.contains(&long), "nothing is lost");
        assert!(text.len() < 500_000, "{} bytes", text.len());
    }

    #[test]
    fn columns_are_aligned_by_characters() {
        let mut table = PrintedTable::with_header("name  >files  state");
        table.row(vec!["é".into(), "1".into(), "ok".into()]);
        table.row(vec!["longer".into(), "12345678".into()]);
        assert_eq!(
            table.render(),
            "name       files  state\n\
             é              1  ok\n\
             longer  12345678\n"
        );
    }

    #[test]
    fn narrow_tables_omit_columns_then_shorten_the_first() {
        let mut table = PrintedTable::with_header("competition  >files  >time  state")
            .optional(&["time", "files"]);
        table.row(vec![
            "a-competition-with-a-name".into(),
            "1".into(),
            "2 s".into(),
            "done".into(),
        ]);
        assert_eq!(table.format_within(80), table.render());
        for (width, expected) in [
            (44, ["a-competition-with-a-name", "1", "done"].as_slice()),
            (39, &["a-competition-with-a-name", "1", "done"]),
            (38, &["a-competition-with-a-name", "done"]),
            (32, &["a-competition-with-a-name", "done"]),
            (20, &["a-competitio…", "done"]),
            (1, &["a-competiti…", "done"]),
        ] {
            let text = table.format_within(width);
            let cells: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
            assert_eq!(cells, expected, "{width}");
        }
    }
}

#[cfg(test)]
mod diagnostics_tests {
    use super::*;

    /// `prep plan` shows the rendered lines, `prep pipeline check` only line and column. Both must name the same place.
    #[test]
    fn rendered_and_plain_positions_are_equal() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../spec/tests/diagnostics");
        let files = std::fs::read_dir(directory)
            .unwrap()
            .map(|file| file.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "yaml"));
        let mut texts: Vec<String> = files
            .map(|file| std::fs::read_to_string(file).unwrap())
            .collect();
        texts.extend(
            [
                "name: [a\n",
                "name: [a",
                "name: 'é\n\n",
                "name: a\n\tb: c\n",
                "a: b: c\n",
            ]
            .map(String::from),
        );
        let mut count = 0;
        for text in texts {
            let vocabulary = prep_steps::vocabulary();
            let Err(found) = prep_spec::load(vocabulary, "a", "a.yaml", &text, "v1") else {
                continue;
            };
            for diagnostic in &found {
                let source = found.source();
                let alone = Diagnostics::single(source.clone(), diagnostic.clone());
                let plain = anstream::adapter::strip_str(&render(&alone)).to_string();
                let (line, column) = source.position(diagnostic.span.start);
                let place = format!("--> a.yaml:{line}:{column}\n");
                assert!(plain.contains(&place), "{place} is not in\n{plain}");
                count += 1;
            }
        }
        assert!(count > 80, "{count}");
    }

    #[test]
    fn spans_outside_the_text_do_not_panic() {
        let source = std::sync::Arc::new(SourceFile::new("f", "é\n"));
        for span in [Span::new(1, 1), Span::new(0, 99), Span::new(98, 99)] {
            let diagnostic = Diagnostic::error("rule", span, "wrong");
            let text = render(&Diagnostics::single(source.clone(), diagnostic));
            assert!(text.contains("wrong"));
        }
    }
}
