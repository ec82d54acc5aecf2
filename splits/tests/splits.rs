//! The methods against splits recorded from scikit-learn 1.5.2 and pandas 2.2.3.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod common;

use common::{Digest, digest, get, recorded};
use prep_splits::{
    Exclude, Layer, Method, Order, SequentialDraw, Size, Split, SplitError, codes_by_appearance,
    codes_by_order, nested_sample, split,
};
use serde_json::Value;

/// The keys that `record_splits.py` gives to a table.
fn keys(entry: &Value) -> Vec<String> {
    let (rows, distinct): (u64, u64) = (get(entry, "rows"), get(entry, "distinct"));
    (0..rows)
        .map(|row| format!("k{}", ((row * 2654435761 % (1 << 32)) >> 16) % distinct))
        .collect()
}

fn by_appearance(entry: &Value) -> Vec<u32> {
    codes_by_appearance(keys(entry))
}

/// Compares with the recorded parts, or asks for an error where the original refused.
fn check(entry: &Value, result: Result<Split, SplitError>) {
    if entry["refused"] == true {
        assert!(result.is_err(), "{entry}");
        return;
    }
    let split = result.unwrap_or_else(|error| panic!("{entry}: {error}"));
    assert_eq!(
        digest(&split.train),
        get::<Digest>(entry, "train"),
        "train of {entry}"
    );
    assert_eq!(
        digest(&split.test),
        get::<Digest>(entry, "test"),
        "test of {entry}"
    );
}

/// A size, which JSON writes as pandas and scikit-learn read it: `1.0` is a share, `1` a count.
fn size(entry: &Value, field: &str) -> Option<Size> {
    get(entry, field)
}

#[test]
fn shuffle() {
    for entry in recorded("splits.json", "shuffle") {
        let test_size = match get::<Option<[u32; 2]>>(&entry, "share") {
            Some([part, rest]) => Some(Size::share(part, rest)),
            None => size(&entry, "test_size"),
        };
        let train_size = size(&entry, "train_size");
        let method = Method::Shuffle {
            test_size,
            train_size,
            seed: get(&entry, "seed"),
            order: None,
        };
        check(&entry, split(&method, get(&entry, "rows"), None));
    }
}

#[test]
fn stratified() {
    for entry in recorded("splits.json", "stratified") {
        let (test_size, train_size) = (size(&entry, "test_size"), size(&entry, "train_size"));
        let method = Method::Stratified {
            test_size,
            train_size,
            seed: get(&entry, "seed"),
            order: None,
        };
        check(
            &entry,
            split(
                &method,
                get(&entry, "rows"),
                Some(&codes_by_order(&keys(&entry))),
            ),
        );
    }
}

#[test]
fn sample() {
    for entry in recorded("splits.json", "sample") {
        let test_size = get(&entry, "test_size");
        let method = Method::Sample {
            test_size,
            seed: get(&entry, "seed"),
            order: None,
        };
        check(&entry, split(&method, get(&entry, "rows"), None));
    }
}

#[test]
fn groups_by_membership_and_end_to_end() {
    for entry in recorded("splits.json", "groups") {
        let order: Order = get(&entry, "order");
        let codes = match order {
            Order::File => by_appearance(&entry),
            Order::Split => codes_by_order(&keys(&entry)),
        };
        let test_size = size(&entry, "test_size");
        let seed = get(&entry, "seed");
        // Rows of groups stay in file order unless said otherwise.
        let order = (order == Order::Split).then_some(order);
        let method = Method::Shuffle {
            test_size,
            train_size: None,
            seed,
            order,
        };
        check(&entry, split(&method, codes.len(), Some(&codes)));
    }
}

#[test]
fn within_groups() {
    for entry in recorded("splits.json", "within_groups") {
        let method = Method::WithinGroups {
            test_size: size(&entry, "test_size"),
            seed: 0,
            hold_last_below: get(&entry, "below"),
            shuffle_test: get(&entry, "last"),
        };
        check(
            &entry,
            split(&method, get(&entry, "rows"), Some(&by_appearance(&entry))),
        );
    }
}

#[test]
fn chunks() {
    for entry in recorded("splits.json", "chunks") {
        let chunk_size = get(&entry, "chunk");
        let method = Method::Chunks {
            chunk_size,
            test_size: Some(Size::Fraction(0.1)),
            seed: 0,
        };
        check(&entry, split(&method, get(&entry, "rows"), None));
    }
}

#[test]
fn fill() {
    for entry in recorded("splits.json", "fill") {
        let method = Method::Fill {
            test_size: Size::Rows(get(&entry, "wanted")),
            seed: 0,
            order: None,
        };
        check(
            &entry,
            split(&method, get(&entry, "rows"), Some(&by_appearance(&entry))),
        );
    }
}

#[test]
fn ratio_repair() {
    for entry in recorded("splits.json", "ratio_repair") {
        let (test_size, ratio) = (size(&entry, "test_size"), get(&entry, "ratio"));
        let method = Method::RatioRepair {
            test_size,
            seed: 0,
            ratio,
            order: None,
        };
        check(
            &entry,
            split(&method, get(&entry, "rows"), Some(&by_appearance(&entry))),
        );
    }
}

