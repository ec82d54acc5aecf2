//! Signatures over grading reports.
//!
//! A report is a JSON object. Its member `signature` contains the signer's public key and an Ed25519 signature.
//!
//! The signature covers the text `prep-report-v1`, a line feed, and the report without `signature`, written like Python's
//! `json.dumps(report, sort_keys=True, separators=(",", ":"))`. Therefore the signature covers all other members, and ten
//! lines of Python can verify it.
//!
//! In a list of reports, each report is signed. The list is signed, too, so that nobody can remove a report from it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use prep_formats::json::{JsonObject, JsonValue, WriteOptions};
use prep_remote::{PublicKey, Rejection, SigningKey, TrustedSigner};

const MAGIC: &str = "prep-report-v1\n";
const SIGNATURE: &str = "signature";
const KEY: &str = "key";
const VALUE: &str = "ed25519";

/// The reason why a report proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportRejection {
    /// There is no signature.
    #[error("it is not signed")]
    Unsigned,
    /// The member `signature` is malformed.
    #[error("its signature is malformed")]
    Malformed,
    /// The report was changed, or the signature belongs to another report.
    #[error(
        "its signature does not match: the report was changed, or the signature belongs to another report"
    )]
    Forged,
    /// The signer is not trusted.
    #[error(transparent)]
    Signer(#[from] Rejection),
}

/// Signs a report. Replaces an earlier signature.
pub fn sign(key: &SigningKey, mut report: JsonObject) -> JsonObject {
    report.remove(SIGNATURE);
    let signature = BASE64.encode(key.sign(&message(&report)));
    let signature = JsonObject::from_iter([
        (KEY, key.public().to_string().into()),
        (VALUE, signature.into()),
    ]);
    report.insert(SIGNATURE.into(), signature.into());
    report
}

/// Returns the key that signed a report. Fails unless the signature is valid and its key is trusted for `competition`.
pub fn verify(
    report: &JsonObject,
    competition: &str,
    trusted: &[TrustedSigner],
) -> Result<PublicKey, ReportRejection> {
    let mut unsigned = report.clone();
    let signature = unsigned
        .remove(SIGNATURE)
        .ok_or(ReportRejection::Unsigned)?;
    let signature = signature.as_object().ok_or(ReportRejection::Malformed)?;
    let text = |name| signature.get(name).and_then(JsonValue::as_str);
    let (Some(key), Some(value), 2) = (text(KEY), text(VALUE), signature.len()) else {
        return Err(ReportRejection::Malformed);
    };
    let key: PublicKey = key.parse().map_err(|_| ReportRejection::Malformed)?;
    let value = BASE64.decode(value);
    let value = value.map_err(|_| ReportRejection::Malformed)?;
    if !key.has_signed(&message(&unsigned), &value) {
        return Err(ReportRejection::Forged);
    }
    prep_remote::check_signer(trusted, key, competition)?;
    Ok(key)
}

fn message(report: &JsonObject) -> Vec<u8> {
    let options = WriteOptions {
        sort_keys: true,
        separators: Some((",".to_owned(), ":".to_owned())),
        ..WriteOptions::default()
    };
    let mut message = MAGIC.as_bytes().to_vec();
    // `to_json` does not fail here, because every string can be escaped to ASCII.
    let json = JsonValue::from(report.clone()).to_json(&options);
    message.extend(json.unwrap_or_default());
    message
}

/// Returns the reports in a document. The document is one report, a grading report with the list `competition_reports`, or
/// the output of `prep grade --json`. Returns `None` for other documents.
pub fn reports_of(document: &JsonValue) -> Option<Vec<&JsonObject>> {
    let document = document.as_object()?;
    if competition_of(document).is_some() {
        return Some(vec![document]);
    }
    let lists = ["competition_reports", "competitions"];
    let list = lists.iter().find_map(|key| document.get(key)?.as_list())?;
    list.iter().map(JsonValue::as_object).collect()
}

/// Returns the id of a report's competition.
pub fn competition_of(report: &JsonObject) -> Option<&str> {
    let id = report.get("competition_id").or_else(|| report.get("id"));
    id.and_then(JsonValue::as_str)
}

#[cfg(test)]
mod tests {
    use prep_formats::json::parse;
    use proptest::prelude::*;

    use super::*;

