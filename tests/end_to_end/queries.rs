//! Tests of queries in a running pipeline: results, memory usage, and error messages.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Archive, CommandResult, Sandbox};

const ID: &str = "ledger";

fn sandbox(columns: &str, table: &str, query: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let pipeline = format!(
        "name: Ledger\ncategory: Tabular\nbundle: {{ kaggle: ledger }}\n\
         tables:\n  t: {{ read: t.csv, columns: {{ {columns} }} }}\n\
         public:\n  out.csv: {query}\n"
    );
    sandbox.pipeline(ID, &pipeline);
    sandbox.bundle(ID, &Archive::new().file("t.csv", table).bytes());
    sandbox
}

fn result(columns: &str, table: &str, query: &str) -> String {
    let sandbox = sandbox(columns, table, query);
    sandbox.run_and_count_steps(ID);
    let path = sandbox.prepared(ID).join("public/out.csv");
    std::fs::read_to_string(path).expect("the output")
}

#[test]
fn thousands_of_columns_become_rows() {
    let (columns, rows) = (4_000, 25);
    let names: Vec<String> = (0..columns).map(|column| format!("v{column}")).collect();
    let names = names.join(",");
    let mut table = format!("id,{names}\n");
    for row in 0..rows {
        let cells = (0..columns).map(|column| (row * columns + column).to_string());
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(table, "{row},{}", cells.join(","));
    }
    let sandbox = Sandbox::new();
    let pipeline = format!(
        "name: Ledger\ncategory: Tabular\nbundle: {{ kaggle: ledger }}\nlists:\n  values: [{names}]\n\
         tables:\n  t: {{ read: t.csv, columns: [id, {{ list: values }}] }}\n  \
         u: {{ unpivot: t, columns: {{ list: values }}, name: variable, value: value }}\n\
         public:\n  out.csv: SELECT * FROM u\n"
    );
    sandbox.pipeline(ID, &pipeline);
    sandbox.bundle(ID, &Archive::new().file("t.csv", table).bytes());
    sandbox.run_and_count_steps(ID);
    let mut expected = "id,variable,value\n".to_owned();
    for column in 0..columns {
        for row in 0..rows {
            let _ = writeln!(expected, "{row},v{column},{}", row * columns + column);
        }
    }
    let path = sandbox.prepared(ID).join("public/out.csv");
    let found = std::fs::read_to_string(path).expect("the output");
    assert!(found == expected, "{}", &found[..200]);
}

/// If the last columns have a single value in a batch of thousands of rows, `prep` prints that value once per batch.
#[test]
fn constant_columns_are_printed_like_others() {
    let rows = 20_000;
    let table = (0..rows).fold("a,c\n".to_owned(), |table, row| {
        format!("{table}{row},{row}\n")
    });
    let one = |row: i32, is: i32, cell: &str, others: &str| match row == is {
        true => format!("{row},{cell}"),
        false => format!("{row},{others}"),
    };
    type Line = Box<dyn Fn(i32) -> String>;
    let all: [(&str, Line); 9] = [
        (
            "a, 0.5 AS x, 'q\"s,' AS t, true AS b, 7 AS n",
            Box::new(|row| format!("{row},0.5,\"q\"\"s,\",True,7")),
        ),
        ("0.5 AS x, 'u' AS t", Box::new(|_| "0.5,u".into())),
        ("'' AS x", Box::new(|_| "\"\"".into())),
        ("NULL AS x", Box::new(|_| "\"\"".into())),
        (
            "a, CASE WHEN c = 9 THEN -0.0 ELSE 0.0 END AS x",
            Box::new(move |row| one(row, 9, "-0.0", "0.0")),
        ),
        (
            "a, CASE WHEN c = 19999 THEN NULL ELSE 1.5 END AS x",
            Box::new(move |row| one(row, 19_999, "", "1.5")),
        ),
        (
            "a, 1 AS n, CASE WHEN c = 0 THEN 'u' ELSE 'v' END AS t, 2 AS m",
            Box::new(move |row| one(row, 0, "1,u,2", "1,v,2")),
        ),
        (
            "a, CASE WHEN c < 10000 THEN 'u' ELSE 'v' END AS t",
            Box::new(|row| format!("{row},{}", if row < 10_000 { 'u' } else { 'v' })),
        ),
        (
            "0.5 AS x, a, c > -1 AS b",
            Box::new(|row| format!("0.5,{row},True")),
        ),
    ];
    for (columns, line) in all {
        let found = result(
            "a: text, c: number",
            &table,
            &format!("SELECT {columns} FROM t"),
        );
        let found: Vec<&str> = found.lines().skip(1).collect();
        let expected: Vec<String> = (0..rows).map(line).collect();
        assert!(found == expected, "{columns}: {:?}", &found[..3]);
    }
}