#[test]
fn both_sides() {
    for entry in recorded("splits.json", "both_sides") {
        let seed = get(&entry, "seed");
        let method = Method::BothSides {
            test_size: Some(Size::Fraction(0.1)),
            seed,
            single_train: 0.9,
        };
        check(
            &entry,
            split(&method, get(&entry, "rows"), Some(&by_appearance(&entry))),
        );
    }
}

#[test]
fn nested_samples() {
    for entry in recorded("splits.json", "nested") {
        let (rows, a, b): (u32, u32, u32) =
            (get(&entry, "rows"), get(&entry, "a"), get(&entry, "b"));
        let multiples = |of: u32| {
            let mut rows: Vec<u32> = (0..rows).filter(|row| row % of == 0).collect();
            rows.sort_by_key(u32::to_string);
            rows
        };
        let (left, right) = (multiples(a), multiples(b));
        let both: Vec<u32> = left.iter().copied().filter(|row| row % b == 0).collect();
        let all: Vec<u32> = (0..rows).collect();
        let seen = |rows| Layer {
            rows,
            exclude: Exclude::Seen,
        };
        let layers = [
            seen(&both),
            seen(&left),
            seen(&right),
            Layer {
                rows: &all,
                exclude: Exclude::Drawn,
            },
        ];
        let result = nested_sample(get(&entry, "fraction"), &layers, 0);
        if entry["refused"] == true {
            assert!(matches!(result, Err(SplitError::Quota { .. })), "{entry}");
            continue;
        }
        let added: Vec<Digest> = result.unwrap().iter().map(|rows| digest(rows)).collect();
        assert_eq!(added, get::<Vec<Digest>>(&entry, "layers"), "{entry}");
    }
}

#[test]
fn sequential_draws() {
    for entry in recorded("splits.json", "sequential") {
        let mut stream = SequentialDraw::new(get(&entry, "share"), get(&entry, "seed")).unwrap();
        let mut picked = Vec::new();
        for row in 0..5000u32 {
            let words = i64::from(row * 7 % 23);
            let positions = (words > 2).then_some(1..words - 1);
            if let Some(position) = stream.next(positions).unwrap() {
                picked.extend([row, position as u32]);
            }
        }
        let expected: Digest = serde_json::from_value(entry.clone()).unwrap();
        assert_eq!(digest(&picked), expected, "{entry}");
    }
}

#[test]
fn varied_exchanges_one_row_when_the_test_part_shows_one_value() {
    let method: Method =
        serde_json::from_str(r#"{"method": "varied", "test_size": 0.3, "seed": 0}"#).unwrap();
    let plain = Method::Shuffle {
        test_size: Some(Size::Fraction(0.3)),
        train_size: None,
        seed: 0,
        order: None,
    };
    let plain = split(&plain, 10, None).unwrap();
    // Two train rows carry the rare value; the first of them in train order moves.
    let mut keys = vec![0; 10];
    for &row in &plain.train[2..4] {
        keys[row as usize] = 1;
    }
    let mut expected = plain.clone();
    std::mem::swap(&mut expected.test[0], &mut expected.train[2]);
    assert_eq!(split(&method, 10, Some(&keys)), Ok(expected));
    // Nothing to exchange, and nothing to mend.
    assert_eq!(split(&method, 10, Some(&[0; 10])), Ok(plain.clone()));
    keys.fill(0);
    keys[plain.test[1] as usize] = 1;
    assert_eq!(split(&method, 10, Some(&keys)), Ok(plain));
}

/// Sizes of published test parts: rows of the table, share, test rows.
#[test]
fn published_sizes() {
    let sizes = [
        (17_500, 0.19, 3_325),
        (3_662, 0.1, 367),
        (10_222, 0.1, 1_023),
        (3_881, 0.1, 389),
        (990, 0.1, 99),
        (25_000, 0.1, 2_500),
        // A hair above the whole number in doubles.
        (100, 0.14, 15),
        (150, 0.14, 22),
    ];
    for (rows, share, test) in sizes {
        let method = Method::Shuffle {
            test_size: Some(Size::Fraction(share)),
            train_size: None,
            seed: 0,
            order: None,
        };
        let parts = split(&method, rows, None).unwrap();
        assert_eq!(
            (parts.test.len(), parts.train.len()),
            (test, rows - test),
            "{share} of {rows}"
        );
    }
    let share = Size::share(57_458, 220_025);
    let method = Method::Shuffle {
        test_size: Some(share),
        train_size: None,
        seed: 0,
        order: Some(Order::File),
    };
    let parts = split(&method, 220_025, None).unwrap();
    assert_eq!(
        parts.test.len(),
        (57_458.0_f64 / 277_483.0 * 220_025.0).ceil() as usize
    );
    assert!(parts.test.is_sorted() && parts.train.is_sorted());
}
