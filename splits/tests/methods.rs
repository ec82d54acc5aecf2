//! Tests of `split` and `cut`: names of methods in a pipeline, errors, and properties that every split has.

use crate::codes;
use codes::{codes_by_appearance, codes_by_order};
use prep_splits::{
    CutPoint, CutTies, Groups, KeyRole, PartSizes, SplitAlgorithm, SplitError, SplitKeys,
    SplitOrder, SplitSize, cut, split,
};
use proptest::prelude::*;

fn parse(text: &str) -> Result<SplitAlgorithm, serde_json::Error> {
    serde_json::from_str(text)
}

#[test]
fn methods_are_parsed_from_their_pipeline_names() {
    let spellings = [
        r#"{"method":"shuffle","test_size":0.1,"seed":0}"#,
        r#"{"method":"shuffle","test_size":9914,"train_size":0.5,"seed":4294967295,"order":"file"}"#,
        r#"{"method":"sample","test_size":0.2,"seed":0,"order":"file"}"#,
        r#"{"method":"python_sample","test_size":0.2,"seed":0}"#,
        r#"{"method":"first_fit","test_size":20000}"#,
        r#"{"method":"cut","test_size":0.2,"ties":"train"}"#,
    ];
    for text in spellings {
        let method = parse(text).unwrap();
        assert_eq!(serde_json::to_string(&method).unwrap(), text);
        assert!(text.contains(&format!("{{\"method\":\"{}\"", method.name())));
    }
}

