//! Properties of syntax trees: keys identify trees, and printed trees are parsed to the same trees.

mod generator;

use std::fs;
use std::path::Path;

use prep_spec::model::{Declaration, Query, Setting, TableOrigin};
use prep_spec::query::sql_of_key;
use prep_spec::query::tree::QueryTree;

use generator::Generator;

const TREES: u64 = 1500;

fn parse(text: &str) -> Result<QueryTree, String> {
    Ok(Query::parse(text)?.tree().clone())
}

#[test]
fn printed_trees_are_parsed_to_the_same_trees() {
    let mut wrong = Vec::new();
    for seed in 0..TREES {
        let tree = Generator(seed * 1_000_003).query(1 + seed % 3, false);
        let printed = tree.to_string();
        match parse(&printed) {
            Err(error) => wrong.push(format!("seed {seed}, {error}\n{printed}")),
            Ok(again) if again != tree => {
                wrong.push(format!("seed {seed}\n{printed}\n{again}\n{tree:?}"));
            }
            Ok(again) => {
                assert_eq!(again.serialized(), tree.serialized());
                assert_eq!(sql_of_key(&tree.key()), Some(printed.as_str()));
            }
        }
    }
    wrong.sort_by_key(String::len);
    wrong.truncate(5);
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Replaces one to three characters at a random place of a string.
fn mutate(text: &str, random: &mut Generator) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let place = random.below(characters.len() as u64) as usize;
    let end = (place + 1 + random.below(3) as usize).min(characters.len());
    let replacement = random.choose(&[
        "", "''", "'", "\"", "\\", " ", "A", "0", "-", "(", ")", ", ", " NOT ", ".", "1.0",
        "\u{301}",
    ]);
    characters.splice(place..end, replacement.chars());
    characters.into_iter().collect()
}

#[test]
fn keys_are_equal_if_and_only_if_trees_are_equal() {
    let (mut equal, mut different) = (0, 0);
    for seed in 0..TREES {
        let mut random = Generator(seed * 7_000_003);
        let tree = random.query(1 + seed % 3, false);
        let printed = tree.to_string();
        for _ in 0..20 {
            let Ok(other) = parse(&mutate(&printed, &mut random)) else {
                continue;
            };
            assert_eq!(tree == other, tree.key() == other.key(), "{tree}\n{other}");
            match tree == other {
                true => equal += 1,
                false => different += 1,
            }
        }
    }
    assert!(
        equal > 100 && different > 2000,
        "{equal} equal and {different} different trees"
    );
}

#[test]
fn different_queries_have_different_keys() {
    let queries = [
        r"SELECT replace(s, '''', 'Q') AS a FROM t",
        r"SELECT replace(s, '''''', 'Q') AS a FROM t",
        r#"SELECT "x""y" AS a FROM t"#,
        r#"SELECT "x""""y" AS a FROM t"#,
        r"SELECT '\' AS a FROM t",
        r"SELECT '\\' AS a FROM t",
        "SELECT 'a\nb' AS a FROM t",
        "SELECT 'a b' AS a FROM t",
        "SELECT 1 AS a FROM t",
        "SELECT 1.0 AS a FROM t",
        "SELECT '1' AS a FROM t",
        "SELECT 0.0 AS a FROM t",
        "SELECT -0.0 AS a FROM t",
        "SELECT -x AS a FROM t",
        "SELECT - -x AS a FROM t",
        "SELECT x AS a FROM t",
        "SELECT X AS a FROM t",
        "SELECT x AS a FROM t ORDER BY x",
        "SELECT x AS a FROM t ORDER BY x DESC",
        "SELECT x AS a FROM t ORDER BY x NULLS FIRST",
        "SELECT a - (b - c) AS a FROM t",
        "SELECT a - b - c AS a FROM t",
        "SELECT NOT (a AND b) AS a FROM t",
        "SELECT NOT a AND b AS a FROM t",
        "SELECT a FROM t UNION SELECT a FROM u UNION ALL SELECT a FROM v",
        "SELECT a FROM t UNION (SELECT a FROM u UNION ALL SELECT a FROM v)",
        "SELECT a FROM t EXCEPT SELECT a FROM u EXCEPT SELECT a FROM v",
        "SELECT a FROM t EXCEPT (SELECT a FROM u EXCEPT SELECT a FROM v)",
        "SELECT a FROM t LIMIT 1",
        "SELECT a FROM t OFFSET 1",
        "(SELECT a FROM t LIMIT 1) LIMIT 2",
    ];
    for (index, one) in queries.iter().enumerate() {
        for other in &queries[index + 1..] {
            let keys = [one, other].map(|text| Query::parse(text).expect(text).key);
            assert_ne!(keys[0], keys[1], "{one}\n{other}");
        }
    }
}