/// Computed values do not depend on the notation of numbers in the file.
#[test]
fn number_columns_are_doubles_even_for_integer_cells() {
    let query = "SELECT a / 2 AS half, a + 1 AS more, a * a AS square FROM t";
    let expected = "half,more,square\n0.5,2.0,1.0\n1.0,3.0,4.0\n1.5,4.0,9.0\n";
    for cells in [
        "1\n2\n3\n",
        "1\n2.0\n3\n",
        "1.0\n2.0\n3.0\n",
        "01\n+2\n3e0\n",
    ] {
        let found = result("a: number", &format!("a\n{cells}"), query);
        assert_eq!(found, expected, "{cells}");
    }
    // A number that a query returns unchanged is printed as by pandas. A further query still treats it as a number.
    assert_eq!(
        result("a: number", "a\n1\n2\n", "SELECT a FROM t"),
        "a\n1\n2\n"
    );
    let query = "SELECT a, a / 4 AS b FROM (SELECT a FROM t)";
    assert_eq!(
        result("a: number", "a\n1\n2\n", query),
        "a,b\n1,0.25\n2,0.5\n"
    );
    let large = "a\n9223372036854775807\n1\n";
    let query = "SELECT sum(a) AS s FROM t";
    assert_eq!(
        result("a: number", large, query),
        "s\n9.223372036854776e+18\n"
    );
    assert_eq!(
        result("a: integer", "a\n1\n2\n3\n", "SELECT a / 2 AS h FROM t"),
        "h\n0\n1\n1\n"
    );
}

/// A column that a query selects unchanged keeps its cells and its type, whatever else the query does with the column, as
/// columns of a DataFrame do when rows are filtered, sorted or merged.
#[test]
fn selected_columns_keep_their_type_in_all_clauses() {
    let table = "id,label\n10,1\n2,2.50\n100,3\n9,4\n";
    let same = "t AS u WHERE u.id = t.id AND u.label = t.label";
    let queries = [
        "SELECT id, label FROM t".to_owned(),
        "SELECT id, label FROM t WHERE id IS NOT NULL AND label IS NOT NULL".to_owned(),
        "SELECT id, label FROM t ORDER BY label IS NULL, _row".to_owned(),
        "SELECT t.id, t.label FROM t JOIN t AS u ON u.id = t.id AND u.label = t.label".to_owned(),
        format!("SELECT id, label FROM t WHERE EXISTS (SELECT 1 FROM {same})"),
        "SELECT id, label FROM (SELECT *, count(*) OVER (PARTITION BY id, label) AS n FROM t) WHERE n = 1".to_owned(),
        "SELECT id, label FROM (SELECT id, id = label AS x, label FROM t) WHERE NOT x".to_owned(),
    ];
    for (column, query) in ["inferred", "number"]
        .into_iter()
        .flat_map(|column| queries.iter().map(move |query| (column, query)))
    {
        let columns = format!("id: {column}, label: {column}");
        let sandbox = sandbox(&columns, table, query);
        let pipeline = format!(
            "name: Ledger\ncategory: Tabular\nbundle: {{ kaggle: ledger }}\n\
             tables:\n  t: {{ read: t.csv, columns: {{ {columns} }} }}\n  u: {query}\n\
             public:\n  out.csv: {query}\n  out.json: SELECT * FROM u\n"
        );
        sandbox.pipeline(ID, &pipeline);
        sandbox.run_and_count_steps(ID);
        let read = |name: &str| {
            let path = sandbox.prepared(ID).join("public").join(name);
            std::fs::read_to_string(path).expect("the output")
        };
        assert_eq!(
            read("out.csv"),
            "id,label\n10,1.0\n2,2.5\n100,3.0\n9,4.0\n",
            "{query}"
        );
        let objects = r#"[{"id": 10, "label": 1.0}, {"id": 2, "label": 2.5}, {"id": 100, "label": 3.0}, {"id": 9, "label": 4.0}]"#;
        assert_eq!(read("out.json").trim_end(), objects, "{query}");
    }
}

