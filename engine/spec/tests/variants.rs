//! Variants with merged, replaced and removed parts.

use prep_spec::model::{ColumnKind, Pipeline, TableOrigin};

const TEXT: &str = "\
name: X
category: C
bundle: { kaggle: x }
lists: { l: [a, b] }
tables:
  t: { read: t.csv, columns: { a: inferred, b: integer, c: text } }
public:
  a.csv: SELECT one_hot(a, l) FROM t
  b.csv: { csv: SELECT b FROM t, quoting: nonnumeric }
variants:
  fixed:
    columns:
      tables: { t: { columns: { a: text, b: null } } }
    63:
      lists: { l: [c] }
      public:
        a.csv: null
        b.csv: { delimiter: tab }
        c.csv: SELECT one_hot(a, l) FROM t
";

fn load(variant: &str) -> Pipeline {
    prep_spec::load(prep_steps::vocabulary(), "id", "x.yaml", TEXT, variant).unwrap()
}

fn outputs(pipeline: &Pipeline) -> Vec<&str> {
    pipeline
        .public
        .iter()
        .map(|output| output.path.value.as_str())
        .collect()
}

#[test]
fn the_base_has_no_corrections() {
    let base = load("v1");
    assert_eq!(outputs(&base), ["a.csv", "b.csv"]);
    assert_eq!(base.lists[0].1, ["a", "b"]);
    assert!(!base.variant.differs);
}

#[test]
fn the_variant_fixed_applies_all_corrections() {
    let fixed = load("fixed");
    assert!(fixed.variant.differs);
    assert_eq!(fixed.variant.name, "fixed");
    assert_eq!(outputs(&fixed), ["b.csv", "c.csv"]);
    assert_eq!(fixed.lists[0].1, ["c"]);
    let both = &fixed.public[0].declaration;
    assert_eq!(both.delimiter("delimiter"), Some(9));
    assert_eq!(both.text("quoting"), Some("nonnumeric"));
    // Null removes a column.
    let TableOrigin::Declared(read) = &fixed.tables[0].made else {
        panic!("a file");
    };
    let columns = read
        .columns("columns")
        .iter()
        .map(|column| (column.name.value.as_str(), column.kind));
    assert_eq!(
        columns.collect::<Vec<_>>(),
        [("a", ColumnKind::Text), ("c", ColumnKind::Text)]
    );
}

#[test]
fn without_corrections_the_variant_fixed_equals_the_base() {
    let text = "name: X\ncategory: C\nbundle: { kaggle: x }\n";
    let fixed = prep_spec::load(prep_steps::vocabulary(), "id", "x.yaml", text, "fixed").unwrap();
    assert_eq!(fixed.variant.name, "fixed");
    assert!(!fixed.variant.differs);
    assert_eq!(prep_spec::variants(text).unwrap(), ["v1"]);
    let all = ["v1", "fixed", "fixed:columns", "fixed:63"];
    assert_eq!(prep_spec::variants(TEXT).unwrap(), all);
    assert_eq!(prep_spec::corrections(TEXT).unwrap(), ["columns", "63"]);
}

#[test]
fn a_single_correction_can_be_applied() {
    let only = load("fixed:63");
    assert_eq!(outputs(&only), ["b.csv", "c.csv"]);
    let TableOrigin::Declared(read) = &only.tables[0].made else {
        panic!("a file");
    };
    assert_eq!(read.columns("columns").len(), 3);
    assert!(only.variant.differs);
    assert_eq!(only.variant.name, "fixed:63");
    // A variant that names all corrections is equal to `fixed`.
    let both = load("fixed:63,columns");
    assert_eq!(outputs(&both), outputs(&load("fixed")));
    assert_eq!(both.variant.name, "fixed:63,columns");
    // The correction `30` belongs to other competitions.
    let other = load("fixed:30");
    assert_eq!(outputs(&other), ["a.csv", "b.csv"]);
    assert!(!other.variant.differs);
    assert_eq!(outputs(&load("fixed:30,63")), outputs(&only));
}
