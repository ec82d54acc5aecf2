//! The parts of a path that the names of a file pattern match.

use prep_core::StepError;
use prep_spec::{FilePattern, path_glob, split_source};
use regex::bytes::{Regex, RegexBuilder};

/// Finds the named parts of paths.
#[derive(Debug)]
pub(super) struct NamedParts(Option<Regex>);

impl NamedParts {
    /// Each name and wildcard matches the shortest possible text, from left to right. A name matches no `/`.
    pub(super) fn new(pattern: &FilePattern) -> Result<NamedParts, StepError> {
        if pattern.names.is_empty() {
            return Ok(NamedParts(None));
        }
        let mut expression = "(?s-u)^".to_owned();
        for (number, glob_pattern) in pattern.pieces().iter().enumerate() {
            if number > 0 {
                expression.push_str("([^/]+)");
            }
            if glob_pattern.is_empty() {
                continue;
            }
            let glob = path_glob(glob_pattern).map_err(StepError::internal)?;
            let regex = glob.regex();
            let regex = regex.strip_prefix("(?-u)").unwrap_or(regex);
            let regex = regex.strip_prefix('^').unwrap_or(regex);
            expression.push_str(regex.strip_suffix('$').unwrap_or(regex));
        }
        expression.push('$');
        // Wildcards also match the shortest possible text.
        let regex = RegexBuilder::new(&expression).swap_greed(true).build();
        let regex = regex.map_err(StepError::internal)?;
        Ok(NamedParts(Some(regex)))
    }

    /// Returns the part of a matching path for the name with this number. Empty if the name matches no text.
    pub(super) fn part<'p>(&self, path: &'p str, number: usize) -> &'p str {
        let (_, inner) = split_source(path);
        let found = self
            .0
            .as_ref()
            .and_then(|regex| regex.captures(inner.as_bytes()));
        let part = found.and_then(|found| found.get(number + 1));
        part.and_then(|part| inner.get(part.range())).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_the_shortest_text() {
        for (pattern, path, parts) in [
            (
                "train/{case}/{day}/**",
                "train/c1/d2/scans/x.png",
                &["c1", "d2"][..],
            ),
            (
                "x/{play}_{All29,Endzone}.mp4",
                "x/58_001_Endzone.mp4",
                &["58_001"],
            ),
            (
                "s/*_{number}_{width}_{height}_*.png",
                "s/slice_01_266_310_1.5_1.png",
                &["01", "266", "310"],
            ),
            ("**/{id}.jpg", "a/b/ü1.jpg", &["ü1"]),
            ("labels:{id}.csv", "labels:a.csv", &["a"]),
            ("batch_{id}.parquet", "batch_12.parquet", &["12"]),
            ("{a}/[0-9]?/{b}", "x/12/y z", &["x", "y z"]),
        ] {
            let pattern = FilePattern::parse(pattern).unwrap();
            let named = NamedParts::new(&pattern).unwrap();
            let found: Vec<&str> = (0..parts.len())
                .map(|number| named.part(path, number))
                .collect();
            assert_eq!(found, parts, "{path}");
        }
    }
}