#[test]
fn spellings_of_one_query_have_one_key() {
    for spellings in [
        &[
            "SELECT a, b AS c FROM t WHERE a = 'X -- y' ORDER BY a",
            "select a,b as c from t where a='X -- y' order by a ASC NULLS LAST;",
            "SELECT a, -- the first\n  b c /* renamed */\n\nFROM t\nWHERE (a) = (('X -- y'))\nORDER BY (a)",
            "(SELECT \"a\", `b` AS \"c\" FROM \"t\" WHERE a == E'X -- y' ORDER BY a)",
        ][..],
        &[
            "SELECT a FROM t UNION ALL SELECT a FROM u UNION ALL SELECT a FROM v",
            "(SELECT a FROM t UNION ALL (SELECT a FROM u)) UNION ALL SELECT a FROM v",
            "SELECT a FROM t UNION ALL (SELECT a FROM u UNION ALL SELECT a FROM v)",
        ],
        &[
            "SELECT length(a) AS n, CAST(b AS BIGINT) AS b, trim(c) AS c, -5 AS d, strpos(a, 'x') AS e FROM t",
            "SELECT CHAR_LENGTH(a) AS n, b::int AS b, btrim(c) AS c, -(5) AS d, position('x' IN a) AS e FROM t",
            "SELECT character_length(a) AS n, CAST(b AS INT8) AS b, trim(c) AS c, (-5) AS d, instr(a, 'x') AS e FROM t",
        ],
        &[
            "SELECT a <> 1 AS b, DATE '2020-01-31' AS c, +1 AS d, [a, 1] AS e FROM t LIMIT 5 OFFSET 2",
            "SELECT a != 1 AS b, CAST('2020-01-31' AS DATE) AS c, 1 AS d, make_array(a, 1) AS e FROM t LIMIT 2, 5",
        ],
        &[
            "SELECT sum(a) OVER (ORDER BY b ROWS 2 PRECEDING) AS s, substring(c FROM 2) AS d FROM t JOIN u USING (i)",
            "SELECT sum(ALL a) OVER (ORDER BY b ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s, substr(c, 2) AS d FROM t INNER JOIN u USING (i)",
        ],
    ] {
        let first = Query::parse(spellings[0]).expect(spellings[0]);
        for text in spellings {
            assert_eq!(Query::parse(text).expect(text).key, first.key, "{text}");
        }
    }
}

