//! Identifies the object that a response contains, and compares objects.
//!
//! A *strong validator* (a strong ETag or an MD5) can prove that two responses contain bytes of the same object. A weak
//! validator (a weak ETag or `Last-Modified`) can only prove that the objects differ.
//!
//! If the validators do not prove that two responses contain the same object, the responses are never combined into one
//! file.

use std::ops::Range;

use base64::Engine as _;
use prep_cache::hex;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap, LAST_MODIFIED};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Length of the object in bytes.
    pub(crate) total: u64,
    /// The ETag as in the header, with quotes. It may be weak.
    pub(crate) etag: Option<String>,
    pub(crate) modified: Option<String>,
    /// MD5 in hexadecimal, from `x-goog-hash`.
    pub(crate) md5: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sameness {
    Same,
    Different,
    Unknown,
}

impl Identity {
    pub(crate) fn from_headers(headers: &HeaderMap, total: u64) -> Identity {
        let text = |name| {
            let value = headers.get(name)?.to_str().ok()?;
            Some(value.trim().to_owned()).filter(|value| !value.is_empty())
        };
        Identity {
            total,
            etag: text(ETAG),
            modified: text(LAST_MODIFIED),
            md5: md5(headers),
        }
    }

    /// Compares `self`, the object of an earlier response, with `other`, the object of a later one.
    pub(crate) fn compare(&self, other: &Identity) -> Sameness {
        let pairs = [
            (&self.etag, &other.etag),
            (&self.modified, &other.modified),
            (&self.md5, &other.md5),
        ];
        let differ = |(one, other): &(&Option<String>, &Option<String>)| {
            one.is_some() && other.is_some() && one != other
        };
        if self.total != other.total || pairs.iter().any(differ) {
            return Sameness::Different;
        }
        let is_same_etag = self.strong_etag().is_some() && self.etag == other.etag;
        let is_same_md5 = self.md5.is_some() && self.md5 == other.md5;
        match is_same_etag || is_same_md5 {
            true => Sameness::Same,
            false => Sameness::Unknown,
        }
    }

    /// Returns the ETag, if it is strong. A weak ETag does not guarantee equal bytes.
    pub(crate) fn strong_etag(&self) -> Option<&str> {
        self.etag.as_deref().filter(|etag| !etag.starts_with("W/"))
    }

    /// Returns whether a later response can prove that it contains the same object.
    pub(crate) fn can_be_verified(&self) -> bool {
        self.strong_etag().is_some() || self.md5.is_some()
    }
}

/// Parses the MD5 of `x-goog-hash: crc32c=...,md5=...`. The server may send one header or two.
fn md5(headers: &HeaderMap) -> Option<String> {
    let encoded = headers
        .get_all("x-goog-hash")
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|part| part.trim().strip_prefix("md5="))?;
    let sum = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .ok()
        .filter(|sum| sum.len() == 16)?;
    Some(hex(&sum))
}

/// Parses `Content-Range: bytes 0-99/1000`. Returns the range with an exclusive end, and the length of the entire object.
pub(crate) fn content_range(headers: &HeaderMap) -> Option<(Range<u64>, u64)> {
    let value = headers.get(CONTENT_RANGE)?.to_str().ok()?;
    let (range, total) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let range = first.trim().parse().ok()?..last.trim().parse::<u64>().ok()?.checked_add(1)?;
    let total = total.trim().parse().ok()?;
    (range.start < range.end && range.end <= total).then_some((range, total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn content_ranges_are_parsed_strictly() {
        for (text, expected) in [
            ("bytes 0-99/1000", Some((0..100, 1000))),
            ("bytes 999-999/1000", Some((999..1000, 1000))),
            ("bytes 0-1000/1000", None),
            ("bytes 5-4/1000", None),
            ("bytes 0-99/*", None),
            ("bytes */1000", None),
            ("items 0-99/1000", None),
            ("bytes 0-18446744073709551615/18446744073709551615", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_RANGE, HeaderValue::from_str(text).unwrap());
            assert_eq!(content_range(&headers), expected, "{text}");
        }
        assert_eq!(content_range(&HeaderMap::new()), None);
    }

    #[test]
    fn the_md5_is_found_in_one_header_or_two() {
        let md5 = "md5=kAFQmDzST7DWlj99KOF/cg==";
        for values in [
            vec![format!("crc32c=AAAAAA==,{md5}")],
            vec!["crc32c=AAAAAA==".to_owned(), md5.to_owned()],
            vec![format!("{md5}, crc32c=AAAAAA==")],
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append("x-goog-hash", HeaderValue::from_str(&value).unwrap());
            }
            let identity = Identity::from_headers(&headers, 3);
            assert_eq!(
                identity.md5.as_deref(),
                Some("900150983cd24fb0d6963f7d28e17f72")
            );
        }
        let mut headers = HeaderMap::new();
        headers.insert("x-goog-hash", HeaderValue::from_static("md5=kAFQmDzS"));
        assert_eq!(Identity::from_headers(&headers, 3).md5, None);
    }

    fn identity(etag: &str, modified: &str, md5: &str) -> Identity {
        let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Identity {
            total: 3,
            etag: some(etag),
            modified: some(modified),
            md5: some(md5),
        }
    }

    #[test]
    fn only_a_strong_validator_proves_that_objects_are_the_same() {
        use Sameness::{Different, Same, Unknown};
        let (strong, weak) = ("\"1\"", "W/\"1\"");
        // ETag, modification time and MD5 of both responses, and the outcome.
        for (one, other, expected) in [
            ((strong, "", ""), (strong, "", ""), Same),
            ((strong, "", ""), ("\"2\"", "", ""), Different),
            ((strong, "", ""), (weak, "", ""), Different),
            ((strong, "", ""), ("", "", ""), Unknown),
            (("", "", ""), (strong, "", ""), Unknown),
            (("", "", "a"), ("", "", "a"), Same),
            (("", "", "a"), ("", "", "b"), Different),
            (("", "", "a"), ("", "", ""), Unknown),
            ((strong, "", "a"), ("", "", "a"), Same),
            ((strong, "", "a"), ("\"2\"", "", "a"), Different),
            ((weak, "", ""), (weak, "", ""), Unknown),
            ((weak, "", ""), ("W/\"2\"", "", ""), Different),
            (("", "Mon", ""), ("", "Mon", ""), Unknown),
            (("", "Mon", ""), ("", "Tue", ""), Different),
            ((strong, "Mon", ""), (strong, "", ""), Same),
            ((strong, "Mon", ""), (strong, "Tue", ""), Different),
            (("", "", ""), ("", "", ""), Unknown),
        ] {
            let identity_of = |(etag, modified, md5)| identity(etag, modified, md5);
            let found = identity_of(one).compare(&identity_of(other));
            assert_eq!(found, expected, "{one:?} {other:?}");
            if found == Same {
                assert!(identity_of(one).can_be_verified(), "{one:?}");
            }
        }
        let longer = Identity {
            total: 4,
            ..identity(strong, "", "")
        };
        assert_eq!(identity(strong, "", "").compare(&longer), Different);
    }
}
