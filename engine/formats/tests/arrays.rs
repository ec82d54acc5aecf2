//! Compares `.npy` files with NumPy 1.26 (see `tests/data/arrays/record.py`).

use crate::hex;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float32Type, Float64Type, Int64Type, UInt64Type};
use hex::unhex;
use prep_formats::npy::{NpyArray, NpyError, NpyHeader, mask_code};
use proptest::prelude::*;
use serde_json::Value;

fn recorded() -> Value {
    serde_json::from_str(include_str!("data/arrays/arrays.json")).unwrap()
}

/// Returns the bytes of a file with the selected rows.
fn gather(file: &[u8], positions: &[u64]) -> Result<Vec<u8>, NpyError> {
    let mut out = Vec::new();
    open(file)?.gather(positions.iter().copied(), &mut out)?;
    Ok(out)
}

fn open(file: &[u8]) -> Result<NpyArray<&[u8]>, NpyError> {
    NpyArray::open(file, 0..file.len() as u64)
}

/// Returns the elements as Python prints them.
fn printed(elements: &ArrayRef) -> Vec<String> {
    let missing = match elements.data_type() {
        DataType::Utf8 => "",
        _ => "nan",
    };
    let print = |row: usize| match elements.data_type() {
        _ if elements.is_null(row) => missing.to_owned(),
        DataType::Boolean if elements.as_boolean().value(row) => "True".to_owned(),
        DataType::Boolean => "False".to_owned(),
        DataType::Int64 => elements.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::UInt64 => elements.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Float32 => format!("{:?}", elements.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => format!("{:?}", elements.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => elements.as_string::<i32>().value(row).to_owned(),
        other => panic!("{other}"),
    };
    (0..elements.len()).map(print).collect()
}

#[test]
fn gathered_rows_have_the_bytes_of_numpy_save() {
    let cases = recorded();
    let cases = cases["gathered"].as_object().unwrap();
    assert_eq!(cases.len(), 20);
    for (name, case) in cases {
        let mut raw = unhex(case["raw"].as_str().unwrap());
        // Only the header of this array is recorded.
        if name == "long_v1" {
            raw.extend((0..120_000u32).map(|n| n as u8));
        }
        let positions: Vec<u64> = case["positions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p.as_u64().unwrap())
            .collect();
        let saved = unhex(case["saved"].as_str().unwrap());
        assert!(gather(&raw, &positions).unwrap() == saved, "{name}");
    }
}

#[test]
fn elements_equal_those_of_numpy() {
    let cases = recorded();
    let cases = cases["elements"].as_object().unwrap();
    assert_eq!(cases.len(), 28);
    for (name, case) in cases {
        let raw = unhex(case["raw"].as_str().unwrap());
        let array = open(&raw).unwrap();
        let wanted = case["printed"].as_array().unwrap();
        let wanted: Vec<&str> = wanted.iter().map(|value| value.as_str().unwrap()).collect();
        let rows: Vec<u64> = (0..wanted.len() as u64).collect();
        assert_eq!(printed(&array.elements(&rows).unwrap()), wanted, "{name}");
        // Rows may repeat and be in any order.
        let found = printed(&array.elements(&[1, 0, 0, 1]).unwrap());
        assert_eq!(found, [1, 0, 0, 1].map(|row: usize| wanted[row]), "{name}");
    }
}

#[test]
fn elements_of_unsupported_types_are_errors() {
    let cases = recorded();
    let cases = cases["no_elements"].as_object().unwrap();
    assert_eq!(cases.len(), 5);
    for (name, raw) in cases {
        let raw = unhex(raw.as_str().unwrap());
        let found = open(&raw).unwrap().elements(&[0]);
        match name.as_str() {
            "f4" | "complex" => assert!(matches!(found, Err(NpyError::BadHeader { .. })), "{name}"),
            _ => assert!(
                matches!(found, Err(NpyError::UnsupportedType { .. })),
                "{name}"
            ),
        }
    }
    // The last of six strings of 9 characters begins with a surrogate.
    let mut raw = unhex(recorded()["elements"]["<U"]["raw"].as_str().unwrap());
    let last = raw.len() - 9 * 4;
    raw[last..last + 4].copy_from_slice(&0xd800_u32.to_le_bytes());
    let found = open(&raw).unwrap().elements(&[0, 5]);
    assert!(matches!(
        found,
        Err(NpyError::NoCharacter {
            row: 5,
            code: 0xd800
        })
    ));
}

#[test]
fn invalid_array_files_are_errors() {
    let cases = recorded();
    let refused =
        |name: &str| gather(&unhex(cases["refused"][name].as_str().unwrap()), &[0]).unwrap_err();
    assert!(matches!(refused("fortran"), NpyError::FortranOrder));
    assert!(matches!(
        refused("object"),
        NpyError::UnsupportedType { .. }
    ));
    assert!(matches!(
        refused("record"),
        NpyError::UnsupportedType { .. }
    ));
    let good = unhex(cases["gathered"]["f4_v1"]["raw"].as_str().unwrap());
    assert!(matches!(
        gather(&good, &[20]),
        Err(NpyError::NoSuchRow { row: 20, rows: 20 })
    ));
    assert!(matches!(
        gather(&good[..200], &[0]),
        Err(NpyError::Truncated { .. })
    ));
    assert!(matches!(
        gather(b"id,x\n1,2\n", &[0]),
        Err(NpyError::NotNpy { .. })
    ));
    let mut future = good.clone();
    future[6] = 4;
    assert!(matches!(
        gather(&future, &[0]),
        Err(NpyError::UnknownVersion { major: 4, minor: 0 })
    ));
}

/// Returns an array file of version 1.0 with this header and without data.
fn with_text(text: &str) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.as_bytes());
    file
}

#[test]
fn invalid_headers_are_errors() {
    let headers = [
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': 1, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 9)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 18446744073709551615, 9)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
    ];
    for text in headers {
        let found = NpyHeader::read(with_text(text).as_slice());
        assert!(
            matches!(found, Err(NpyError::BadHeader { .. })),
            "{text}: {found:?}"
        );
    }
    // The header declares many rows without bytes. The length of the file does not limit the number of such rows.
    for text in [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1152921504606846976, 0)}",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (1152921504606846976,)}",
        "{'descr': '|S0', 'fortran_order': False, 'shape': (1152921504606846976, 3)}",
    ] {
        let found = NpyHeader::read(with_text(text).as_slice());
        assert!(
            matches!(found, Err(NpyError::BadHeader { .. })),
            "{found:?}"
        );
    }
    let empty = with_text("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 0)}");
    assert_eq!(NpyHeader::read(empty.as_slice()).unwrap().rows(), 5);
    let python2 = with_text("{'descr': 'f4', 'fortran_order': False, 'shape': (3L, 2L)}");
    let header = NpyHeader::read(python2.as_slice()).unwrap();
    assert_eq!(
        (
            header.descr.as_str(),
            header.shape.as_slice(),
            header.row_bytes()
        ),
        ("<f4", &[3, 2][..], 8)
    );
}

