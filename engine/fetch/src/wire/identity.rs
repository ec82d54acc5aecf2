//! Identifies the object that an answer contains.

use base64::Engine as _;
use prep_cache::hex;
use reqwest::header::{CONTENT_RANGE, ETAG, HeaderMap};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The properties by which versions of an object are distinguished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// Length of the entire object in bytes.
    pub(crate) total: u64,
    /// A strong ETag, quoted as in the header.
    pub(crate) etag: Option<String>,
    /// MD5 in hexadecimal, from `x-goog-hash`.
    pub(crate) md5: Option<String>,
}

impl Identity {
    pub(crate) fn from_headers(headers: &HeaderMap, total: u64) -> Identity {
        let etag = headers.get(ETAG).and_then(|value| value.to_str().ok());
        Identity {
            total,
            // A weak ETag does not guarantee equal bytes.
            etag: etag
                .filter(|etag| !etag.starts_with("W/"))
                .map(str::to_owned),
            md5: md5(headers),
        }
    }

    /// Returns whether both may be the same object: no property that is known for both differs.
    pub(crate) fn agrees(&self, other: &Identity) -> bool {
        let same = |one: &Option<String>, other: &Option<String>| {
            one.is_none() || other.is_none() || one == other
        };
        self.total == other.total && same(&self.etag, &other.etag) && same(&self.md5, &other.md5)
    }

    /// Returns whether a later process can verify that the object is still the same.
    pub(crate) fn can_be_verified(&self) -> bool {
        self.etag.is_some() || self.md5.is_some()
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

/// Parses `Content-Range: bytes 0-99/1000`. Returns the range with an exclusive end, and the length of the entire
/// object.
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

    #[test]
    fn a_weak_etag_is_ignored() {
        let mut headers = HeaderMap::new();
        headers.insert(ETAG, HeaderValue::from_static("W/\"1\""));
        assert!(!Identity::from_headers(&headers, 3).can_be_verified());
        headers.insert(ETAG, HeaderValue::from_static("\"1\""));
        let one = Identity::from_headers(&headers, 3);
        headers.insert(ETAG, HeaderValue::from_static("\"2\""));
        assert!(one.can_be_verified() && !one.agrees(&Identity::from_headers(&headers, 3)));
        assert!(!one.agrees(&Identity {
            total: 4,
            ..one.clone()
        }));
    }
}
