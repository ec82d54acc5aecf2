//! The versions of fastparquet and pandas, and the bytes that depend on them.

use thiserror::Error;

/// The versions in the footer, which also determine some bytes of the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriterVersions {
    fastparquet: String,
    pandas: String,
}

/// A text that is not a version.
#[derive(Debug, Error)]
#[error("`{0}` is not a version: expected numbers separated by dots, such as 2024.5.0")]
pub struct VersionError(String);

impl WriterVersions {
    /// Creates a pair of versions from those of fastparquet and pandas.
    ///
    /// # Errors
    /// [`VersionError`] if a version contains anything but numbers and dots.
    pub fn new(fastparquet: &str, pandas: &str) -> Result<Self, VersionError> {
        for version in [fastparquet, pandas] {
            if numbers(version).is_none() {
                return Err(VersionError(version.to_owned()));
            }
        }
        Ok(Self {
            fastparquet: fastparquet.to_owned(),
            pandas: pandas.to_owned(),
        })
    }

    /// The version of fastparquet.
    pub fn fastparquet(&self) -> &str {
        &self.fastparquet
    }

    /// The version of pandas.
    pub fn pandas(&self) -> &str {
        &self.pandas
    }

    /// Returns the number of bytes for `bits` packed bits. Before version 2026.9, fastparquet wrote a byte of zeros
    /// after a last byte that is full.
    pub(super) fn packed(&self, bits: u64) -> u64 {
        let pads_full_bytes =
            numbers(&self.fastparquet).is_some_and(|version| version < vec![2026, 9]);
        if pads_full_bytes {
            bits / 8 + 1
        } else {
            bits.div_ceil(8)
        }
    }

    /// NumPy's name for the type of the column labels. Since version 3.0, pandas has a text type.
    pub(super) fn labels(&self) -> &'static str {
        let text = numbers(&self.pandas).is_some_and(|version| version >= vec![3]);
        if text { "str" } else { "object" }
    }

    /// pandas' name for the type of a column of texts with missing values.
    pub(super) fn texts_with_gaps(&self) -> &'static str {
        if self.labels() == "str" {
            "unicode"
        } else {
            "mixed"
        }
    }

    /// The value of the footer's field `created_by`.
    pub(super) fn created_by(&self) -> String {
        format!("fastparquet-python version {} (build 0)", self.fastparquet)
    }
}

impl std::fmt::Display for WriterVersions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "fastparquet {}, pandas {}",
            self.fastparquet, self.pandas
        )
    }
}

/// The numbers of a version.
fn numbers(version: &str) -> Option<Vec<u32>> {
    version.split('.').map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_versions_determine_padding_and_label_type() {
        let of = |fastparquet, pandas| WriterVersions::new(fastparquet, pandas).unwrap();
        assert_eq!(of("2026.5.0", "2.2.3").packed(16), 3);
        assert_eq!(of("2026.9.0", "2.2.3").packed(16), 2);
        assert_eq!(of("2026.5.0", "2.2.3").packed(17), 3);
        assert_eq!(of("2024.5.0", "2.3.3").labels(), "object");
        assert_eq!(of("2026.9.0", "3.0.0").labels(), "str");
        assert!(WriterVersions::new("2024.x", "2.2.3").is_err());
    }
}
