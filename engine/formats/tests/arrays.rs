//! `.npy` files compared with NumPy 1.26 (see `tests/data/arrays/record.py`).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that panics has failed"
)]

mod hex;

use hex::unhex;
use prep_formats::npy::{NpyError, NpyHeader, gather_rows};
use proptest::prelude::*;
use serde_json::Value;

fn recorded() -> Value {
    serde_json::from_str(include_str!("data/arrays/arrays.json")).unwrap()
}

fn gather(file: &[u8], positions: &[u64]) -> Result<Vec<u8>, NpyError> {
    let mut out = Vec::new();
    gather_rows(
        file,
        0..file.len() as u64,
        positions.iter().copied(),
        &mut out,
    )?;
    Ok(out)
}

#[test]
fn gathered_as_numpy_saves() {
    let cases = recorded();
    let cases = cases["gathered"].as_object().unwrap();
    assert_eq!(cases.len(), 20);
    for (name, case) in cases {
        let mut raw = unhex(case["raw"].as_str().unwrap());
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
fn refusals() {
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

fn with_text(text: &str) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.as_bytes());
    file
}

#[test]
fn bad_headers() {
    let table = [
        "",
        "{}",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': 1, 'shape': (3,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551615, 9)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 18446744073709551615, 9)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (3,)}",
    ];
    for text in table {
        let found = NpyHeader::read(with_text(text).as_slice());
        assert!(
            matches!(found, Err(NpyError::BadHeader { .. })),
            "{text}: {found:?}"
        );
    }
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

proptest! {
    #[test]
    fn any_header_is_read_or_refused(text in "[{}()\\[\\]',: a-z0-9<>|L]{0,60}") {
        let _ = NpyHeader::read(with_text(&text).as_slice());
    }

    // Three axes below 100,000 stay clear of 2^64 bytes, beyond which a header is refused (see `bad_headers`).
    #[test]
    fn headers_round_trip(shape in prop::collection::vec(0u64..100_000, 1..4), kind in prop::sample::select(vec![("<f4", 4), ("|b1", 1), ("<U7", 28), (">i8", 8), ("|S3", 3)])) {
        let header = NpyHeader { descr: kind.0.to_owned(), fortran_order: false, shape, item_size: kind.1, data_offset: 0 };
        let bytes = header.to_bytes().unwrap();
        prop_assert_eq!(bytes.len() % 64, 0);
        let expected = NpyHeader { data_offset: bytes.len() as u64, ..header };
        prop_assert_eq!(NpyHeader::read(bytes.as_slice()).unwrap(), expected);
    }
}