/// If a row of an outer join has no match, the other table's cells are missing. This must also hold if the query
/// selects only these cells.
#[test]
fn unmatched_rows_of_a_join_have_missing_cells() {
    let wanted = "(SELECT 2 AS id UNION ALL SELECT 99 AS id UNION ALL SELECT 1 AS id)";
    for (columns, expected) in [
        ("t.name", "name\nsecond\n\"\"\nfirst\n"),
        ("t.name, t.id", "name,id\nsecond,2\n,\nfirst,1\n"),
        ("w.id AS w, t.id", "w,id\n2,2\n99,\n1,1\n"),
    ] {
        let query = format!("SELECT {columns} FROM {wanted} w LEFT JOIN t ON t.id = w.id");
        let found = result(
            "id: integer, name: text",
            "id,name\n1,first\n2,second\n",
            &query,
        );
        assert_eq!(found, expected, "{columns}");
    }
}

/// The results of these queries depend on an order of rows or on sums of doubles. Their files must not depend on the
/// amount of memory or on parallel steps. The smallest amount of memory is too small for the table.
#[test]
fn results_do_not_depend_on_memory_or_jobs() {
    let mut state = 7_u64;
    let mut below = |limit: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit
    };
    let table = (0..40_000).fold("id,g,y,v,text\n".to_owned(), |mut table, id| {
        let exponent = ["e-9", "", "e15", "e-3"][below(4) as usize];
        let (group, tie, number) = (below(12_000), below(20), below(1000));
        let _ = writeln!(
            table,
            "{id},{group},{tie},{number}.{tie}{exponent},{number:04} {}",
            "and so on ".repeat(30)
        );
        table
    });
    let pipeline = "\
name: Ledger
category: Tabular
bundle: { kaggle: ledger }
tables:
  t: { read: t.csv, columns: { id: integer, g: integer, y: integer, v: number, text: text } }
  sums: SELECT g, sum(v) AS s, avg(v) AS a, stddev_pop(v) AS d FROM t GROUP BY g ORDER BY g
  picked: |
    SELECT g, string_agg(CAST(id AS VARCHAR), ',' ORDER BY y) AS ids, first_value(id ORDER BY y DESC) AS first FROM t GROUP BY g ORDER BY g
  running: SELECT id, sum(id) OVER (ORDER BY y ROWS UNBOUNDED PRECEDING) AS n, avg(v) OVER (PARTITION BY y ORDER BY g ROWS 3 PRECEDING) AS a FROM t
  keys: SELECT text, row_number() OVER () AS n FROM (SELECT DISTINCT text FROM t) ORDER BY text
public:
  sums.csv: SELECT * FROM sums
  picked.csv: SELECT * FROM picked
  running.csv: SELECT r.*, s.s FROM running r JOIN t ON t.id = r.id JOIN sums s ON s.g = t.g
  keys.csv: SELECT * FROM keys
  all.csv: SELECT t.text, t.id FROM t ORDER BY t.text
";
    let mut first: Option<BTreeMap<String, Vec<u8>>> = None;
    for (memory, jobs) in [("1GB", "16"), ("40MB", "1"), ("40MB", "16"), ("80MB", "2")] {
        let sandbox = Sandbox::new();
        sandbox.pipeline(ID, pipeline);
        sandbox.bundle(ID, &Archive::new().file("t.csv", &table).bytes());
        let mut command = sandbox.run_command(&[ID]);
        CommandResult::of(command.args(["--memory", memory, "--jobs", jobs])).code(0);
        let directory = sandbox.prepared(ID).join("public");
        let files = ["sums", "picked", "running", "keys", "all"].map(|name| {
            let path = directory.join(format!("{name}.csv"));
            (name.to_owned(), std::fs::read(path).expect("an output"))
        });
        let files = BTreeMap::from(files);
        assert!(files.values().all(|file| file.len() > 10_000));
        let expected = first.get_or_insert_with(|| files.clone());
        for (name, file) in &files {
            assert!(
                expected[name] == *file,
                "{name} with {memory} and {jobs} jobs"
            );
        }
    }
}

