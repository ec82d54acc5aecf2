//! Tests of columns of type `text` next to `inferred` columns.

use std::fmt::Write as _;

use super::{cases, columns, install};
use crate::support::Sandbox;

const FILES_PER_PIPELINE: usize = 100;

#[test]
fn text_columns_are_unchanged_and_others_are_inferred() {
    let sandbox = Sandbox::new();
    let cases = cases(include_str!("columns.jsonl"));
    let mut ids = Vec::new();
    for (number, chunk) in cases.chunks(FILES_PER_PIPELINE).enumerate() {
        let id = format!("columns-{number}");
        let mut files = Vec::new();
        let (mut tables, mut public) = ("tables:\n".to_owned(), "public:\n".to_owned());
        for (place, case) in chunk.iter().enumerate() {
            files.push((format!("{place}.csv"), case["csv"].as_str().expect("text")));
            let columns = columns(&case["types"]);
            let floats = match case["high"] == true {
                true => ", float_precision: high",
                false => "",
            };
            let _ = writeln!(
                tables,
                "  t{place}: {{ read: {place}.csv, columns: {columns}{floats} }}"
            );
            let _ = writeln!(public, "  {place}.csv: SELECT * FROM t{place}");
        }
        install(&sandbox, &id, &files, &(tables + &public));
        ids.push(id);
    }
    sandbox.run_all(&ids).code(0);
    for (number, chunk) in cases.chunks(FILES_PER_PIPELINE).enumerate() {
        let public = sandbox
            .prepared(&format!("columns-{number}"))
            .join("public");
        for (place, case) in chunk.iter().enumerate() {
            let found = std::fs::read(public.join(format!("{place}.csv"))).expect("output");
            assert_eq!(
                u64::from(crc32fast::hash(&found)),
                case["crc"],
                "{case}\n{}",
                String::from_utf8_lossy(&found)
            );
        }
    }
}

/// Queries get the same text that outputs print.
#[test]
fn queries_see_the_text_that_is_printed() {
    let sandbox = Sandbox::new();
    let csv = "id,n\n007,1\n8,2\n0012,\n";
    let files = [("t.csv".to_owned(), csv)];
    let pipeline = "\
tables:
  text: { read: t.csv, columns: { id: text, n: inferred } }
  inferred: { read: t.csv, columns: { id: inferred, n: text } }
public:
  a.csv: SELECT id || '.jpg' AS file, n FROM text WHERE id = '007' OR n = '2.0'
  b.csv: SELECT id || '.jpg' AS file, n FROM inferred WHERE id = '7' OR n = '2'
";
    install(&sandbox, "queries", &files, pipeline);
    sandbox.run_and_count_steps("queries");
    let public = sandbox.prepared("queries").join("public");
    let read = |name| std::fs::read_to_string(public.join(name)).expect("output");
    assert_eq!(read("a.csv"), "file,n\n007.jpg,1.0\n8.jpg,2.0\n");
    assert_eq!(read("b.csv"), "file,n\n7.jpg,1\n8.jpg,2\n");
}

/// `pandas.DataFrame(json.loads(text)).to_csv(index=False)` printed the expected files.
#[test]
fn json_members_are_inferred_like_columns() {
    let sandbox = Sandbox::new();
    let json = r#"[
        {"i": 1, "g": 1, "f": 1.5, "b": true, "o": null, "t": "007", "m": 1},
        {"i": 2, "g": null, "f": 2, "b": false, "o": true, "t": "x", "m": "a"},
        {"i": -3, "g": 5, "f": 1e22, "b": true, "o": false, "t": null, "m": true},
        {"i": 9223372036854775807, "g": 7, "f": -0.0, "b": true, "o": null, "t": "1", "m": 2.50}
    ]"#;
    let printed = "\
i,g,f,b,o,t,m
1,1.0,1.5,True,,007,1
2,,2.0,False,True,x,a
-3,5.0,1e+22,True,False,,True
9223372036854775807,7.0,-0.0,True,,1,2.5
";
    let files = [("t.json".to_owned(), json)];
    let pipeline = "\
tables:
  t: { read: t.json, columns: [i, g, f, b, o, t, m] }
public:
  t.csv: SELECT * FROM t
";
    install(&sandbox, "json", &files, pipeline);
    sandbox.run_and_count_steps("json");
    let found = sandbox.prepared("json").join("public/t.csv");
    assert_eq!(std::fs::read_to_string(found).expect("output"), printed);
}

/// pandas infers no type for a column without cells, so any declared type is valid.
#[test]
fn file_without_rows_matches_any_declaration() {
    let sandbox = Sandbox::new();
    let files = [("t.csv".to_owned(), "i,n,b,t,x\n")];
    let pipeline = "\
tables:
  t: { read: t.csv, columns: { i: integer, n: number, b: boolean, t: text, x: inferred } }
public:
  t.csv: SELECT * FROM t
  sums.csv: SELECT i + 1 AS i, n / 2 AS n, NOT b AS b, upper(t) AS t FROM t
";
    install(&sandbox, "empty", &files, pipeline);
    sandbox.run_and_count_steps("empty");
    let public = sandbox.prepared("empty").join("public");
    let read = |name| std::fs::read_to_string(public.join(name)).expect("output");
    assert_eq!(read("t.csv"), "i,n,b,t,x\n");
    assert_eq!(read("sums.csv"), "i,n,b,t\n");
}
