//! Several outputs in one folder or archive: every path is one output's, and no file is in the way of another.
//!
//! What an output writes is often known only when it was made (a copied folder, a query that gives paths), so it is here
//! that two of them are found on one path. Where names are not told apart by case, paths that differ in nothing else are
//! one path.

use std::collections::HashMap;

use thiserror::Error;

use super::{Tree, TreeEntry};

/// Two outputs in each other's way.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Collision {
    #[error("`{path}` would be written twice: by the output `{first}` and by `{second}`")]
    Same {
        path: String,
        first: String,
        second: String,
    },
    #[error(
        "`{path}` of the output `{second}` lies below `{file}`, which is a file of the output `{first}`"
    )]
    Below {
        file: String,
        first: String,
        path: String,
        second: String,
    },
    #[error(
        "`{path}` of the output `{first}` and `{other}` of `{second}` differ in case only, which this file system does not \
         tell apart"
    )]
    Case {
        path: String,
        first: String,
        other: String,
        second: String,
    },
}

/// Files and folders, each with the output that it is from.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    outputs: Vec<String>,
    entries: Vec<(TreeEntry, usize)>,
}

impl Layout {
    /// Adds what an output writes.
    pub(crate) fn add(&mut self, output: &str, entries: impl IntoIterator<Item = TreeEntry>) {
        let number = self.outputs.len();
        self.outputs.push(output.to_owned());
        let entries = entries.into_iter().map(|entry| (entry, number));
        self.entries.extend(entries);
    }

    /// All of it as one tree.
    ///
    /// # Errors
    /// The first collision by path.
    pub(crate) fn into_tree(mut self, case_folds: bool) -> Result<Tree, Collision> {
        self.entries.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
        // Two outputs may have the same empty folder.
        self.entries.dedup_by(|(b, _), (a, _)| {
            a.path == b.path && a.content.is_none() && b.content.is_none()
        });
        let mut pairs = self.entries.iter().zip(self.entries.iter().skip(1));
        if let Some(((entry, first), (_, second))) = pairs.find(|(a, b)| a.0.path == b.0.path) {
            return Err(Collision::Same {
                path: entry.path.clone(),
                first: self.name(*first),
                second: self.name(*second),
            });
        }
        self.nothing_below_a_file()?;
        if case_folds {
            self.told_apart_without_case()?;
        }
        let entries = self.entries.into_iter().map(|(entry, _)| entry).collect();
        Ok(Tree::of_sorted(entries))
    }

    fn name(&self, output: usize) -> String {
        self.outputs.get(output).cloned().unwrap_or_default()
    }

    fn nothing_below_a_file(&self) -> Result<(), Collision> {
        let is_file = |one: &(TreeEntry, usize)| one.0.content.is_some();
        match below_a_file(&self.entries, |one| one.0.path.as_str(), is_file) {
            None => Ok(()),
            Some(((file, first), (entry, second))) => Err(Collision::Below {
                file: file.path.clone(),
                first: self.name(*first),
                path: entry.path.clone(),
                second: self.name(*second),
            }),
        }
    }

    fn told_apart_without_case(&self) -> Result<(), Collision> {
        let mut seen: HashMap<String, (&str, usize)> = HashMap::new();
        for (entry, second) in &self.entries {
            for path in folders_of(&entry.path).chain([entry.path.as_str()]) {
                let (other, first) = *seen.entry(path.to_lowercase()).or_insert((path, *second));
                if other != path {
                    return Err(Collision::Case {
                        path: other.to_owned(),
                        first: self.name(first),
                        other: path.to_owned(),
                        second: self.name(*second),
                    });
                }
            }
        }
        Ok(())
    }
}

/// A file and something below it, in a list that is sorted by path.
pub(crate) fn below_a_file<T>(
    sorted: &[T],
    path: impl for<'t> Fn(&'t T) -> &'t str,
    is_file: impl Fn(&T) -> bool,
) -> Option<(&T, &T)> {
    let mut looked_at = "";
    for entry in sorted {
        let Some((parent, _)) = path(entry).rsplit_once('/') else {
            continue;
        };
        // Neighbours mostly have the same folder.
        if std::mem::replace(&mut looked_at, parent) == parent {
            continue;
        }
        for folder in folders_of(path(entry)) {
            let found = sorted.binary_search_by(|other| path(other).cmp(folder));
            let found = found.ok().and_then(|at| sorted.get(at));
            if let Some(file) = found.filter(|file| is_file(file)) {
                return Some((file, entry));
            }
        }
    }
    None
}

