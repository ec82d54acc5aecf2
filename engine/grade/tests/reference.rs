//! Generates the reference of rules and of metrics, `docs/reference/grading.md` and `metrics.md`, from their definitions.

use std::fmt::Write as _;
use std::path::Path;

use prep_grade::metrics::{self, Direction};
use prep_grade::rules;
use prep_grade::spec::definition::Definition;

const RULES: &str = "\
# Rules

<!-- Generated from engine/grade/src: change it there, then run `UPDATE=1 cargo test -p prep-grade reference`. -->

The section `grade` of a pipeline contains a list of rules and one [metric](metrics.md). The rules run in the order of the list.
The first rule that a submission violates ends the grading: the submission is invalid, its score is `null`, and the message
explains how to correct the submission. Messages count rows from 1, without the header.

Some rules also prepare the answers and the submission for the metric: they sort the two tables, drop rows or fill missing
cells.

There are three ways to write a rule or metric: only the name (`same_rows`), the name with its main parameter (`align: id`),
or the name with several parameters (`range: { columns: p, min: 0, max: 1 }`). For each rule, *Source* names the code whose
behaviour the rule reproduces.

The answers are a CSV file or a JSON Lines file. In a JSON Lines file, each line is a record, and the key `answer_rows`
lists the rows that are created from each record:

```yaml
answer_rows:
  - id: \"{question_id}_long\"
    valid:
      - { each: annotations.0.spans, unless: { from: -1 }, text: \"{from}:{to}\" }
      - { of: annotations.0.yes_no, unless: NONE }
```

Each entry of `answer_rows` is a row, which maps names of columns to cells. A cell is either a string or a list of parts.

In a string, `{path}` is replaced with a member of the record. For example, `{a.0.b}` is the member `b` of the first element
of the member `a`.

Each part in such a list is a mapping that selects values. `of: PATH` selects the value at PATH. If this value is a list,
`each: PATH` selects every element of the list. The cell contains the selected values of all parts, joined by spaces. If no
value remains, the cell is missing.

The key `unless` leaves out each selected value that equals the value of `unless`. If the value of `unless` is an object,
the key leaves out each selected object that contains all members of this object. The key `text` defines how a selected
value is printed.
";

const METRICS: &str = "\
# Metrics

<!-- Generated from engine/grade/src: change it there, then run `UPDATE=1 cargo test -p prep-grade reference`. -->

The section `grade` of a pipeline has one metric, which is computed for submissions that pass all [rules](grading.md). The
score is the value of the metric, multiplied by the key `scale` (default 1), plus the key `offset` (default 0). Scores are
rounded to five decimals.

`scale` and `offset` are keys of `grade`, next to `metric`. For example, `scale: 2` and `offset: -1` turn an area under the
ROC curve into a Gini coefficient.

Each metric has a direction: higher or lower values are better. The key `direction` of `grade` (`higher_is_better` or
`lower_is_better`) overrides the direction of the metric.
";

#[test]
fn reference_pages_match_the_definitions() {
    let mut text = RULES.to_owned();
    for kind in rules::ALL {
        describe(&mut text, &kind.definition, None);
    }
    check("grading.md", &text);
    let mut text = format!("{METRICS}\nThe metrics are\n");
    let names = metrics::ALL.iter().map(|kind| kind.definition.name);
    let links: Vec<String> = names.map(|name| format!("[`{name}`](#{name})")).collect();
    let lines: Vec<String> = links.chunks(3).map(|line| line.join(", ")).collect();
    let _ = writeln!(text, "{}.", lines.join(",\n"));
    for kind in metrics::ALL {
        describe(&mut text, &kind.definition, Some(kind.direction));
    }
    check("metrics.md", &text);
}

fn check(name: &str, text: &str) {
    let pages = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let path = pages.join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap();
    assert!(
        text == checked_in,
        "run `UPDATE=1 cargo test -p prep-grade reference`"
    );
}

fn describe(text: &mut String, definition: &Definition, direction: Option<Direction>) {
    let Definition {
        name,
        summary,
        details,
        source,
        shorthand,
        parameters,
    } = definition;
    let _ = write!(text, "\n## `{name}`\n\n{summary}");
    // The author of a query states its direction.
    match direction.filter(|_| *name != "sql") {
        Some(Direction::HigherIsBetter) => text.push_str(" Higher is better."),
        Some(Direction::LowerIsBetter) => text.push_str(" Lower is better."),
        None => {}
    }
    text.push('\n');
    if !details.is_empty() {
        let _ = write!(text, "\n{details}\n");
    }
    let _ = write!(text, "\nSource: {source}.\n");
    if parameters.is_empty() {
        return;
    }
    prep_spec::reference::keys(text, parameters);
    if let Some(main) = shorthand {
        let _ = write!(
            text,
            "\n`{0}: VALUE` is short for `{0}: {{ {main}: VALUE }}`.\n",
            definition.name
        );
    }
}
