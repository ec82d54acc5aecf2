//! The published checksums of a competition's outputs, in its file `checksums.json`.

use std::collections::BTreeMap;

use prep_spec::Pipeline;
use serde::Deserialize;
use serde::de::Error as _;
use serde_json::{Map, Value};

/// Published MD5 checksums.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedChecksums {
    /// Checksum of the bundle.
    #[serde(default)]
    pub bundle: Option<String>,
    /// MD5 of outputs by their path below `public`.
    #[serde(default)]
    pub public: BTreeMap<String, String>,
    /// MD5 of outputs by their path below `private`.
    #[serde(default)]
    pub private: BTreeMap<String, String>,
}

impl PublishedChecksums {
    /// Parses JSON such as `{ "public": { "train.csv": MD5 } }`.
    ///
    /// # Errors
    /// Returns an error if the text is not a JSON object with these keys, or if a checksum is not an MD5.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        // A struct could also be deserialized from an array.
        let object = serde_json::from_str::<Map<String, Value>>(text)?;
        let mut sums = Self::deserialize(Value::Object(object))?;
        let (public, private) = (sums.public.values_mut(), sums.private.values_mut());
        for md5 in sums.bundle.iter_mut().chain(public).chain(private) {
            if md5.len() != 32 || !md5.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                let message = format!("`{md5}` is not an MD5, which has 32 hex digits");
                return Err(serde_json::Error::custom(message));
            }
            md5.make_ascii_lowercase();
        }
        Ok(sums)
    }

    /// Returns the path and the checksum of each output, for example of `public/train.csv`.
    pub fn outputs(&self) -> impl Iterator<Item = (String, &str)> {
        let sections = [("public", &self.public), ("private", &self.private)];
        sections.into_iter().flat_map(|(section, sums)| {
            let sums = sums.iter();
            sums.map(move |(path, md5)| (format!("{section}/{path}"), md5.as_str()))
        })
    }

    /// Returns the first path that belongs to no output of the pipeline.
    pub fn without_output(&self, pipeline: &Pipeline) -> Option<String> {
        let mut paths = self.outputs().map(|(path, _)| path);
        paths.find(|path| {
            let sections = [("public", &pipeline.public), ("private", &pipeline.private)];
            let mut outputs = sections.iter().flat_map(|(section, outputs)| {
                let paths = outputs.iter().map(|output| &output.path.value);
                paths.map(move |path| format!("{section}/{path}"))
            });
            !outputs.any(|output| contains(&output, path))
        })
    }

    /// Returns the checksum of an output, for example of `public/train.csv`.
    pub fn of_output(&self, path: &str) -> Option<&str> {
        let sum = match path.split_once('/')? {
            ("public", inner) => self.public.get(inner),
            ("private", inner) => self.private.get(inner),
            _ => None,
        };
        sum.map(String::as_str)
    }
}

/// Returns whether the output is the file `path` or a directory with this file. The output `public/./` contains the files
/// of `public/`.
pub(crate) fn contains(output: &str, path: &str) -> bool {
    let directory = output.strip_suffix("./").unwrap_or(output);
    output == path || directory.ends_with('/') && path.starts_with(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_sections_and_invalid_checksums_are_errors() {
        let md5 = "8F12D4F1F138F3867E881293B9BC54EE";
        let sums = PublishedChecksums::parse(&format!(r#"{{ "public": {{ "a.csv": "{md5}" }} }}"#));
        let sums = sums.unwrap();
        let lower = md5.to_ascii_lowercase();
        assert_eq!(sums.of_output("public/a.csv"), Some(lower.as_str()));
        let parsed = PublishedChecksums::parse("{}").unwrap();
        assert_eq!(parsed, PublishedChecksums::default());
        for (text, message) in [
            ("[]", "invalid type: sequence"),
            (r#"{ "publik": {} }"#, "unknown field `publik`"),
            (r#"{ "public/a.csv": "0" }"#, "unknown field `public/a.csv`"),
            (r#"{ "public": { "a.csv": "0" } }"#, "`0` is not an MD5"),
        ] {
            let error = PublishedChecksums::parse(text).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
        }
    }

    #[test]
    fn an_output_contains_the_files_below_it() {
        assert!(contains("public/a.csv", "public/a.csv"));
        assert!(contains("public/a/", "public/a/b.csv"));
        assert!(contains("public/./", "public/a.csv"));
        assert!(!contains("public/a", "public/a/b.csv"));
    }
}