/// The message of a failure has the place in the pipeline, the value, and the exit code of the cause.
#[test]
fn failing_query_reports_place_and_cause() {
    let table = "a,b,c\n9223372036854775807,x,0\n2,7,1\n";
    // The place is the query, or a column of the failed expression.
    let place = "ledger/pipeline.yaml:7:";
    for (query, code, parts) in [
        (
            "SELECT a + 1 AS x FROM t",
            3,
            &[
                "9223372036854775807 + 1",
                "64-bit",
                "row 1 of `t`",
                "CAST(x AS DOUBLE)",
            ][..],
        ),
        (
            "SELECT a / c AS x FROM t",
            3,
            &[
                "9223372036854775807 / 0",
                "row 1 of `t`",
                "`c` is 0",
                "NULLIF",
            ],
        ),
        (
            "SELECT sum(a) AS x FROM t",
            3,
            &["sum()", "9223372036854775809"],
        ),
        (
            "SELECT CAST(b AS BIGINT) AS x FROM t",
            4,
            &[
                "'x' cannot be cast to BIGINT",
                "row 1 of `t`",
                "`b` is 'x'",
                "TRY_CAST",
            ],
        ),
        (
            "SELECT regexp_like(b, '(' || b) AS x FROM t",
            3,
            &["unclosed group", "row 1 of `t`"],
        ),
        (
            "SELECT repeat(b, 3000000000) AS x FROM t",
            3,
            &["repeat()", "3000 MB"],
        ),
    ] {
        let sandbox = sandbox("a: integer, b: text, c: integer", table, query);
        let ended = sandbox
            .run(ID)
            .code(code)
            .stderr_has(&[place])
            .stderr_has(parts);
        for noise in [
            "Arrow error",
            "DataFusion",
            "Resources exhausted",
            "External",
        ] {
            assert!(!ended.stderr.contains(noise), "{}", ended.stderr);
        }
        assert!(!sandbox.prepared(ID).exists());
    }
}

/// Errors during a split, a draw or the reading of a file also have a place in the pipeline.
#[test]
fn invalid_setting_reports_its_place() {
    let mut table = "id,g,k,h,d,t\n".to_owned();
    for row in 0..12 {
        let (group, class) = (if row == 0 { "b" } else { "a" }, row % 4);
        let half = if row == 5 { "" } else { "1" };
        let double = if row == 1 { "2.7" } else { "3.0" };
        let _ = writeln!(
            table,
            "i{row},{group},{class},{half},{double},5.{}.2019",
            row + 1
        );
    }
    let columns = "t: text, id: text, g: text, k: integer, h: inferred, d: number";
    let split = |rest: &str| format!("{{ split: t, method: {rest} }}");
    let draws = |rest: &str| format!("{{ draws: t, generator: numpy, seed: 0, values: [{rest}] }}");
    for (made, code, word, parts) in [
        (
            split("shuffle, test_size: 100, seed: 0"),
            3,
            "100,",
            &["number of rows, 12"][..],
        ),
        (
            split("shuffle, test_size: SELECT 1.5 AS n FROM t LIMIT 1, seed: 0"),
            3,
            "SELECT 1.5",
            &["test_size 1.5"],
        ),
        (
            split("shuffle, test_size: SELECT sum(d) / sum(d - d) AS n FROM t, seed: 0"),
            3,
            "SELECT sum",
            &["test_size inf"],
        ),
        (
            split("shuffle, test_size: SELECT sum(d - d) / sum(d - d) AS n FROM t, seed: 0"),
            3,
            "SELECT sum",
            &["its value is missing"],
        ),
        (
            split("first_fit, test_size: SELECT 5000000000 AS n FROM t LIMIT 1, groups: k"),
            3,
            "SELECT 5000000000",
            &["test_size 5000000000"],
        ),
        (
            split("sample, test_size: SELECT id AS n FROM t LIMIT 1, seed: 0"),
            3,
            "SELECT id",
            &["'i0'", "must return one number"],
        ),
        (
            split("sample, test_size: 13, seed: 0"),
            3,
            "13,",
            &["only 12 items"],
        ),
        (
            split("python_sample, test_size: 13, seed: 0"),
            3,
            "13,",
            &["only 12 items"],
        ),
        (
            split("first_fit, test_size: 13, groups: k"),
            3,
            "13,",
            &["number of rows, 12"],
        ),
        (
            split("shuffle, test_size: 7, groups: k, seed: 0"),
            3,
            "7,",
            &["sizes count groups"],
        ),
        (
            split("shuffle, test_size: 0.5, seed: 0, stratify: g"),
            4,
            "g }",
            &["only row 1 has the value `b` in `g`"],
        ),
        (
            split("shuffle, test_size: 0.5, seed: 0, stratify: h"),
            4,
            "h }",
            &["row 6 has no value in `h`"],
        ),
        (
            split("shuffle, test_size: 2, seed: 0, stratify: k"),
            3,
            "2, seed",
            &["4 classes"],
        ),
        (
            split("shuffle, test_size: 0.5, seed: 0, within: g"),
            4,
            "g }",
            &["whose `g` is `b`"],
        ),
        (
            split("cut, by: k, from: many"),
            3,
            "many",
            &["`from` is `many`, but the values of `k` are integers"],
        ),
        (
            split("cut, by: k, from: 4"),
            3,
            "4 }",
            &["no row has a `k` of at least `4`"],
        ),
        (
            split("cut, by: k, from: SELECT min(k) AS n FROM t"),
            3,
            "SELECT min",
            &["no row has a `k` below `0`"],
        ),
        (
            split("cut, by: k, from: SELECT k FROM t"),
            3,
            "SELECT k",
            &["must return one value, but returns 12 rows"],
        ),
        (
            split("cut, by: h, from: 1"),
            4,
            "h,",
            &["row 6 has no value in `h`", "use a query"],
        ),
        (
            split("cut, by: g, test_size: 0.1"),
            3,
            "0.1",
            &["too many rows have the same value at the cut"],
        ),
        (
            split("cut, by: k, test_size: 7, groups: k"),
            3,
            "7,",
            &["sizes count groups"],
        ),
        (
            split("cut, by: t, test_size: 0.5"),
            4,
            "t, test",
            &[
                "`t` is the string `5.1.2019` in row 1",
                "format: '%d.%m.%Y'",
            ],
        ),
        (
            draws("{ x: integers, low: 3, high: k }"),
            4,
            "x: integers",
            &["row 1: `x` cannot be drawn"],
        ),
        (
            draws("{ x: integers, high: d }"),
            4,
            "x: integers",
            &["row 2: `d` is not an integer"],
        ),
        (
            draws("{ x: integers, high: 1e30 }"),
            4,
            "x: integers",
            &["row 1: `1000000000000000000000000000000` is not an integer"],
        ),
        (
            draws("{ x: uniform, low: -1e308, high: 1e308 }"),
            4,
            "x: uniform",
            &["row 1: `x` cannot be drawn", "NumPy rejects the bounds"],
        ),
        (
            draws("{ x: uniform, when: k < 1e400 }"),
            3,
            "k < 1e400",
            &["`k < 1e400` is not a condition"],
        ),
    ] {
        let sandbox = Sandbox::new();
        let (names, outputs) = match made.contains("split:") {
            true => (
                "m, n",
                "  m.csv: SELECT id FROM m\n  n.csv: SELECT id FROM n\n",
            ),
            false => ("m", "  m.csv: SELECT x FROM m\n"),
        };
        let pipeline = format!(
            "name: Ledger\ncategory: Tabular\nbundle: {{ kaggle: ledger }}\n\
             tables:\n  t: {{ read: t.csv, columns: {{ {columns} }} }}\n  {names}: {made}\n\
             public:\n{outputs}"
        );
        sandbox.pipeline(ID, &pipeline);
        sandbox.bundle(ID, &Archive::new().file("t.csv", &table).bytes());
        let line = format!("  {names}: {made}");
        let column = line.find(word).expect("the word") + 1;
        let place = format!("ledger/pipeline.yaml:6:{column}\n");
        let ended = sandbox.run(ID).code(code);
        ended
            .stderr_has(&[place.as_str(), line.as_str()])
            .stderr_has(parts);
    }
}

