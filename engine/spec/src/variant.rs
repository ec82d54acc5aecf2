//! Names of variants: `v1`, `fixed`, and for example `fixed:63,patients` for a selection of corrections.

use crate::text::suggest::nearest;

/// The variant without corrections.
pub const BASE_VARIANT: &str = "v1";

/// The variant with all corrections.
pub const FIXED_VARIANT: &str = "fixed";

const GENERAL: [&str; 2] = [BASE_VARIANT, FIXED_VARIANT];

/// The beginning of the name of a variant with selected corrections.
const SELECTION_PREFIX: &str = "fixed:";

/// The beginning of the name of the data directory of a variant with selected corrections.
const DIRECTORY_PREFIX: &str = "fixed-";

/// Returns the variants that every pipeline has: `v1` and `fixed`.
pub fn known_variants() -> impl Iterator<Item = &'static str> {
    GENERAL.into_iter()
}

/// The corrections that a variant selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Corrections {
    /// No corrections: `v1`.
    None,
    /// All corrections of the pipeline: `fixed`.
    All,
    /// These corrections, sorted and without duplicates: `fixed:30,63`.
    Some(Vec<String>),
}

impl Corrections {
    /// Parses the name of a variant.
    ///
    /// # Errors
    /// A message if no variant can have this name.
    pub fn parse(variant: &str) -> Result<Corrections, String> {
        if variant == BASE_VARIANT {
            return Ok(Corrections::None);
        }
        if variant == FIXED_VARIANT {
            return Ok(Corrections::All);
        }
        let Some(list) = variant.strip_prefix(SELECTION_PREFIX) else {
            let hint = match nearest(variant, known_variants()) {
                Some(near) => format!("; did you mean `{near}`?"),
                None => "; the variants are v1, fixed, and fixed:NAME,NAME".to_owned(),
            };
            return Err(format!("there is no variant `{variant}`{hint}"));
        };
        let names = list.split(',').map(|name| name.trim_start_matches('#'));
        let names: Vec<&str> = names.collect();
        if let Some(bad) = names.iter().find(|name| !is_correction_name(name)) {
            return Err(format!(
                "`{bad}` cannot be the name of a correction; an example of a variant is `fixed:30,63`"
            ));
        }
        let names = names.into_iter().map(str::to_owned);
        Ok(Corrections::some(names.collect()))
    }

    pub(crate) fn some(mut names: Vec<String>) -> Corrections {
        names.sort_by_key(|name| sort_key(name));
        names.dedup();
        Corrections::Some(names)
    }

    /// Returns whether the correction with this name is selected.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Corrections::None => false,
            Corrections::All => true,
            Corrections::Some(names) => names.iter().any(|one| one == name),
        }
    }
}

impl std::fmt::Display for Corrections {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Corrections::None => f.write_str(BASE_VARIANT),
            Corrections::All => f.write_str(FIXED_VARIANT),
            Corrections::Some(names) => write!(f, "{SELECTION_PREFIX}{}", names.join(",")),
        }
    }
}

/// Returns the directory of a variant's data: `fixed-30-63` for `fixed:30,63`, without special characters.
pub fn variant_directory(variant: &str) -> String {
    variant.replace([':', ','], "-")
}

/// Returns the variant whose data are in the directory `name`. `None` for other directories.
pub fn variant_of_directory(name: &str) -> Option<String> {
    if name == FIXED_VARIANT {
        return Some(name.to_owned());
    }
    let list = name.strip_prefix(DIRECTORY_PREFIX)?;
    let variant = format!("{SELECTION_PREFIX}{}", list.replace('-', ","));
    // The corrections in the name of a directory are sorted and without duplicates.
    let canonical = Corrections::parse(&variant).ok()?.to_string();
    (canonical == variant).then_some(variant)
}

/// Returns whether a correction can have this name: lower-case letters, digits and `_`.
pub(crate) fn is_correction_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_allowed)
}

/// Returns a sort key that orders numbers by value, and before words.
fn sort_key(name: &str) -> (bool, usize, String) {
    let is_word = !name.bytes().all(|byte| byte.is_ascii_digit());
    let length = if is_word { 0 } else { name.len() };
    (is_word, length, name.to_owned())
}

/// Returns the name of the variant with the corrections that `is_chosen` accepts.
pub(crate) fn variant_name(names: &[String], is_chosen: impl Fn(&str) -> bool) -> String {
    let chosen = names.iter().filter(|name| is_chosen(name));
    let chosen: Vec<String> = chosen.cloned().collect();
    let corrections = match chosen.len() {
        0 => Corrections::None,
        count if count == names.len() => Corrections::All,
        _ => Corrections::some(chosen),
    };
    corrections.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_of_corrections_has_one_canonical_name() {
        for (given, canonical) in [
            ("v1", "v1"),
            ("fixed", "fixed"),
            ("fixed:63", "fixed:63"),
            ("fixed:#63", "fixed:63"),
            ("fixed:patients,108,63,63", "fixed:63,108,patients"),
        ] {
            assert_eq!(Corrections::parse(given).unwrap().to_string(), canonical);
        }
        for bad in [
            "",
            "v2",
            "fixd",
            "fixed:",
            "fixed:63,",
            "fixed:a-b",
            "fixed:A",
            "fixed:../x",
        ] {
            assert!(Corrections::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_directory_name_identifies_its_variant() {
        for variant in ["fixed", "fixed:63", "fixed:63,108,patients"] {
            let directory = variant_directory(variant);
            assert!(!directory.contains([':', ',']), "{directory}");
            assert_eq!(variant_of_directory(&directory).as_deref(), Some(variant));
        }
        for other in [
            "v1",
            "fixed-",
            "fixed-108-63",
            "fixed_63",
            "spaceship-titanic",
        ] {
            assert_eq!(variant_of_directory(other), None, "{other}");
        }
    }
}
