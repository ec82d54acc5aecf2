//! Determines which members of its bundle a pipeline reads, so that a run can download only those.

use std::collections::BTreeSet;

use prep_spec::Pipeline;
use prep_spec::model::{Declaration, Setting, TableOrigin};
use prep_spec::words::KeyType;
use prep_spec::{FilePattern, split_source};

use crate::kinds::{gzipped_file, is_container, without_suffix};

/// Returns glob patterns of the bundle's members that the pipeline reads, sorted and unique.
///
/// `*` matches within a path segment, `**` across segments. An archive is one member. Some bundles contain the unpacked
/// files of the archive instead. Therefore the pattern matches the archive and the unpacked files.
pub fn members(pipeline: &Pipeline) -> Vec<String> {
    let mut found = BTreeSet::new();
    let mut visit = |declaration: &Declaration| {
        for (key, setting) in declaration.settings() {
            match (&key.value, &setting.value) {
                // A file of a further source is not in the bundle.
                (KeyType::Source | KeyType::Copied | KeyType::Sources, Setting::Text(path))
                    if split_source(path).0.is_some() => {}
                (KeyType::Source | KeyType::Copied, Setting::Text(path)) => {
                    found.insert(member(path, globset::escape));
                }
                (KeyType::Sources, Setting::Text(pattern)) => {
                    if let Ok(pattern) = FilePattern::parse(pattern) {
                        found.insert(member(&pattern.glob, str::to_owned));
                    }
                }
                _ => {}
            }
        }
    };
    for table in &pipeline.tables {
        if let TableOrigin::Declared(declaration) = &table.made {
            declaration.walk(&mut visit);
        }
    }
    for output in pipeline.public.iter().chain(&pipeline.private) {
        output.declaration.walk(&mut visit);
    }
    found.into_iter().collect()
}

/// Returns the pattern of the member that contains `path`: the outermost archive, or the path itself. `plain` converts
/// a path to a pattern: it escapes wildcards, or returns the path unchanged if `path` is itself a pattern.
fn member(path: &str, plain: fn(&str) -> String) -> String {
    let mut end = 0;
    for segment in path.split('/') {
        end += segment.len();
        if is_container(segment) && end < path.len() {
            let archive = &path[..end];
            // In a pattern, a comma separates alternatives.
            let escape = |path: &str| globset::escape(path).replace(',', "[,]");
            let unpacked = |as_pattern: &dyn Fn(&str) -> String| match gzipped_file(archive) {
                Some(file) => as_pattern(file),
                None => format!("{}/**", as_pattern(without_suffix(archive))),
            };
            let literal = format!("{},{}", escape(archive), unpacked(&escape));
            // `*` in the name of an archive may be a wildcard or literal. The pattern matches in both cases.
            let pattern = plain(archive);
            return match pattern == globset::escape(archive) {
                true => format!("{{{literal}}}"),
                false => format!("{{{literal},{pattern},{}}}", unpacked(&str::to_owned)),
            };
        }
        end += 1;
    }
    match path.strip_suffix('/') {
        Some(directory) => format!("{}/**", globset::escape(directory)),
        None => plain(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn member_pattern_names_the_outermost_archive() {
        for (path, expected) in [
            ("train.csv", "train.csv"),
            ("a [1]/train.csv", "a [[]1[]]/train.csv"),
            ("train.zip", "train.zip"),
            ("train.zip/train.csv", "{train.zip,train/**}"),
            ("a/b.tar.gz/c.zip/d.csv", "{a/b.tar.gz,a/b/**}"),
            ("x.csv.gz/x.csv", "{x.csv.gz,x.csv}"),
            ("x[1].zip/x.csv", "{x[[]1[]].zip,x[[]1[]]/**}"),
            ("images/", "images/**"),
        ] {
            assert_eq!(member(path, globset::escape), expected);
        }
        assert_eq!(member("train/*.jpg", str::to_owned), "train/*.jpg");
        let inside = member("x.7z/*.jpg", str::to_owned);
        assert_eq!(inside, "{x.7z,x/**}");
        let shards = member("s/*.zip/*.jpg", str::to_owned);
        assert_eq!(shards, "{s/[*].zip,s/[*]/**,s/*.zip,s/*/**}");
    }
}
