//! Shows mistakes in a pipeline file, together with the lines that contain them.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Level, Renderer, Snippet};
use prep_spec::{Diagnostic, Diagnostics, SourceFile, Span};

/// Renders the mistakes, with an empty line after each. The text has colours, which the printer removes if they are
/// disabled.
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
    let group = Level::ERROR
        .primary_title(diagnostic.message.as_str())
        .id(diagnostic.code)
        .element(snippet);
    match &diagnostic.help {
        Some(help) => group.element(Level::HELP.message(help.as_str())),
        None => group,
    }
}

/// Returns the first line of the span, because a long query would push the message out of view. The range is always
/// within the text.
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

    /// `prep plan` shows the rendered lines, `prep pipeline check` only the position. Both must name the same position.
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
