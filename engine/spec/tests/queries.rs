//! Queries: the tables that they read, the expansion of macros, and differences that do not change the query.

use prep_spec::model::{Query, TableOrigin};
use prep_spec::query::tree::Body;

fn printed(text: &str) -> String {
    Query::parse(text).expect(text).tree().to_string()
}

fn tables(text: &str) -> Vec<String> {
    Query::parse(text).expect(text).tables.into_iter().collect()
}

#[test]
fn the_tables_that_a_query_reads_are_found() {
    for (text, expected) in [
        ("SELECT 1 AS a", &[][..]),
        ("SELECT * FROM a", &["a"]),
        (
            "SELECT * FROM a x JOIN b ON x.i = b.i, c CROSS JOIN \"d\"",
            &["a", "b", "c", "d"],
        ),
        (
            "SELECT (SELECT max(i) FROM b) FROM a WHERE i IN (SELECT i FROM c) AND EXISTS (SELECT 1 FROM d)",
            &["a", "b", "c", "d"],
        ),
        (
            "SELECT * FROM (SELECT * FROM (SELECT * FROM a) x) y",
            &["a"],
        ),
        (
            "SELECT * FROM a UNION ALL SELECT * FROM b EXCEPT (SELECT * FROM c)",
            &["a", "b", "c"],
        ),
        (
            "SELECT * FROM a ORDER BY (SELECT 1 FROM b) LIMIT 3",
            &["a", "b"],
        ),
        // A part of WITH is not a table, but may hide a table that its own query reads.
        ("WITH w AS (SELECT * FROM a) SELECT * FROM w", &["a"]),
        ("WITH a AS (SELECT * FROM a) SELECT * FROM a", &["a"]),
        (
            "WITH v AS (SELECT * FROM w), w AS (SELECT * FROM v) SELECT * FROM v, w",
            &["w"],
        ),
        (
            "SELECT * FROM (WITH w AS (SELECT * FROM a) SELECT * FROM w) x JOIN w ON true",
            &["a", "w"],
        ),
        (
            "WITH w AS (SELECT * FROM a) SELECT * FROM b WHERE i IN (SELECT i FROM w)",
            &["a", "b"],
        ),
        ("SELECT * FROM unnest([1, 2]) AS u(i), a", &["a"]),
        ("SELECT * EXCLUDE (x) REPLACE (y + 1 AS y) FROM a", &["a"]),
        ("VALUES (1), (2)", &[]),
    ] {
        assert_eq!(tables(text), expected, "{text}");
    }
}

#[test]
fn macros_are_expanded() {
    for (text, expected) in [
        (
            "SELECT id, ONE_HOT(author, 'EAP', 'it''s') FROM t",
            "SELECT id, CAST(coalesce(author = 'EAP', false) AS BIGINT) AS EAP, CAST(coalesce(author = 'it''s', false) AS BIGINT) AS \"it's\" FROM t",
        ),
        (
            "SELECT one_hot(t.a, 'x'), one_hot(a OR b, 'y'), one_hot(lower(a), 'z') FROM t",
            "SELECT CAST(coalesce(t.a = 'x', false) AS BIGINT) AS x, CAST(coalesce((a OR b) = 'y', false) AS BIGINT) AS y, CAST(coalesce(lower(a) = 'z', false) AS BIGINT) AS z FROM t",
        ),
        (
            "SELECT multi_hot(labels, 'Bark', 'Run') FROM t",
            "SELECT \"multi_hot\"(labels, 'Bark') AS Bark, \"multi_hot\"(labels, 'Run') AS Run FROM t",
        ),
        (
            "WITH w AS (SELECT constants(1.0 / 3, 'a', 'b\"c') FROM t) SELECT * FROM w",
            "WITH w AS (SELECT 1.0 / 3 AS a, 1.0 / 3 AS \"b\"\"c\" FROM t) SELECT * FROM w",
        ),
    ] {
        assert_eq!(printed(text), expected);
    }
}

#[test]
fn a_table_may_be_named_all() {
    assert_eq!(
        printed("SELECT all.id, b FROM t JOIN all ON all.id = t.id WHERE all.b > 1"),
        r#"SELECT "all".id, b FROM t JOIN "all" ON "all".id = t.id WHERE "all".b > 1"#
    );
    assert_eq!(
        printed("SELECT all.* FROM all"),
        r#"SELECT "all".* FROM "all""#
    );
}