#[test]
fn trees_are_printed_as_readable_sql() {
    for (text, expected) in [
        (
            "select -  -_row as r, c from w",
            "SELECT -(-_row) AS r, c FROM w",
        ),
        (
            "SELECT -(-5) AS a, - -x AS b, -(1 + 2) AS c, 2 - -3 AS d",
            "SELECT -(-5) AS a, -(-x) AS b, -(1 + 2) AS c, 2 - -3 AS d",
        ),
        (
            "SELECT -9223372036854775808 AS a, -0.0 AS b, -0 AS c",
            "SELECT -9223372036854775808 AS a, -0.0 AS b, 0 AS c",
        ),
        (
            "SELECT ((a + b)) * c - (d - e) AS x FROM t",
            "SELECT (a + b) * c - (d - e) AS x FROM t",
        ),
        (
            "SELECT NOT a IN (1), NOT (b IS NULL OR c), NOT NOT d, a BETWEEN 1 AND 2 AS e, a !~ b AS f, g[1] AS h",
            "SELECT a NOT IN (1), NOT (b IS NULL OR c), NOT NOT d, a >= 1 AND a <= 2 AS e, NOT a ~ b AS f, array_element(g, 1) AS h",
        ),
        (
            "SELECT a IS DISTINCT FROM b AND c, (a IS NOT DISTINCT FROM b) IS NULL, a IS DISTINCT FROM (b AND c)",
            "SELECT a IS DISTINCT FROM b AND c, a IS NOT DISTINCT FROM b IS NULL, a IS DISTINCT FROM (b AND c)",
        ),
        (
            "SELECT 'it''s' AS \"a\"\"b\", \"select\", \"name\", \"Ünit\" FROM t",
            "SELECT 'it''s' AS \"a\"\"b\", \"select\", name, \"Ünit\" FROM t",
        ),
        (
            "SELECT a FROM t WHERE NOT (a = 1 OR b) AND NOT EXISTS (SELECT 1 FROM u)",
            "SELECT a FROM t WHERE NOT (a = 1 OR b) AND NOT EXISTS (SELECT 1 FROM u)",
        ),
        (
            "with w(x) as (values (1)) select * exclude (a) replace (b as c), t.* from w as v left join (select 1 as i) s using (i), unnest([1]) u(k)",
            "WITH w(x) AS (VALUES (1)) SELECT * EXCLUDE (a) REPLACE (b AS c), t.* FROM w AS v LEFT JOIN (SELECT 1 AS i) AS s USING (i), unnest(make_array(1)) AS u(k)",
        ),
    ] {
        assert_eq!(parse(text).unwrap().to_string(), expected);
    }
}

fn add_queries(declaration: &Declaration, queries: &mut Vec<Query>) {
    for (_, setting) in declaration.settings() {
        match &setting.value {
            Setting::Query(query) => queries.push(query.clone()),
            Setting::Queries(members) => {
                queries.extend(members.iter().map(|(_, query)| query.clone()));
            }
            Setting::Outputs(outputs) => {
                let declarations = outputs.iter().map(|output| &output.declaration);
                declarations.for_each(|declaration| add_queries(declaration, queries));
            }
            _ => {}
        }
    }
}

/// The queries of all pipelines can be printed from their keys, and the printed queries have the same keys.
#[test]
fn the_queries_of_all_pipelines_can_be_printed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines");
    let mut number = 0;
    for directory in fs::read_dir(root).unwrap() {
        let path = directory.unwrap().path().join("pipeline.yaml");
        let text = fs::read_to_string(&path).unwrap();
        for variant in prep_spec::variants(&text).unwrap() {
            let name = path.display().to_string();
            let vocabulary = prep_steps::vocabulary();
            let pipeline = prep_spec::load(vocabulary, "id", &name, &text, &variant).unwrap();
            let mut queries = Vec::new();
            for table in &pipeline.tables {
                match &table.made {
                    TableOrigin::Query(query) => queries.push(query.clone()),
                    TableOrigin::Declared(declaration) => add_queries(declaration, &mut queries),
                    TableOrigin::List(_) => {}
                }
            }
            queries.extend(pipeline.checks.iter().map(|check| check.query.clone()));
            for output in pipeline.public.iter().chain(&pipeline.private) {
                add_queries(&output.declaration, &mut queries);
            }
            for query in queries {
                let printed = sql_of_key(&query.key);
                let printed = printed.unwrap_or_else(|| panic!("{name}: {}", query.text));
                let again =
                    Query::parse(printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
                assert_eq!(again.key, query.key);
                number += 1;
            }
        }
    }
    assert!(number > 500, "{number}");
}
