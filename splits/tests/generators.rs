//! Compares the generators with values recorded from NumPy 1.26.4 and CPython 3.11.

use crate::common;
use common::{Digest, digest, get, recorded};
use prep_splits::{Mt19937, NumpyGenerator, PythonRandom, RandomError, RandomState, Rng, RngKind};
use serde_json::Value;

/// Calls `draw` `skip` times. Then compares the bits of the doubles that it returns with the recorded bits.
fn assert_same_bits(entry: &serde_json::Value, skip: usize, mut draw: impl FnMut() -> f64) {
    let expected: Vec<u64> = get(entry, "bits");
    (0..skip).for_each(|_| _ = draw());
    let drawn: Vec<u64> = expected.iter().map(|_| draw().to_bits()).collect();
    assert_eq!(drawn, expected, "{entry}");
}

#[test]
fn mersenne_twister_produces_the_reference_output() {
    // The test output that Matsumoto and Nishimura publish with mt19937ar.c.
    let mut generator = Mt19937::from_words(&[0x123, 0x234, 0x345, 0x456]);
    let words: Vec<u32> = (0..5).map(|_| generator.next_u32()).collect();
    assert_eq!(
        words,
        [1067595299, 955945823, 477289528, 4107218783, 4228976476]
    );
}

#[test]
fn numpy_permutations_equal_recorded_values() {
    for entry in recorded("numpy_legacy.json", "permutation") {
        let drawn = RandomState::new(get(&entry, "seed")).permutation(get(&entry, "n"));
        let expected: Digest = serde_json::from_value(entry.clone()).unwrap();
        assert_eq!(digest(&drawn), expected, "{entry}");
    }
}

#[test]
fn numpy_randint_equals_recorded_values() {
    for entry in recorded("numpy_legacy.json", "randint") {
        let mut generator = RandomState::new(get(&entry, "seed"));
        let (low, high) = (get(&entry, "low"), get(&entry, "high"));
        let drawn: Vec<i64> = (0..12)
            .map(|_| generator.randint(low, high).unwrap())
            .collect();
        assert_eq!(drawn, get::<Vec<i64>>(&entry, "values"), "{entry}");
    }
    let refused = Err(RandomError::EmptyRange { low: 3, high: 3 });
    assert_eq!(RandomState::new(0).randint(3, 3), refused);
}

#[test]
fn numpy_doubles_equal_recorded_values() {
    for entry in recorded("numpy_legacy.json", "random_sample") {
        let mut generator = RandomState::new(get(&entry, "seed"));
        // Of 700 values, the last 20 are recorded.
        assert_same_bits(&entry, 680, || generator.random_sample());
    }
    for entry in recorded("numpy_legacy.json", "uniform") {
        let mut generator = RandomState::new(get(&entry, "seed"));
        assert_same_bits(&entry, 0, || generator.uniform(-3.7, 99.1));
    }
}

#[test]
fn numpy_choice_without_replacement_equals_recorded_values() {
    for entry in recorded("numpy_legacy.json", "choice") {
        let drawn = RandomState::new(get(&entry, "seed"))
            .choice(get(&entry, "n"), get(&entry, "size"))
            .unwrap();
        let expected: Digest = serde_json::from_value(entry.clone()).unwrap();
        assert_eq!(digest(&drawn), expected, "{entry}");
    }
    let refused = Err(RandomError::SampleTooLarge {
        wanted: 3,
        population: 2,
    });
    assert_eq!(RandomState::new(0).choice(2, 3), refused);
}

/// A permutation must draw the same number of words as in NumPy. Otherwise the values drawn after it differ.
#[test]
fn numpy_calls_in_sequence_equal_recorded_values() {
    for entry in recorded("numpy_legacy.json", "mixed") {
        let mut generator = RandomState::new(get(&entry, "seed"));
        let mut drawn = Vec::new();
        for n in [1000, 1, 0, 7, 1500] {
            drawn.extend(generator.permutation(n));
            drawn.push(generator.randint(0, 1000).unwrap() as u32);
            drawn.push(generator.randint(5, 6).unwrap() as u32);
            drawn.push((generator.random_sample() * 4294967296.0) as u32);
        }
        let expected: Digest = serde_json::from_value(entry.clone()).unwrap();
        assert_eq!(digest(&drawn), expected, "{entry}");
    }
}

#[test]
fn numpy_default_rng_equals_recorded_values() {
    for entry in recorded("numpy_generator.json", "random") {
        let mut generator = NumpyGenerator::new(get(&entry, "seed"));
        assert_same_bits(&entry, 0, || generator.random());
    }
    for entry in recorded("numpy_generator.json", "uniform") {
        let mut generator = NumpyGenerator::new(get(&entry, "seed"));
        assert_same_bits(&entry, 0, || generator.uniform(1.0, 100.0));
    }
}

#[test]
fn python_integers_equal_recorded_values() {
    for entry in recorded("python_random.json", "getrandbits") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        for (bits, expected) in get::<Vec<(u32, u64)>>(&entry, "values") {
            assert_eq!(
                generator.getrandbits(bits),
                expected,
                "{bits} bits of {entry}"
            );
        }
    }
    for entry in recorded("python_random.json", "randbelow") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        for (limit, expected) in get::<Vec<(u64, u64)>>(&entry, "values") {
            assert_eq!(
                generator.randbelow(limit),
                expected,
                "below {limit} of {entry}"
            );
        }
    }
    for entry in recorded("python_random.json", "randint") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        let (low, high) = (get(&entry, "low"), get(&entry, "high"));
        let drawn: Vec<i64> = (0..12)
            .map(|_| generator.randint(low, high).unwrap())
            .collect();
        assert_eq!(drawn, get::<Vec<i64>>(&entry, "values"), "{entry}");
    }
    let refused = Err(RandomError::EmptyRange { low: 1, high: 0 });
    assert_eq!(PythonRandom::new(0).randint(1, 0), refused);
}