#[test]
fn long_chains_of_unions_are_not_deep() {
    for union in ["UNION ALL", "UNION"] {
        let part = |number: usize| format!("SELECT {} AS a FROM t", number % 10);
        let parts: Vec<String> = (0..440).map(part).collect();
        let text = parts.join(&format!(" {union} "));
        let query = Query::parse(&text).expect(&text);
        assert_eq!(query.tree().to_string(), text);
        let Body::Operation { branches, .. } = &query.tree().body else {
            panic!("a union");
        };
        assert_eq!(branches.len(), 440);
    }
    let mixed =
        "SELECT a FROM t UNION ALL SELECT a FROM u UNION SELECT a FROM v UNION ALL SELECT a FROM w";
    assert_eq!(printed(mixed), mixed);
}

#[test]
fn positions_in_a_query_are_mapped_to_the_file() {
    let text = "name: X\ncategory: C\nbundle: { kaggle: x }\ntables:\n  t: |\n    SELECT 'ü',\n      b\n\npublic:\n  a.csv: 'SELECT ''x'' || b AS c FROM t'\n";
    let pipeline = prep_spec::load(prep_steps::vocabulary(), "id", "x.yaml", text, "v1").unwrap();
    let TableOrigin::Query(query) = &pipeline.tables[0].made else {
        panic!("a query");
    };
    let place = |query: &Query, line, column| {
        let span = query.locate(&pipeline.source, line, column);
        pipeline.source.position(span.start)
    };
    assert_eq!(place(query, 1, 1), (6, 5));
    assert_eq!(place(query, 1, 11), (6, 15));
    assert_eq!(place(query, 2, 3), (7, 7));
    let Some(query) = pipeline.public[0].declaration.query("csv") else {
        panic!("a CSV file");
    };
    assert_eq!(place(query, 1, 8), (10, 18));
    // A position after the doubled quotes.
    assert_eq!(place(query, 1, 15), (10, 27));
    // A position that does not exist is mapped to the end of the query.
    assert_eq!(place(query, 7, 1), (10, 40));
}

#[test]
fn supported_expressions_are_parsed() {
    for text in [
        "SELECT * EXCLUDE (a, b) FROM t",
        "SELECT * EXCLUDE a REPLACE (b + 1 AS b) FROM t",
        "SELECT x.* EXCLUDE (a) FROM t x",
        "SELECT a::BIGINT, CAST(b AS VARCHAR), TRY_CAST(c AS DOUBLE) FROM t",
        "SELECT first_seen(a) OVER (ORDER BY _row) AS n FROM t",
        "SELECT row_number() OVER (PARTITION BY a ORDER BY b DESC NULLS LAST ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS n FROM t",
        "SELECT a FROM t QUALIFY row_number() OVER (PARTITION BY a ORDER BY _row) = 1",
        "SELECT count(*) FILTER (WHERE a > 0) AS n, array_agg(b ORDER BY _row) AS l FROM t GROUP BY c HAVING count(*) > 1",
        "SELECT string_agg(a, ' ' ORDER BY b) AS s FROM t",
        "SELECT a[1], t.a[1], (t.a)[1], f(a)[1][2], a[-1], a[2:3], a[:3], a[b + 1:] FROM t",
        "SELECT a FROM t LEFT ANTI JOIN u ON t.i = u.i",
        "SELECT a FROM t LEFT SEMI JOIN u USING (i)",
        "SELECT a IS DISTINCT FROM b AS c, a ~ '^x' AS m, a NOT LIKE '%y' AS n FROM t",
        "SELECT unnest([1, 2, 3]) AS i",
        "SELECT i, v FROM t CROSS JOIN unnest(t.l) AS u(v)",
        "SELECT CASE a WHEN 1 THEN 'x' ELSE 'y' END AS c, coalesce(a, 0) AS d, a % 2 AS e, 'it''s' AS f FROM t",
        "SELECT \"Column with spaces\", E'tab\\t' AS e FROM t",
        "SELECT a FROM t UNION ALL SELECT b FROM u INTERSECT SELECT c FROM v EXCEPT SELECT d FROM w ORDER BY 1 LIMIT 5 OFFSET 2",
        "SELECT a FROM t WHERE a IN (SELECT a FROM u) AND c BETWEEN 1 AND 2",
        "SELECT DATE '2020-01-01' - 7 AS c, TIMESTAMP '2020-01-01 00:00:00' AS d FROM t",
        "SELECT substr(a, 1, 2) AS s, substring(a FROM 2 FOR 3) AS t, trim(BOTH ' ' FROM a) AS u, position('x' IN a) AS p FROM t",
    ] {
        let query = Query::parse(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let printed = query.tree().to_string();
        assert_eq!(Query::parse(&printed).expect(&printed).key, query.key);
    }
    // Queries that people write may be nested 12 levels deep.
    for (open, close) in [
        ("(", ")"),
        ("f(", ")"),
        ("CASE WHEN a THEN ", " END"),
        ("(SELECT ", ")"),
        ("NOT ", ""),
    ] {
        let text = format!("SELECT {}1{} AS a", open.repeat(12), close.repeat(12));
        Query::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    }
}
