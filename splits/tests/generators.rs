//! The generators against values recorded from NumPy 1.26.4 and CPython 3.11.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod common;

use common::{Digest, digest, get, recorded};
use prep_splits::{
    Draw, Drawn, Generator, Mt19937, PythonRandom, RandomError, RandomState, Weights,
};

/// Calls a draw as often as there are recorded values, and compares the bits of doubles.
fn same_bits(entry: &serde_json::Value, skip: usize, mut draw: impl FnMut() -> f64) {
    let expected: Vec<u64> = get(entry, "bits");
    (0..skip).for_each(|_| _ = draw());
    let drawn: Vec<u64> = expected.iter().map(|_| draw().to_bits()).collect();
    assert_eq!(drawn, expected, "{entry}");
}

#[test]
fn mersenne_twister_gives_the_words_of_its_authors() {
    // The test output that Matsumoto and Nishimura publish with mt19937ar.c.
    let mut generator = Mt19937::from_words(&[0x123, 0x234, 0x345, 0x456]);
    let words: Vec<u32> = (0..5).map(|_| generator.next_u32()).collect();
    assert_eq!(
        words,
        [1067595299, 955945823, 477289528, 4107218783, 4228976476]
    );
}

#[test]
fn numpy_permutation() {
    for entry in recorded("numpy_legacy.json", "permutation") {
        let drawn = RandomState::new(get(&entry, "seed")).permutation(get(&entry, "n"));
        let expected: Digest = serde_json::from_value(entry.clone()).unwrap();
        assert_eq!(digest(&drawn), expected, "{entry}");
    }
}

#[test]
fn numpy_randint() {
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
fn numpy_doubles() {
    for entry in recorded("numpy_legacy.json", "random_sample") {
        let mut generator = RandomState::new(get(&entry, "seed"));
        same_bits(&entry, 680, || generator.random_sample());
    }
    for entry in recorded("numpy_legacy.json", "uniform") {
        let mut generator = RandomState::new(get(&entry, "seed"));
        same_bits(&entry, 0, || generator.uniform(-3.7, 99.1));
    }
}

#[test]
fn numpy_choice_without_replacement() {
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

/// A permutation must take exactly NumPy's words from the stream, or what follows differs.
#[test]
fn numpy_calls_in_sequence() {
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
fn numpy_default_rng() {
    for entry in recorded("numpy_generator.json", "random") {
        let mut generator = Generator::new(get(&entry, "seed"));
        same_bits(&entry, 0, || generator.random());
    }
    for entry in recorded("numpy_generator.json", "uniform") {
        let mut generator = Generator::new(get(&entry, "seed"));
        same_bits(&entry, 0, || generator.uniform(1.0, 100.0));
    }
    for entry in recorded("numpy_generator.json", "choice") {
        let mut generator = Generator::new(get(&entry, "seed"));
        let weights = Weights::new(&get::<Vec<f64>>(&entry, "p")).unwrap();
        let drawn: Vec<usize> = (0..40).map(|_| generator.choice(&weights)).collect();
        assert_eq!(drawn, get::<Vec<usize>>(&entry, "values"), "{entry}");
    }
}

#[test]
fn weights_must_be_probabilities() {
    for wrong in [
        &[][..],
        &[0.5],
        &[0.5, 0.6],
        &[-0.5, 1.5],
        &[f64::NAN, 1.0],
        &[f64::INFINITY],
    ] {
        assert!(
            matches!(Weights::new(wrong), Err(RandomError::Weights { .. })),
            "{wrong:?}"
        );
    }
}

#[test]
fn python_integers() {
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
fn python_doubles() {
    for entry in recorded("python_random.json", "random") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        same_bits(&entry, 0, || generator.random());
    }
    for entry in recorded("python_random.json", "uniform") {
        let mut generator = PythonRandom::new(get(&entry, "seed"));
        same_bits(&entry, 0, || generator.uniform(-3.7, 99.1));
    }
}

#[test]
fn python_sequences() {
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

#[test]
fn columns_of_python_draws() {
    for entry in recorded("splits.json", "draws") {
        let rows = get(&entry, "rows");
        let choice = Draw::PythonChoice {
            levels: vec![2, 3],
            seed: 0,
            after_shuffle: true,
        };
        let Ok(Drawn::Integers(values)) = choice.column(rows) else {
            panic!()
        };
        let values: Vec<u32> = values.into_iter().map(|value| value as u32).collect();
        assert_eq!(digest(&values), get::<Digest>(&entry, "choices"), "{entry}");

        let sample = Draw::PythonSample {
            low: 1,
            high: 21,
            k: 20,
            seed: 0,
        };
        let Ok(Drawn::Lists(lists)) = sample.column(rows) else {
            panic!()
        };
        let values: Vec<u32> = lists
            .into_iter()
            .flatten()
            .map(|value| value as u32)
            .collect();
        assert_eq!(digest(&values), get::<Digest>(&entry, "lists"), "{entry}");
    }
}

#[test]
fn columns_of_numpy_draws() {
    for entry in recorded("numpy_legacy.json", "randint") {
        let draw = Draw::NumpyRandint {
            low: get(&entry, "low"),
            high: get(&entry, "high"),
            seed: get(&entry, "seed"),
        };
        assert_eq!(
            draw.column(12),
            Ok(Drawn::Integers(get(&entry, "values"))),
            "{entry}"
        );
    }
    for entry in recorded("numpy_generator.json", "uniform") {
        let draw = Draw::NumpyUniform {
            low: 1.0,
            high: 100.0,
            seed: get(&entry, "seed"),
        };
        let expected: Vec<u64> = get(&entry, "bits");
        let expected = expected.into_iter().map(f64::from_bits).collect();
        assert_eq!(draw.column(20), Ok(Drawn::Floats(expected)), "{entry}");
    }
}

#[test]
fn columns_that_cannot_be_drawn() {
    let draws = [
        r#"{"draw": "numpy_randint", "low": 7, "high": 7, "seed": 0}"#,
        r#"{"draw": "python_choice", "levels": [], "seed": 0}"#,
        r#"{"draw": "python_choice", "levels": [2, 0], "seed": 0}"#,
        r#"{"draw": "python_sample", "low": 1, "high": 3, "k": 3, "seed": 0}"#,
        r#"{"draw": "python_sample", "low": 3, "high": 1, "k": 1, "seed": 0}"#,
    ];
    for text in draws {
        let draw: Draw = serde_json::from_str(text).unwrap();
        assert!(draw.column(1).is_err(), "{text}");
    }
}

/// Values that published preparations contain.
#[test]
fn published_draws() {
    let lists = Draw::PythonSample {
        low: 1,
        high: 21,
        k: 20,
        seed: 0,
    }
    .column(1);
    let first = vec![
        13, 14, 2, 9, 16, 7, 20, 5, 8, 6, 10, 4, 3, 12, 18, 1, 15, 17, 19, 11,
    ];
    assert_eq!(lists, Ok(Drawn::Lists(vec![first])));
    assert_eq!(PythonRandom::new(42).randint(0, 1009), Ok(654));
}