#[test]
fn python_doubles_equal_recorded_values() {
    for entry in recorded("python_random.json", "random") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        assert_same_bits(&entry, 0, || generator.random());
    }
    for entry in recorded("python_random.json", "uniform") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        assert_same_bits(&entry, 0, || generator.uniform(-3.7, 99.1));
    }
}

#[test]
fn python_shuffle_sample_and_choice_equal_recorded_values() {
    for entry in recorded("python_random.json", "shuffle") {
        let mut items: Vec<u32> = (0..get(&entry, "n")).collect();
        PythonRandom::new(get(&entry, "seed")).shuffle(&mut items);
        let expected: Digest = serde_json::from_value(entry.clone()).unwrap();
        assert_eq!(digest(&items), expected, "{entry}");
    }
    for entry in recorded("python_random.json", "sample") {
        let drawn = PythonRandom::new(get(&entry, "seed"))
            .sample(get(&entry, "n"), get(&entry, "k"))
            .unwrap();
        let expected: Digest = serde_json::from_value(entry.clone()).unwrap();
        assert_eq!(digest(&drawn), expected, "{entry}");
    }
    for entry in recorded("python_random.json", "choice") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        let items: Vec<u32> = (0..get(&entry, "n")).collect();
        let drawn: Vec<u32> = (0..20)
            .map(|_| *generator.choice(&items).unwrap())
            .collect();
        assert_eq!(drawn, get::<Vec<u32>>(&entry, "values"), "{entry}");
    }
    let refused = Err(RandomError::SampleTooLarge {
        wanted: 3,
        population: 2,
    });
    assert_eq!(PythonRandom::new(0).sample(2, 3), refused);
    assert_eq!(PythonRandom::new(0).choice::<u32>(&[]), None);
}

/// Calls all kinds of draws in sequence. After each call, the generator is serialized and deserialized.
#[test]
fn deserialized_generators_continue_the_sequence() {
    for entry in recorded("rng.json", "mixed") {
        let kind: RngKind = get(&entry, "kind");
        let mut rng = Rng::new(kind, get(&entry, "seed")).unwrap();
        for call in get::<Vec<Value>>(&entry, "calls") {
            let draw: String = get(&call, "draw");
            let number = |field: &str| get::<i64>(&call, field);
            let drawn: Vec<u64> = match draw.as_str() {
                "random" => vec![rng.random().to_bits()],
                "uniform" => vec![rng.uniform(-3.7, 99.1).unwrap().to_bits()],
                "integers" => {
                    let (low, high) = (number("low"), number("high"));
                    vec![rng.integers(low, high).unwrap() as u64]
                }
                "choice" => vec![rng.choice(get(&call, "n")).unwrap().into()],
                "permutation" => {
                    let drawn = rng.permutation(get(&call, "n"));
                    vec![digest(&drawn).crc.into()]
                }
                "sample" => {
                    let drawn = rng.sample(get(&call, "n"), get(&call, "k")).unwrap();
                    vec![digest(&drawn).crc.into()]
                }
                other => panic!("{other}"),
            };
            assert_eq!(drawn, [get::<u64>(&call, "value")], "{call} of {entry}");
            let state = serde_json::to_string(&rng).unwrap();
            let again: Rng = serde_json::from_str(&state).unwrap();
            assert_eq!(again, rng);
            rng = again;
        }
    }
}

#[test]
fn invalid_draws_and_states_are_errors() {
    let large = RandomError::SeedTooLarge { seed: 1 << 32 };
    assert_eq!(Rng::new(RngKind::Numpy, 1 << 32), Err(large));
    for kind in [RngKind::Numpy, RngKind::NumpyGenerator, RngKind::Python] {
        let mut rng = Rng::new(kind, 0).unwrap();
        assert_eq!(rng.kind(), kind);
        let empty = |low, high| Err(RandomError::EmptyRange { low, high });
        assert_eq!(rng.integers(3, 3), empty(3, 3));
        assert_eq!(rng.choice(0).map(i64::from), empty(0, 0));
        assert!(rng.sample(2, 3).is_err());
        // NumPy's legacy generator rejects infinite and NaN ranges, the newer one also negative ranges, Python none.
        let refused: Vec<bool> = [
            (0.0, f64::INFINITY),
            (-1e308, 1e308),
            (f64::NAN, 1.0),
            (1.0, 0.0),
        ]
        .iter()
        .map(|(low, high)| rng.uniform(*low, *high).is_err())
        .collect();
        let expected = match kind {
            RngKind::Numpy => [true, true, true, false],
            RngKind::NumpyGenerator => [true; 4],
            RngKind::Python => [false; 4],
        };
        assert_eq!(refused, expected, "{kind:?}");
    }
    for broken in [
        r#"{"generator":"python","twister":{"words":[1],"used":0}}"#,
        r#"{"generator":"numpy_generator","bits":{"state":"x","increment":"1"}}"#,
    ] {
        assert!(serde_json::from_str::<Rng>(broken).is_err(), "{broken}");
    }
}

/// These draws reproduce values that occur in published datasets.
#[test]
fn published_draws_are_reproduced() {
    let places = PythonRandom::new(0).sample(20, 20).unwrap();
    let first: Vec<u32> = places.into_iter().map(|place| place + 1).collect();
    assert_eq!(
        first,
        [
            13, 14, 2, 9, 16, 7, 20, 5, 8, 6, 10, 4, 3, 12, 18, 1, 15, 17, 19, 11
        ]
    );
    assert_eq!(PythonRandom::new(42).randint(0, 1009), Ok(654));
}