    const REPORT: &str = r#"{"competition_id": "c", "score": NaN, "any_medal": true, "is_lower_better": null,
        "submission_path": "\u00e9\n.csv", "digests": {"answers": "sha256:00", "rules": null}, "not_comparable_because": ["x"],
        "log": {"id": "ab", "position": 7, "head": "blake3:11", "earlier": 2}, "gold_threshold": 0.1, "big": 123456789012345678901234567890}"#;

    fn report() -> JsonObject {
        parse(REPORT.as_bytes())
            .unwrap()
            .as_object()
            .unwrap()
            .clone()
    }

    fn key(name: &str) -> SigningKey {
        SigningKey::generate(name).unwrap()
    }

    #[test]
    fn a_signature_fits_its_report_and_signer_only() {
        let (ours, theirs) = (key("a"), key("b"));
        let trusted = [TrustedSigner::from(ours.public())];
        let check = |report: &JsonObject| verify(report, "c", &trusted);
        let signed = sign(&ours, report());
        assert_eq!(check(&signed), Ok(ours.public()));
        assert_eq!(check(&report()), Err(ReportRejection::Unsigned));
        let foreign = sign(&theirs, report());
        assert!(matches!(
            check(&foreign),
            Err(ReportRejection::Signer(Rejection::UntrustedKey(_)))
        ));
        // Neither the signature of another report nor a signature with another key is valid.
        let mut other = report();
        other.insert("score".into(), 1.0.into());
        let mut replayed = sign(&ours, other);
        replayed.insert("score".into(), 2.0.into());
        assert_eq!(check(&replayed), Err(ReportRejection::Forged));
        let mut claimed = foreign;
        let Some(JsonValue::Object(signature)) = claimed.get_mut(SIGNATURE) else {
            panic!("no signature");
        };
        signature.insert(KEY.into(), ours.public().to_string().into());
        assert_eq!(check(&claimed), Err(ReportRejection::Forged));
        let mut extended = signed.clone();
        let Some(JsonValue::Object(signature)) = extended.get_mut(SIGNATURE) else {
            panic!("no signature");
        };
        signature.insert("note".into(), "gold".into());
        assert_eq!(check(&extended), Err(ReportRejection::Malformed));
        assert_eq!(
            check(&sign(&ours, sign(&theirs, report()))),
            Ok(ours.public())
        );
    }

    #[test]
    fn the_order_of_keys_and_spaces_do_not_matter() {
        let ours = key("a");
        let trusted = [TrustedSigner::from(ours.public())];
        let signed = JsonValue::from(sign(&ours, report()));
        let options = WriteOptions {
            indent: Some(2),
            sort_keys: true,
            ..WriteOptions::default()
        };
        let text = signed.to_json(&options).unwrap();
        let read = parse(&text).unwrap();
        assert!(verify(read.as_object().unwrap(), "c", &trusted).is_ok());
    }

    /// The canonical form is the one that docs/trust.md states.
    #[test]
    fn the_canonical_form_is_that_of_python() {
        let text = String::from_utf8(message(&report())).unwrap();
        let expected = "prep-report-v1\n{\"any_medal\":true,\"big\":123456789012345678901234567890,\"competition_id\":\"c\",\
            \"digests\":{\"answers\":\"sha256:00\",\"rules\":null},\"gold_threshold\":0.1,\"is_lower_better\":null,\"log\":\
            {\"earlier\":2,\"head\":\"blake3:11\",\"id\":\"ab\",\"position\":7},\"not_comparable_because\":[\"x\"],\"score\":NaN,\
            \"submission_path\":\"\\u00e9\\n.csv\"}";
        assert_eq!(text, expected);
    }

    /// Returns the paths of all values, including those inside objects and lists.
    fn paths(value: &JsonValue, at: &[usize]) -> Vec<Vec<usize>> {
        let inner: Vec<&JsonValue> = match value {
            JsonValue::Object(object) => object.iter().map(|(_, value)| value).collect(),
            JsonValue::List(list) => list.iter().collect(),
            _ => Vec::new(),
        };
        let mut found = vec![at.to_vec()];
        for (value, index) in inner.into_iter().zip(0..) {
            found.extend(paths(value, &[at, &[index]].concat()));
        }
        found
    }

    fn replaced(value: &JsonValue, at: &[usize], new: &JsonValue) -> JsonValue {
        let Some((first, rest)) = at.split_first() else {
            return new.clone();
        };
        let inner = |index: usize, value: &JsonValue| match index == *first {
            true => replaced(value, rest, new),
            false => value.clone(),
        };
        match value {
            JsonValue::Object(object) => {
                let members = object.iter().zip(0..);
                let members =
                    members.map(|((key, value), index)| (key.clone(), inner(index, value)));
                let mut changed = JsonObject::new();
                members.for_each(|(key, value)| drop(changed.insert(key, value)));
                changed.into()
            }
            JsonValue::List(list) => {
                let items = list
                    .iter()
                    .zip(0..)
                    .map(|(value, index)| inner(index, value));
                items.collect::<Vec<_>>().into()
            }
            other => other.clone(),
        }
    }

    proptest! {
        /// Each value of a signed report is changed in turn, at every depth of objects and lists.
        #[test]
        fn every_field_is_covered(number: i64, word: String, flag: bool) {
            let ours = key("a");
            let trusted = [TrustedSigner::from(ours.public())];
            let signed = JsonValue::from(sign(&ours, report()));
            let text = signed.to_json(&WriteOptions::default()).unwrap();
            let news: [JsonValue; 4] = [number.into(), word.as_str().into(), flag.into(), JsonValue::Null];
            for path in paths(&signed, &[]).iter().filter(|path| !path.is_empty()) {
                for new in &news {
                    let changed = replaced(&signed, path, new);
                    // NaN is not equal to itself, so the texts are compared.
                    if changed.to_json(&WriteOptions::default()).unwrap() != text {
                        let result = verify(changed.as_object().unwrap(), "c", &trusted);
                        prop_assert!(result.is_err(), "{path:?} {new:?}");
                    }
                }
            }
            // A new member, and a removed one.
            let object = signed.as_object().unwrap();
            let mut added = object.clone();
            added.insert(format!("_{word}").as_str().into(), flag.into());
            prop_assert!(verify(&added, "c", &trusted).is_err());
            for (name, _) in object.iter() {
                let mut removed = object.clone();
                removed.remove(name.as_str().unwrap());
                prop_assert!(verify(&removed, "c", &trusted).is_err(), "{name:?}");
            }
        }
    }
}