/// The folders in which a path lies, outermost first.
fn folders_of(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .map(|(at, _)| path.get(..at).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prep_cache::Digest;
    use proptest::prelude::*;

    use super::*;
    use crate::value::Content;

    fn entry(path: &str, is_file: bool) -> TreeEntry {
        let content = Content::Object {
            digest: Digest::of(path.as_bytes()),
            bytes: 1,
        };
        TreeEntry {
            path: path.to_owned(),
            content: is_file.then_some(content),
        }
    }

    fn layout(outputs: &[Vec<(String, bool)>]) -> Layout {
        let mut layout = Layout::default();
        for (number, files) in outputs.iter().enumerate() {
            let entries = files.iter().map(|(path, is_file)| entry(path, *is_file));
            layout.add(&number.to_string(), entries);
        }
        layout
    }

    #[test]
    fn both_outputs_are_named() {
        let outputs = |a: &str, b: &str| {
            let one = |path: &str| vec![(path.to_owned(), true)];
            layout(&[one(a), one(b)])
        };
        for (a, b, folds, expected) in [
            (
                "x",
                "x",
                false,
                "`x` would be written twice: by the output `0` and by `1`",
            ),
            (
                "x/y/z",
                "x",
                false,
                "`x/y/z` of the output `0` lies below `x`, which is a file of the output `1`",
            ),
            (
                "a/X",
                "A/y",
                true,
                "`A` of the output `1` and `a` of `0` differ in case only, which this file system does not tell apart",
            ),
        ] {
            let error = outputs(a, b).into_tree(folds).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        assert!(outputs("x-y", "x/y").into_tree(true).is_ok());
        assert!(outputs("x", "X").into_tree(false).is_ok());
    }

    /// A folder of the slowest kind: every path that is taken, and by whom.
    fn model(outputs: &[Vec<(String, bool)>], folds: bool) -> Result<BTreeMap<String, bool>, ()> {
        let mut taken: BTreeMap<String, bool> = BTreeMap::new();
        for (path, is_file) in outputs.iter().flatten() {
            if taken.get(path).is_some_and(|other| *other || *is_file) {
                return Err(());
            }
            taken.insert(path.clone(), *is_file);
        }
        let fold = |path: &str| {
            if folds {
                path.to_lowercase()
            } else {
                path.to_owned()
            }
        };
        for (path, _) in &taken {
            for (other, is_file) in &taken {
                let below = path.starts_with(&format!("{other}/"));
                if below && *is_file {
                    return Err(());
                }
                // Every pair of folders or files on the two paths, cut at the same depth.
                let (parts, others): (Vec<&str>, Vec<&str>) =
                    (path.split('/').collect(), other.split('/').collect());
                for depth in 1..=parts.len().min(others.len()) {
                    let (a, b) = (parts[..depth].join("/"), others[..depth].join("/"));
                    if a != b && fold(&a) == fold(&b) {
                        return Err(());
                    }
                }
            }
        }
        Ok(taken)
    }

    fn outputs() -> impl Strategy<Value = Vec<Vec<(String, bool)>>> {
        let part = prop_oneof![
            Just("a"),
            Just("A"),
            Just("b"),
            Just("a-"),
            Just("é"),
            Just("É")
        ];
        let path = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
        let file = (path, prop::bool::weighted(0.8));
        prop::collection::vec(prop::collection::vec(file, 0..4), 0..4)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// Random outputs with collisions of every kind: refused exactly when they collide, else nothing is lost.
        #[test]
        fn collisions_are_refused_and_nothing_is_lost(outputs in outputs(), folds: bool) {
            let made = layout(&outputs).into_tree(folds);
            match model(&outputs, folds) {
                Ok(taken) => {
                    let tree = made.unwrap();
                    let found: BTreeMap<String, bool> = tree
                        .entries()
                        .iter()
                        .map(|entry| (entry.path.clone(), entry.content.is_some()))
                        .collect();
                    prop_assert_eq!(found.len(), tree.entries().len());
                    prop_assert_eq!(found, taken);
                }
                Err(()) => prop_assert!(made.is_err(), "{:?}", outputs),
            }
        }
    }
}
