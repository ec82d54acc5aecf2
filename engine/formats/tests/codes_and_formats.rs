//! Compares run-length codes with NumPy, and printf with Python (see `tests/data/rle`, `tests/data/printf`).

use prep_formats::printf::{PrintfArgument, PrintfError, PrintfFormat};
use prep_formats::rle::{RleError, area, column_major, decode, encode};
use proptest::prelude::*;
use serde_json::Value;

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

#[test]
fn mask_codes_equal_those_of_numpy() {
    for case in lines(include_str!("data/rle/masks.jsonl")) {
        let mask = case["mask"].as_str().unwrap().as_bytes();
        let shape: Vec<usize> = serde_json::from_value(case["shape"].clone()).unwrap();
        let indices = column_major(mask.len(), &shape);
        let pixels: Vec<bool> = indices.map(|index| mask[index] == b'1').collect();
        let code = encode(pixels.iter().copied(), 1 << 20).unwrap();
        assert_eq!(code, case["code"], "{case}");
        assert_eq!(
            area(&code).unwrap(),
            case["area"].as_u64().unwrap(),
            "{case}"
        );
        let mut again = vec![false; pixels.len()];
        for run in decode(&code).unwrap() {
            again[run.start as usize..run.end as usize].fill(true);
        }
        assert_eq!(again, pixels, "{case}");
    }
    assert_eq!(column_major(3, &[2, 2]).count(), 0);
    assert_eq!(column_major(0, &[0, 5]).count(), 0);
    assert_eq!(column_major(1, &[]).count(), 1);
    let checkerboard = (0..100).map(|number| number % 2 == 0);
    let code = encode(checkerboard.clone(), 1 << 10).unwrap();
    assert_eq!(encode(checkerboard.clone(), code.len()), Some(code.clone()));
    assert_eq!(encode(checkerboard, code.len() - 1), None);
}

#[test]
fn invalid_run_length_codes_are_errors() {
    assert_eq!(decode(" \n"), Ok(vec![]));
    assert_eq!(decode("3 2\t9 1"), Ok(vec![2..4, 8..9]));
    assert_eq!(decode("1 2 3 1"), Ok(vec![0..2, 2..3]));
    assert_eq!(decode("1 2 3"), Err(RleError::OddLength { words: 3 }));
    assert_eq!(decode("1 3 3 1"), Err(RleError::Overlap { start: 3 }));
    for token in ["0", "x", "-1", "1.0", "18446744073709551616"] {
        let wrong = RleError::NotANumber {
            token: token.into(),
        };
        assert_eq!(decode(&format!("{token} 1")), Err(wrong));
    }
    assert_eq!(area("18446744073709551615 18446744073709551615"), Ok(1));
}

#[test]
fn formatted_values_equal_those_of_python() {
    let mut printed = 0;
    for case in lines(include_str!("data/printf/printf.jsonl")) {
        let spelled = case[0].as_str().unwrap();
        let value = match &case[1] {
            Value::String(text) => PrintfArgument::Text(text),
            Value::Object(bits) => {
                PrintfArgument::Number(f64::from_bits(bits["f"].as_u64().unwrap()))
            }
            number => PrintfArgument::Integer(number.as_i64().unwrap()),
        };
        let mut out = String::new();
        let found = PrintfFormat::new(spelled).and_then(|format| format.push(&[value], &mut out));
        match case[2].as_str() {
            Some(expected) => {
                assert_eq!(found, Ok(()), "{case}");
                assert_eq!(out, expected, "{case}");
                printed += 1;
            }
            None => assert!(
                matches!(found, Err(PrintfError::Type { .. })),
                "{case}: {out}"
            ),
        }
    }
    assert!(printed > 4000, "{printed}");
}

#[test]
fn invalid_formats_are_errors() {
    for (format, conversion) in [("%", "%"), ("a%y", "%y"), ("%5.2", "%5.2"), ("%é", "%é")] {
        let conversion = conversion.to_owned();
        let wrong = PrintfError::UnknownConversion { conversion };
        assert_eq!(PrintfFormat::new(format), Err(wrong));
    }
    assert_eq!(PrintfFormat::new("%1001d"), Err(PrintfError::TooWide));
    assert_eq!(
        PrintfFormat::new("%.99999999999999999999d"),
        Err(PrintfError::TooWide)
    );
    let two = PrintfFormat::new("%d%% %s").unwrap();
    let one = two.push(&[PrintfArgument::Integer(1)], &mut String::new());
    assert_eq!(
        one,
        Err(PrintfError::Count {
            wanted: 2,
            given: 1
        })
    );
    let mut out = String::new();
    two.push(
        &[PrintfArgument::Integer(50), PrintfArgument::Text("x")],
        &mut out,
    )
    .unwrap();
    assert_eq!(out, "50% x");
}

proptest! {
    #[test]
    fn arbitrary_formats_do_not_panic(format in "[%a-z0-9.+# -]{0,12}|\\PC{0,8}", value in any::<f64>()) {
        if let Ok(format) = PrintfFormat::new(&format) {
            let values = vec![PrintfArgument::Number(value); format.values()];
            let _ = format.push(&values, &mut String::new());
        }
    }

    #[test]
    fn masks_round_trip(pixels in prop::collection::vec(any::<bool>(), 0..200)) {
        let runs = decode(&encode(pixels.iter().copied(), usize::MAX).unwrap()).unwrap();
        let is_set = |pixel: u64| runs.iter().any(|run| run.contains(&pixel));
        for (number, pixel) in pixels.iter().enumerate() {
            prop_assert_eq!(*pixel, is_set(number as u64));
        }
    }

    #[test]
    fn arbitrary_run_length_codes_do_not_panic(code in "[0-9 x-]{0,30}") {
        let _ = area(&code);
    }
}
