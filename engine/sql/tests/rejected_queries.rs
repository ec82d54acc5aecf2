//! Queries that are rejected when a pipeline is loaded, recorded in `tests/rejected_queries.txt`.
//!
//! A case consists of a query, a line of dashes, and the error: its position in the query, code, message and help.
//! `accepted` marks a query without an error. `UPDATE=1` records the current errors. Review the diff before you commit it.
//!
//! The tables are `t` (id, name, score, ok: integer, text, number, boolean), `u` (id, tag), `w` (no declared columns)
//! and `d` (day, in text).

use std::fmt::Write as _;

use prep_sql::Session;

const HEAD: &str = "\
name: X
category: C
bundle: { kaggle: x }
tables:
  t: { read: t.csv, columns: { id: integer, name: text, score: number, ok: boolean } }
  u: { read: u.csv, columns: { id: integer, tag: text } }
  w: { read: w.csv }
  d: { read: d.csv, columns: { day: text } }
public:
  all.csv: SELECT t.id FROM t CROSS JOIN u CROSS JOIN w CROSS JOIN d
  a.csv: |
";

fn outcome(session: &Session, query: &str) -> String {
    let lines = query.lines().map(|line| format!("    {line}\n"));
    let text = format!("{HEAD}{}", lines.collect::<String>());
    let first_line = HEAD.lines().count();
    let draft = prep_spec::read(prep_steps::vocabulary(), "x", "x.yaml", &text);
    let mut found = String::new();
    let mut findings: Vec<prep_spec::Diagnostic> = Vec::new();
    for reading in draft.readings() {
        findings.extend(prep_sql::check(session, reading));
    }
    let source = prep_spec::SourceFile::new("x.yaml", text.as_str());
    if let Err(rejected) = draft.clone().finish("v1") {
        findings.extend(rejected.iter().cloned());
    }
    for finding in findings {
        let (line, column) = source.position(finding.span.start);
        let place = match line.checked_sub(first_line) {
            Some(line) if line > 0 => format!("{line}:{}", column.saturating_sub(4)),
            _ => "nowhere".to_owned(),
        };
        let _ = write!(found, "{place}: {}: {}", finding.code, finding.message);
        let help = finding
            .help
            .map_or(String::new(), |help| format!("\n  help: {help}"));
        let _ = writeln!(found, "{help}");
    }
    if found.is_empty() {
        "accepted\n".to_owned()
    } else {
        found
    }
}

#[test]
fn queries_are_rejected_with_their_location() {
    let session = Session::planner();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/rejected_queries.txt");
    let text = std::fs::read_to_string(path).unwrap();
    let mut found = String::new();
    let mut count = 0;
    for case in text
        .split("\n\n")
        .map(str::trim)
        .filter(|case| !case.is_empty())
    {
        let (head, _) = case.split_once("\n----").unwrap_or((case, ""));
        let query: Vec<&str> = head.lines().filter(|line| !line.starts_with('#')).collect();
        let outcome = outcome(&session, &query.join("\n"));
        assert!(!outcome.contains("nowhere"), "{head}\n{outcome}");
        let _ = write!(found, "{head}\n----\n{outcome}\n");
        count += 1;
    }
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, &found).unwrap();
        return;
    }
    assert!(count > 80, "only {count} queries were found");
    assert!(
        found.trim() == text.trim(),
        "the findings differ from the recorded ones:\n{found}"
    );
}
