//! Compares the methods with splits recorded from scikit-learn 1.5.2 and pandas 2.2.3.

use crate::codes;
use crate::common;
use codes::{codes_by_appearance, codes_by_order};
use common::{Digest, digest, get, recorded};
use prep_splits::{
    CutPoint, KeyRole, PythonRandom, Split, SplitAlgorithm, SplitError, SplitKeys, SplitOrder,
    SplitSize, cut, python_sample, split,
};
use serde_json::Value;

/// The keys that `record_splits.py` assigns to a table.
fn keys(entry: &Value) -> Vec<String> {
    let (rows, distinct): (u64, u64) = (get(entry, "rows"), get(entry, "distinct"));
    (0..rows)
        .map(|row| format!("k{}", ((row * 2654435761 % (1 << 32)) >> 16) % distinct))
        .collect()
}

fn by_appearance(entry: &Value) -> Vec<u32> {
    codes_by_appearance(keys(entry))
}

fn keyed(method: &SplitAlgorithm, role: KeyRole, codes: &[u32]) -> Result<Split, SplitError> {
    split(method, codes.len(), Some(SplitKeys { role, codes }))
}

/// Compares `result` with the recorded parts. Requires an error if the original library raised one.
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

/// A size in JSON, which has the same meaning as in pandas and scikit-learn: `1.0` is a fraction, `1` a number of rows.
fn size(entry: &Value, field: &str) -> Option<SplitSize> {
    get(entry, field)
}

#[test]
fn shuffle_equals_recorded_splits() {
    for entry in recorded("splits.json", "shuffle") {
        let test_size = match get::<Option<[u32; 2]>>(&entry, "share") {
            Some([part, rest]) => Some(SplitSize::fraction_of_total(part, rest)),
            None => size(&entry, "test_size"),
        };
        let train_size = size(&entry, "train_size");
        let method = SplitAlgorithm::Shuffle {
            test_size,
            train_size,
            seed: get(&entry, "seed"),
            order: None,
        };
        check(&entry, split(&method, get(&entry, "rows"), None));
    }
}

#[test]
fn stratified_equals_recorded_splits() {
    for entry in recorded("splits.json", "stratified") {
        let (test_size, train_size) = (size(&entry, "test_size"), size(&entry, "train_size"));
        let method = SplitAlgorithm::Shuffle {
            test_size,
            train_size,
            seed: get(&entry, "seed"),
            order: None,
        };
        let codes = codes_by_order(&keys(&entry));
        check(&entry, keyed(&method, KeyRole::Stratify, &codes));
    }
}

#[test]
fn sample_equals_recorded_splits() {
    for entry in recorded("splits.json", "sample") {
        let test_size = get(&entry, "test_size");
        let method = SplitAlgorithm::Sample {
            test_size,
            seed: get(&entry, "seed"),
            order: None,
        };
        check(&entry, split(&method, get(&entry, "rows"), None));
    }
}

#[test]
fn group_splits_in_both_orders_equal_recorded_splits() {
    for entry in recorded("splits.json", "groups") {
        let order: SplitOrder = get(&entry, "order");
        let codes = match order {
            SplitOrder::File => by_appearance(&entry),
            SplitOrder::Split => codes_by_order(&keys(&entry)),
        };
        let test_size = size(&entry, "test_size");
        let seed = get(&entry, "seed");
        // `File` is the default for groups, so the test does not declare it.
        let order = (order == SplitOrder::Split).then_some(order);
        let method = SplitAlgorithm::Shuffle {
            test_size,
            train_size: None,
            seed,
            order,
        };
        check(&entry, keyed(&method, KeyRole::Groups, &codes));
    }
}

#[test]
fn splits_within_keys_equal_recorded_splits() {
    for entry in recorded("splits.json", "within") {
        let method: SplitAlgorithm = get(&entry, "method");
        check(
            &entry,
            keyed(&method, KeyRole::Within, &by_appearance(&entry)),
        );
    }
}

#[test]
fn python_samples_equal_recorded_splits() {
    for entry in recorded("splits.json", "python_sample") {
        let method = SplitAlgorithm::PythonSample {
            test_size: get(&entry, "test_size"),
            seed: get(&entry, "seed"),
            order: None,
        };
        check(&entry, split(&method, get(&entry, "rows"), None));
    }
}

#[test]
fn python_samples_in_sequence_equal_recorded_splits() {
    for entry in recorded("splits.json", "samples_in_sequence") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        for part in get::<Vec<Value>>(&entry, "samples") {
            let size: SplitSize = get(&part, "test_size");
            let split = python_sample(get(&part, "rows"), size, &mut generator).unwrap();
            assert_eq!(digest(&split.test), get::<Digest>(&part, "test"), "{entry}");
        }
    }
}

#[test]
fn first_fit_equals_recorded_splits() {
    for entry in recorded("splits.json", "first_fit") {
        let method = SplitAlgorithm::FirstFit {
            test_size: SplitSize::Rows(get(&entry, "wanted")),
            order: None,
        };
        check(
            &entry,
            keyed(&method, KeyRole::Groups, &by_appearance(&entry)),
        );
    }
}

/// The value of each row in the column by which the table is cut: the number in the row's key.
fn values(entry: &Value) -> Vec<u32> {
    let values = keys(entry).into_iter();
    values.map(|key| key[1..].parse().unwrap()).collect()
}

#[test]
fn cuts_equal_recorded_splits() {
    for entry in recorded("splits.json", "cut") {
        let values = values(&entry);
        // `least` is the smallest value of the test part. In these entries, rows may have groups; there are half as
        // many groups as values.
        if let Some(least) = get::<Option<u32>>(&entry, "least") {
            let distinct = (get::<u32>(&entry, "distinct") / 2).max(1);
            let group_entry = serde_json::json!({ "rows": entry["rows"], "distinct": distinct });
            let groups = get::<bool>(&entry, "grouped").then(|| by_appearance(&group_entry));
            let point = CutPoint::Rank(least);
            check(
                &entry,
                cut(&values, groups.as_deref(), point, SplitOrder::File),
            );
            continue;
        }
        let point = CutPoint::Size {
            test_size: size(&entry, "test_size"),
            train_size: size(&entry, "train_size"),
            ties: get(&entry, "ties"),
        };
        check(&entry, cut(&values, None, point, SplitOrder::Split));
    }
}

/// Sizes of published test parts: the number of rows of the table, the fraction, and the number of test rows.
#[test]
fn published_test_sizes_are_reproduced() {
    let sizes = [
        (17_500, 0.19, 3_325),
        (3_662, 0.1, 367),
        (10_222, 0.1, 1_023),
        (3_881, 0.1, 389),
        (990, 0.1, 99),
        (25_000, 0.1, 2_500),
        // The product is slightly above the integer in doubles.
        (100, 0.14, 15),
        (150, 0.14, 22),
    ];
    for (rows, share, test) in sizes {
        let method = SplitAlgorithm::Shuffle {
            test_size: Some(SplitSize::Fraction(share)),
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
    let share = SplitSize::fraction_of_total(57_458, 220_025);
    let method = SplitAlgorithm::Shuffle {
        test_size: Some(share),
        train_size: None,
        seed: 0,
        order: Some(SplitOrder::File),
    };
    let parts = split(&method, 220_025, None).unwrap();
    assert_eq!(
        parts.test.len(),
        (57_458.0_f64 / 277_483.0 * 220_025.0).ceil() as usize
    );
    assert!(parts.test.is_sorted() && parts.train.is_sorted());
}