/// Compares with `tests/data/arrays/record_masks.py`.
#[test]
fn mask_codes_equal_those_of_numpy() {
    for line in include_str!("data/arrays/masks.jsonl").lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let file = unhex(case["file"].as_str().unwrap());
        let found = mask_code(file.as_slice()).unwrap();
        assert_eq!(found.code, case["code"], "{line}");
        assert_eq!(serde_json::json!(found.shape), case["shape"], "{line}");
        let truncated = mask_code(&file[..file.len().saturating_sub(1)]);
        assert!(truncated.is_err() || found.shape.contains(&0), "{line}");
    }
    let text = with_text("{'descr': '<U1', 'fortran_order': False, 'shape': (0,)}");
    let text = mask_code(text.as_slice());
    assert!(matches!(text, Err(NpyError::UnsupportedType { .. })));
    let large = with_text("{'descr': '<f8', 'fortran_order': False, 'shape': (3000000000,)}");
    let large = mask_code(large.as_slice());
    assert!(matches!(large, Err(NpyError::BadHeader { .. })));
}

/// The code of a checkerboard is five times as long as the array, so the code of a large one exceeds the limit.
#[test]
fn the_code_of_a_large_checkerboard_is_too_long() {
    let header = NpyHeader {
        descr: "|b1".to_owned(),
        fortran_order: false,
        shape: vec![5000, 5001],
        item_size: 1,
        data_offset: 0,
    };
    let pixels = (0..5000 * 5001).map(|number| (number % 2) as u8);
    let file: Vec<u8> = header
        .to_bytes()
        .unwrap()
        .into_iter()
        .chain(pixels)
        .collect();
    let found = mask_code(file.as_slice());
    assert!(matches!(found, Err(NpyError::LongCode { .. })), "{found:?}");
}

proptest! {
    /// Gathering equals indexing, for rows in any order and for any runs of neighboring rows.
    #[test]
    fn gathering_equals_indexing(rows in 1u64..40, width in 0u64..5, wanted in prop::collection::vec(0u64..1000, 0..60)) {
        let header = NpyHeader { descr: "<u4".to_owned(), fortran_order: false, shape: vec![rows, width], item_size: 4, data_offset: 0 };
        let mut file = header.to_bytes().unwrap();
        file.extend((0..rows * width).flat_map(|value| (value as u32).to_le_bytes()));
        let wanted: Vec<u64> = wanted.into_iter().map(|row| row % rows).collect();
        let saved = gather(&file, &wanted).unwrap();
        let cells = wanted.iter().flat_map(|row| row * width..(row + 1) * width);
        let data: Vec<u8> = cells.flat_map(|value| (value as u32).to_le_bytes()).collect();
        let start = NpyHeader::read(saved.as_slice()).unwrap().data_offset as usize;
        prop_assert_eq!(&saved[start..], data.as_slice());
    }

    #[test]
    fn arbitrary_headers_do_not_panic(text in "[{}()\\[\\]',: a-z0-9<>|L]{0,60}") {
        let _ = NpyHeader::read(with_text(&text).as_slice());
    }

    // The shapes are small, because too many rows or bytes are an error (see `invalid_headers_are_errors`).
    #[test]
    fn headers_round_trip(shape in prop::collection::vec(0u64..100_000, 1..4), kind in prop::sample::select(vec![("<f4", 4), ("|b1", 1), ("<U7", 28), (">i8", 8), ("|S3", 3)])) {
        let header = NpyHeader { descr: kind.0.to_owned(), fortran_order: false, shape, item_size: kind.1, data_offset: 0 };
        let bytes = header.to_bytes().unwrap();
        prop_assert_eq!(bytes.len() % 64, 0);
        let expected = NpyHeader { data_offset: bytes.len() as u64, ..header };
        prop_assert_eq!(NpyHeader::read(bytes.as_slice()).unwrap(), expected);
    }
}