#[test]
fn misspelled_methods_and_fields_are_errors() {
    let cases = [
        (
            r#"{"method":"shuffel","seed":0}"#,
            "unknown variant `shuffel`",
        ),
        (
            r#"{"method":"shuffle","test_sise":0.1,"seed":0}"#,
            "unknown field `test_sise`",
        ),
        (
            r#"{"method":"shuffle","test_size":0.1}"#,
            "missing field `seed`",
        ),
        (
            r#"{"method":"shuffle","test_size":"a tenth","seed":0}"#,
            "a fraction such as 0.1 or a number of rows",
        ),
        (
            r#"{"method":"shuffle","test_size":-1,"seed":0}"#,
            "a fraction such as 0.1 or a number of rows",
        ),
        (
            r#"{"method":"shuffle","test_size":4294967296,"seed":0}"#,
            "a fraction such as 0.1 or a number of rows",
        ),
        (r#"{"method":"shuffle","seed":4294967296}"#, "u32"),
        (
            r#"{"method":"shuffle","seed":0,"order":"random"}"#,
            "unknown variant `random`",
        ),
    ];
    for (text, message) in cases {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

fn error(method: &str, rows: usize, keys: Option<(KeyRole, &[u32])>) -> SplitError {
    let keys = keys.map(|(role, codes)| SplitKeys { role, codes });
    split(&parse(method).unwrap(), rows, keys).unwrap_err()
}

const SHUFFLE: &str = r#"{"method":"shuffle","test_size":0.5,"seed":0}"#;

#[test]
fn missing_unused_and_sparse_keys_are_errors() {
    let first_fit = r#"{"method":"first_fit","test_size":1}"#;
    assert_eq!(
        error(first_fit, 2, None),
        SplitError::KeysMissing {
            method: "first_fit"
        }
    );
    for (method, name, role) in [
        (first_fit, "first_fit", KeyRole::Within),
        (
            r#"{"method":"sample","test_size":1,"seed":0}"#,
            "sample",
            KeyRole::Groups,
        ),
        (
            r#"{"method":"python_sample","test_size":1,"seed":0}"#,
            "python_sample",
            KeyRole::Stratify,
        ),
        (r#"{"method":"cut","test_size":1}"#, "cut", KeyRole::Within),
    ] {
        let unused = SplitError::KeysUnused { method: name, role };
        assert_eq!(error(method, 2, Some((role, &[0, 1]))), unused);
    }
    assert_eq!(
        error(SHUFFLE, 3, Some((KeyRole::Groups, &[0, 1]))),
        SplitError::KeysLength { keys: 2, rows: 3 }
    );
    assert_eq!(
        error(SHUFFLE, 3, Some((KeyRole::Groups, &[0, 2, 3]))),
        SplitError::SparseKeys {
            keys: 4,
            missing: 1
        }
    );
    let sparse = SplitError::SparseKeys {
        keys: 1 << 32,
        missing: 1,
    };
    assert_eq!(
        error(
            SHUFFLE,
            3,
            Some((KeyRole::Groups, &[0, u32::MAX, u32::MAX]))
        ),
        sparse
    );
}

#[test]
fn errors_state_their_reason() {
    let empty = |rows| SplitError::EmptyPart {
        part: "train",
        rows,
    };
    assert_eq!(error(SHUFFLE, 0, None), empty(0));
    assert_eq!(error(SHUFFLE, 1, None), empty(1));
    assert_eq!(
        error(SHUFFLE, usize::MAX, None),
        SplitError::TooManyRows { rows: usize::MAX }
    );
    // Both rows have the same key, so there is only one key to split.
    assert_eq!(
        error(SHUFFLE, 2, Some((KeyRole::Groups, &[0, 0]))),
        empty(1)
    );
    let size = SplitSize::Rows(3);
    let all = r#"{"method":"shuffle","test_size":3,"seed":0}"#;
    assert_eq!(
        error(all, 3, None),
        SplitError::SizeOutOfRange {
            name: "test_size",
            size,
            rows: 3
        }
    );
    let both = r#"{"method":"shuffle","test_size":0.6,"train_size":0.5,"seed":0}"#;
    assert_eq!(
        error(both, 9, None),
        SplitError::FractionsExceedOne {
            test_size: 0.6,
            train_size: 0.5
        }
    );
    let both = r#"{"method":"shuffle","test_size":2,"train_size":2,"seed":0}"#;
    assert_eq!(
        error(both, 3, None),
        SplitError::PartsExceedRows {
            test: 2,
            train: 2,
            rows: 3
        }
    );
    let stratified = r#"{"method":"shuffle","test_size":0.5,"seed":0}"#;
    assert_eq!(
        error(stratified, 3, Some((KeyRole::Stratify, &[0, 0, 1]))),
        SplitError::ClassTooSmall { class: 1 }
    );
    let stratified = r#"{"method":"shuffle","test_size":1,"seed":0}"#;
    let few = SplitError::TooFewForClasses {
        part: "test",
        size: 1,
        classes: 2,
    };
    assert_eq!(
        error(stratified, 4, Some((KeyRole::Stratify, &[0, 0, 1, 1]))),
        few
    );
    let groups = SHUFFLE;
    let inside = SplitError::InGroup {
        group: 1,
        rows: 1,
        source: Box::new(empty(1)),
    };
    assert_eq!(
        inside.to_string(),
        "the 1 rows of the group with code 1 cannot be split"
    );
    let cause = std::error::Error::source(&inside).map(ToString::to_string);
    assert_eq!(cause, Some(empty(1).to_string()));
    assert_eq!(
        error(groups, 3, Some((KeyRole::Within, &[0, 0, 1]))),
        inside
    );
    let first_fit = r#"{"method":"first_fit","test_size":1}"#;
    let none = SplitError::EmptyPart {
        part: "test",
        rows: 4,
    };
    assert_eq!(
        error(first_fit, 4, Some((KeyRole::Groups, &[0, 0, 1, 1]))),
        none
    );
}

/// `check` finds sizes that are invalid for every table. `split` rejects these sizes, too.
#[test]
fn sizes_invalid_for_every_table_are_found_by_check() {
    let cases = [
        (
            r#"{"method":"shuffle","test_size":1.5,"seed":0}"#,
            Some("test_size"),
        ),
        (
            r#"{"method":"shuffle","test_size":0,"seed":0}"#,
            Some("test_size"),
        ),
        (
            r#"{"method":"shuffle","test_size":1.0,"seed":0}"#,
            Some("test_size"),
        ),
        (
            r#"{"method":"shuffle","train_size":-0.1,"seed":0}"#,
            Some("train_size"),
        ),
        (
            r#"{"method":"shuffle","test_size":0.5,"train_size":0.6,"seed":0}"#,
            Some("train_size"),
        ),
        (
            r#"{"method":"sample","test_size":1.5,"seed":0}"#,
            Some("test_size"),
        ),
        (
            r#"{"method":"python_sample","test_size":-0.5,"seed":0}"#,
            Some("test_size"),
        ),
        (
            r#"{"method":"first_fit","test_size":0.0}"#,
            Some("test_size"),
        ),
        (r#"{"method":"cut","train_size":1.5}"#, Some("train_size")),
        (
            r#"{"method":"shuffle","test_size":0.5,"train_size":0.5,"seed":0}"#,
            None,
        ),
        (r#"{"method":"shuffle","test_size":50,"seed":0}"#, None),
        (r#"{"method":"sample","test_size":1.0,"seed":0}"#, None),
        (r#"{"method":"sample","test_size":0,"seed":0}"#, None),
        (r#"{"method":"first_fit","test_size":1}"#, None),
    ];
    for (text, parameter) in cases {
        let method = parse(text).unwrap();
        let found = method.check().err();
        assert_eq!(found.is_some(), parameter.is_some(), "{text}: {found:?}");
        assert_eq!(
            found.and_then(|error| error.parameter()),
            parameter,
            "{text}"
        );
        if parameter.is_some() {
            let keys = SplitKeys {
                role: KeyRole::Groups,
                codes: &[0, 1, 2, 3],
            };
            assert!(
                split(&method, 4, method.needs_keys().then_some(keys)).is_err(),
                "{text}"
            );
        }
    }
}

#[test]
fn keys_are_numbered_by_appearance_and_by_order() {
    let keys = ["b", "a", "b", "c", "a"];
    assert_eq!(codes_by_appearance(keys), [0, 1, 0, 2, 1]);
    assert_eq!(codes_by_order(&keys), [1, 0, 1, 2, 0]);
    let groups = Groups::new(&[1, 0, 1, 2, 0]).unwrap();
    assert_eq!(
        (groups.len(), groups.rows(0), groups.rows(2), groups.rows(3)),
        (3, &[1, 4][..], &[3][..], &[][..])
    );
    assert_eq!(Groups::new(&[]).unwrap().len(), 0);
}

fn methods() -> impl Strategy<Value = SplitAlgorithm> {
    let texts = vec![
        SHUFFLE,
        r#"{"method":"shuffle","train_size":0.75,"seed":7,"order":"file"}"#,
        r#"{"method":"shuffle","test_size":0.1,"seed":1,"order":"split"}"#,
        r#"{"method":"sample","test_size":0.3,"seed":0}"#,
        r#"{"method":"python_sample","test_size":0.3,"seed":0}"#,
        r#"{"method":"first_fit","test_size":0.3}"#,
    ];
    prop::sample::select(texts).prop_map(|text| parse(text).unwrap())
}

proptest! {
    #[test]
    fn parts_are_disjoint_and_cover_all_rows(
        method in methods(),
        names in prop::collection::vec(0u8..12, 0..200),
        role in prop::option::of(prop::sample::select(vec![KeyRole::Groups, KeyRole::Stratify, KeyRole::Within])),
    ) {
        let codes = codes_by_appearance(&names);
        let keys = role.map(|role| SplitKeys { role, codes: &codes });
        // The size may be invalid for a random number of rows. If `split` succeeds, the parts must contain every row.
        if let Ok(parts) = split(&method, names.len(), keys) {
            let mut rows = [parts.train, parts.test].concat();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..names.len() as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn group_methods_keep_groups_together(seed: u32, names in prop::collection::vec(0u8..12, 2..200)) {
        let keys = codes_by_appearance(&names);
        let method = SplitAlgorithm::Shuffle { test_size: Some(SplitSize::Fraction(0.3)), train_size: None, seed, order: None };
        if let Ok(parts) = split(&method, keys.len(), Some(SplitKeys { role: KeyRole::Groups, codes: &keys })) {
            for row in parts.train {
                prop_assert!(parts.test.iter().all(|&other| keys[other as usize] != keys[row as usize]));
            }
        }
    }

    /// With groups, the value of a row is the largest value of its group. Every row is in exactly one part, the rows of
    /// a group are in the same part, and no train row has a larger value than a test row. Unless ties are divided, rows
    /// with equal values are in the same part.
    #[test]
    fn cuts_are_in_order_and_keep_ties_and_groups(
        ranks in prop::collection::vec(0u32..9, 0..60),
        names in prop::collection::vec(0u8..9, 60),
        with_groups: bool,
        size in prop_oneof![(0u32..30).prop_map(SplitSize::Rows), (0.0..1.0).prop_map(SplitSize::Fraction)],
        from_start: bool,
        ties in prop::sample::select(vec![CutTies::Test, CutTies::Train, CutTies::Divide]),
    ) {
        let codes = codes_by_appearance(&names[..ranks.len()]);
        let groups = with_groups.then_some(codes.as_slice());
        let (train_size, test_size) = if from_start { (Some(size), None) } else { (None, Some(size)) };
        let point = CutPoint::Size { test_size, train_size, ties };
        let Ok(parts) = cut(&ranks, groups, point, SplitOrder::File) else { return Ok(()) };
        let mut rows = [parts.train.clone(), parts.test.clone()].concat();
        rows.sort_unstable();
        prop_assert_eq!(rows, (0..ranks.len() as u32).collect::<Vec<_>>());
        prop_assert!(!parts.train.is_empty() && !parts.test.is_empty());
        // The row's value, or with groups the largest value of the row's group.
        let value = |row: &u32| match groups {
            Some(groups) => ranks.iter().zip(groups).filter(|one| *one.1 == groups[*row as usize]).map(|one| *one.0).max().unwrap(),
            None => ranks[*row as usize],
        };
        let (largest_train, smallest_test) = (parts.train.iter().map(value).max().unwrap(), parts.test.iter().map(value).min().unwrap());
        let is_divided = ties == CutTies::Divide && largest_train == smallest_test;
        prop_assert!(largest_train < smallest_test || is_divided, "{largest_train} {smallest_test}");
        for row in &parts.train {
            prop_assert!(!with_groups || parts.test.iter().all(|other| codes[*other as usize] != codes[*row as usize]));
        }
        let count = groups.map_or(ranks.len(), |groups| Groups::new(groups).unwrap().len() as usize) as u32;
        let sizes = PartSizes::new(count, test_size, train_size).unwrap();
        let test_count = match groups {
            Some(groups) => parts.test.iter().map(|row| groups[*row as usize]).collect::<std::collections::BTreeSet<_>>().len(),
            None => parts.test.len(),
        } as u32;
        match ties {
            CutTies::Divide => prop_assert_eq!(test_count, sizes.test),
            CutTies::Test => prop_assert!(test_count >= sizes.test),
            CutTies::Train => prop_assert!(test_count <= sizes.test),
        }
    }

    #[test]
    fn parts_have_the_sizes_of_part_sizes(rows in 0u32..5000, test in 0.0..1.0, train in prop::option::of(0.0..1.0), seed: u32) {
        let (test_size, train_size) = (Some(SplitSize::Fraction(test)), train.map(SplitSize::Fraction));
        if let Ok(sizes) = PartSizes::new(rows, test_size, train_size) {
            let parts = split(&SplitAlgorithm::Shuffle { test_size, train_size, seed, order: None }, rows as usize, None).unwrap();
            prop_assert_eq!((parts.train.len(), parts.test.len()), (sizes.train as usize, sizes.test as usize));
        }
    }
}

#[test]
fn computed_size_must_be_finite() {
    for (number, size) in [
        (0.25, Some(SplitSize::Fraction(0.25))),
        (1.0, Some(SplitSize::Rows(1))),
        (4_294_967_295.0, Some(SplitSize::Rows(u32::MAX))),
        (4_294_967_296.0, None),
        (1e300, None),
        // `from_number` accepts these sizes, but `split` rejects them.
        (1.5, Some(SplitSize::Fraction(1.5))),
        (0.0, Some(SplitSize::Fraction(0.0))),
        (-3.0, Some(SplitSize::Fraction(-3.0))),
        (f64::INFINITY, None),
        (f64::NEG_INFINITY, None),
        (f64::NAN, None),
    ] {
        assert_eq!(SplitSize::from_number(number).ok(), size, "{number}");
        for text in [
            r#"{"method":"shuffle","seed":0}"#,
            r#"{"method":"sample","test_size":0.5,"seed":0}"#,
            r#"{"method":"python_sample","test_size":0.5,"seed":0}"#,
            r#"{"method":"first_fit","test_size":0.5}"#,
            r#"{"method":"cut"}"#,
        ] {
            let Some(size) = size else { continue };
            let method = parse(text).unwrap().with_test_size(size);
            let written = serde_json::to_value(&method).unwrap();
            assert_eq!(written["test_size"], serde_json::json!(size));
        }
    }
}