fn large() -> Sandbox {
    let mut table = "a,b\n".to_owned();
    for row in 0..60_000 {
        let _ = writeln!(table, "{row},name {row}");
    }
    let query = "SELECT count(*) AS n FROM t t1, t t2 WHERE t1.a + t2.a = -1";
    sandbox("a: integer, b: text", &table, query)
}

#[test]
fn too_little_memory_is_a_system_error_with_the_needed_amount() {
    let query = "SELECT array_agg(repeat(b, 2000) ORDER BY a) AS x FROM t";
    let sandbox = large();
    let pipeline = std::fs::read_to_string(sandbox.path("pipelines/ledger/pipeline.yaml"));
    let pipeline = pipeline.expect("the pipeline");
    let start = pipeline.find("SELECT").expect("a query");
    let query = format!("SELECT array_to_string(x, ',') AS x FROM ({query})\n");
    sandbox.pipeline(ID, &format!("{}{query}", &pipeline[..start]));
    let mut command = sandbox.run_command(&[ID]);
    let ended = CommandResult::of(command.args(["--memory", "200MB"])).code(6);
    ended.stderr_has(&["ledger/pipeline.yaml:7:12", "not enough memory", "--memory"]);
}

/// A query that would run for minutes ends at the first Ctrl-C.
#[cfg(unix)]
#[test]
fn ctrl_c_stops_a_running_query() {
    let sandbox = large();
    let child = sandbox.run_command(&[ID]).spawn();
    let child = child.expect("the program starts");
    sandbox.wait_until_ended("table/t");
    thread::sleep(Duration::from_millis(100));
    let id = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(killed.expect("kill").success());
    let begin = Instant::now();
    CommandResult::from(child.wait_with_output().expect("it ends")).code(130);
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}");
}
