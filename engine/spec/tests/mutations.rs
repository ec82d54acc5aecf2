//! No text makes the loader panic, and every diagnostic has a position in the file.

use proptest::prelude::*;

const SEEDS: &[&str] = &[
    include_str!("accept/everything.yaml"),
    include_str!("accept/small.yaml"),
    include_str!("diagnostics/bad-path.yaml"),
    include_str!("diagnostics/sql-double-quoted.yaml"),
    include_str!("diagnostics/sql-folded.yaml"),
    include_str!("diagnostics/bad-macro.yaml"),
];

/// Strings that replace parts of a pipeline.
const FRAGMENTS: &[&str] = &[
    "",
    " ",
    "\n",
    "\n  ",
    "\t",
    ":",
    ": ",
    "- ",
    "#",
    "'",
    "\"",
    "|",
    ">",
    "{",
    "}",
    "[",
    "]",
    ",",
    "&a",
    "*a",
    "!t",
    "? ",
    "---\n",
    "\u{0}",
    "\\",
    "/",
    "../",
    "ü",
    "\u{1F600}",
    "\r\n",
    "SELECT ",
    "FROM t",
    "WITH x AS (",
    "(",
    ")",
    "--",
    "/*",
    "_row",
    "one_hot(",
    "null",
    "fixed:",
    "\u{feff}",
    "0x",
    "1e999",
    "\\u12",
    "%YAML 1.2\n",
];

fn check(text: &str) {
    for variant in ["v1", "fixed"] {
        if let Err(found) = prep_spec::load(prep_steps::vocabulary(), "id", "x.yaml", text, variant)
        {
            assert!(!found.to_string().is_empty());
            for one in &found {
                assert!(
                    one.span.start <= one.span.end && one.span.end <= text.len(),
                    "{one:?}"
                );
                assert!(text.is_char_boundary(one.span.start), "{one:?}");
            }
        }
    }
    let _ = prep_spec::variants(text);
}

/// Returns the last character boundary at or before `at`.
fn cut(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mutated_pipelines_cause_no_panic(
        seed in 0..SEEDS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..12usize, 0..FRAGMENTS.len()), 1..6),
    ) {
        let mut text = SEEDS[seed].to_owned();
        for (place, removed, piece) in edits {
            let start = cut(&text, place.index(text.len() + 1));
            let end = cut(&text, start + removed).max(start);
            text.replace_range(start..end, FRAGMENTS[piece]);
        }
        check(&text);
    }

    #[test]
    fn arbitrary_text_causes_no_panic(text in "\\PC{0,60}") {
        check(&text);
        check(&format!("public:\n  a.csv: |\n    {text}"));
    }
}

#[test]
fn every_prefix_of_a_pipeline_causes_no_panic() {
    for seed in SEEDS {
        for (at, _) in seed.char_indices() {
            check(&seed[..at]);
        }
    }
}

/// The depth of recursion is limited, but stack frames are large without optimization.
///
/// Therefore this test has a larger stack than the default of 2 MB. A release build needs less than 1 MB.
#[test]
fn deep_nesting_causes_no_panic() {
    let builder = std::thread::Builder::new().stack_size(16 << 20);
    builder.spawn(check_deep_nesting).unwrap().join().unwrap();
}

fn check_deep_nesting() {
    let head = "name: X\ncategory: C\nbundle: { kaggle: x }\npublic:\n  a.csv: SELECT ";
    for (open, close) in [
        ("(", ")"),
        ("-", ""),
        ("1 + ", ""),
        ("NOT ", ""),
        ("(SELECT ", ")"),
        ("CASE WHEN ", ""),
    ] {
        for depth in [10, 60, 300, 3000, 50_000] {
            check(&format!(
                "{head}{}1{} AS a\n",
                open.repeat(depth),
                close.repeat(depth)
            ));
        }
    }
    let unions = vec!["SELECT 1 AS a"; 3000].join(" UNION ALL ");
    check(&format!("public:\n  a.csv: {unions}\n"));
    check(&format!("a: {}", "[".repeat(100_000)));
    check(&format!("a: {}", "{a: ".repeat(100_000)));
    check(&"- ".repeat(100_000));
}
