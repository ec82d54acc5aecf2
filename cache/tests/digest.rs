//! Digests and their text form.

use prep_cache::{Digest, DigestError};
use proptest::prelude::*;

#[test]
fn blake3_of_known_inputs() {
    // From the BLAKE3 authors' test vectors (empty input) and `b3sum` ("abc").
    let known = [
        (
            "",
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        ),
        (
            "abc",
            "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
        ),
    ];
    for (input, expected) in known {
        let digest = Digest::of_bytes(input.as_bytes());
        assert_eq!(digest.to_string(), expected);
        assert_eq!(digest.short(), &expected[..12]);
    }
}

#[test]
fn invalid_digests_are_rejected() {
    let good = Digest::of_bytes(b"").to_string();
    let cases = [
        (String::new(), DigestError::Length(0)),
        (good[1..].to_owned(), DigestError::Length(63)),
        (format!("{good}0"), DigestError::Length(65)),
        (good.to_uppercase(), DigestError::Character(0)),
        (good.replace('2', "g"), DigestError::Character(36)),
        (format!("{} ", &good[..63]), DigestError::Character(63)),
        (format!("{}ü", &good[..62]), DigestError::Character(62)),
    ];
    for (text, expected) in cases {
        assert_eq!(text.parse::<Digest>(), Err(expected), "{text:?}");
        assert!(serde_json::from_value::<Digest>(text.into()).is_err());
    }
}

proptest! {
    #[test]
    fn text_and_json_round_trip(bytes: [u8; 32]) {
        let digest = Digest::from_bytes(bytes);
        let text = digest.to_string();
        prop_assert_eq!(text.parse(), Ok(digest));
        let json = serde_json::to_string(&digest)?;
        prop_assert_eq!(&json, &format!("\"{text}\""));
        prop_assert_eq!(serde_json::from_str::<Digest>(&json)?, digest);
    }

    #[test]
    fn parsed_text_equals_the_text_of_its_digest(text in "[0-9a-fA-Fg ]{62,66}|.*") {
        if let Ok(digest) = text.parse::<Digest>() {
            prop_assert_eq!(digest.to_string(), text);
        }
    }

    #[test]
    fn digests_have_the_order_of_their_texts(a: [u8; 32], b: [u8; 32]) {
        let (a, b) = (Digest::from_bytes(a), Digest::from_bytes(b));
        prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
    }
}
