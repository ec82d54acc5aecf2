//! TFRecord files, which the test builds field by field.

use prep_formats::tfrecord::{Example, Feature, TfRecordError, TfRecords, masked_crc32c};
use proptest::prelude::*;

/// Encodes a field with a length: a submessage, a text, or packed numbers.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
    out.extend(content);
    out
}

/// Encodes a map entry.
fn entry(key: &str, feature: &[u8]) -> Vec<u8> {
    field(1, &[field(1, key.as_bytes()), field(2, feature)].concat())
}

fn example(entries: &[Vec<u8>]) -> Vec<u8> {
    field(1, &entries.concat())
}

fn record(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_le_bytes();
    let crcs = [&length[..], payload].map(|part| masked_crc32c(part).to_le_bytes());
    [&length[..], &crcs[0], payload, &crcs[1]].concat()
}

fn feature(payload: &[u8], name: &str) -> Option<Feature> {
    Example::new(payload).feature(name).unwrap()
}

#[test]
fn features_of_every_kind_are_read() {
    let name = field(1, &field(1, b"ISIC_0000001"));
    let two = field(1, &[field(1, b"first"), field(1, b"second")].concat());
    let packed = field(
        2,
        &field(1, &[1.5f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat()),
    );
    // Field 1 with the wire type 5, a float.
    let unpacked = field(2, &[&[1 << 3 | 5][..], &0.25f32.to_le_bytes()].concat());
    let ints = field(
        3,
        &field(
            1,
            &[
                5, 0xac, 0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,
            ],
        ),
    );
    let one_int = field(3, &[1 << 3, 7]);
    let swapped = field(1, &[field(2, &name), field(1, b"swapped")].concat());
    let payload = example(&[
        entry("two", &two),
        entry("packed", &packed),
        swapped,
        entry("image_name", &name),
        entry("unpacked", &unpacked),
        entry("ints", &ints),
        entry("one_int", &one_int),
        entry("twice", &name),
        entry("twice", &one_int),
        entry("empty", b""),
    ]);
    let bytes = |texts: &[&str]| {
        Some(Feature::Bytes(
            texts.iter().map(|text| text.as_bytes().to_vec()).collect(),
        ))
    };
    assert_eq!(feature(&payload, "image_name"), bytes(&["ISIC_0000001"]));
    assert_eq!(feature(&payload, "swapped"), bytes(&["ISIC_0000001"]));
    assert_eq!(feature(&payload, "two"), bytes(&["first", "second"]));
    assert_eq!(
        feature(&payload, "packed"),
        Some(Feature::Floats(vec![1.5, -2.0]))
    );
    assert_eq!(
        feature(&payload, "unpacked"),
        Some(Feature::Floats(vec![0.25]))
    );
    assert_eq!(
        feature(&payload, "ints"),
        Some(Feature::Ints(vec![5, 300, -1]))
    );
    assert_eq!(feature(&payload, "one_int"), Some(Feature::Ints(vec![7])));
    assert_eq!(feature(&payload, "twice"), Some(Feature::Ints(vec![7])));
    assert_eq!(feature(&payload, "empty"), None);
    assert_eq!(feature(&payload, "absent"), None);
}

#[test]
fn records_are_read_in_order() {
    let payloads: [&[u8]; 3] = [b"one", b"", &[7; 5000]];
    let file: Vec<u8> = payloads
        .iter()
        .flat_map(|payload| record(payload))
        .collect();
    let found: Vec<_> = TfRecords::new(file.as_slice())
        .map(Result::unwrap)
        .collect();
    assert_eq!(
        found.iter().map(|record| record.offset).collect::<Vec<_>>(),
        [0, 19, 35]
    );
    assert!(
        found
            .iter()
            .map(|record| record.payload.as_slice())
            .eq(payloads)
    );
}

#[test]
fn invalid_records_are_errors() {
    let first = |bytes: &[u8]| TfRecords::new(bytes).next().unwrap().unwrap_err();
    let good = record(b"payload");
    for length in [3, 8, 11, 15, good.len() - 1] {
        assert!(
            matches!(
                first(&good[..length]),
                TfRecordError::Truncated { offset: 0 }
            ),
            "{length}"
        );
    }
    let broken = |place: usize| {
        let mut bytes = good.clone();
        bytes[place] ^= 1;
        first(&bytes)
    };
    assert!(matches!(
        broken(0),
        TfRecordError::WrongLengthCrc { offset: 0 }
    ));
    assert!(matches!(
        broken(9),
        TfRecordError::WrongLengthCrc { offset: 0 }
    ));
    assert!(matches!(
        broken(13),
        TfRecordError::WrongPayloadCrc { offset: 0 }
    ));
    let length = u64::MAX.to_le_bytes();
    let huge = [&length[..], &masked_crc32c(&length).to_le_bytes()].concat();
    assert!(matches!(
        first(&huge),
        TfRecordError::TooLong { cause, .. } if cause.found == u64::MAX
    ));
    for payload in [&[0x0a, 5, 1][..], &[0x0b], &[0x80], &[0xff; 12]] {
        let found = Example::new(payload).feature("a");
        assert!(
            matches!(found, Err(TfRecordError::NotAnExample { .. })),
            "{payload:?}"
        );
    }
}

proptest! {
    #[test]
    fn arbitrary_payloads_do_not_panic(payload in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = Example::new(&payload).feature("name");
        let _ = Example::new(&example(&[entry("name", &payload)])).feature("name");
    }

    #[test]
    fn crc_does_not_depend_on_alignment(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        // Computed bit by bit from the definition.
        let mut crc = u32::MAX;
        for byte in &bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 { crc = if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 }; }
        }
        prop_assert_eq!(masked_crc32c(&bytes), (!crc).rotate_right(15).wrapping_add(0xa282_ead8));
    }
}
