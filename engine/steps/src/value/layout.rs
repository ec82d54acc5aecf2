//! Checks that outputs in one directory or archive do not collide.
//!
//! The files of an output, for example of a copied directory, may be unknown until the output is built. Therefore collisions
//! are found when outputs are combined. On file systems that ignore case, paths that differ only in case collide, too.

use std::collections::HashMap;

use prep_core::Cancel;
use thiserror::Error;

use super::positions::partition_point;
use super::{Tree, TreeBuilder, TreeError};

#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum Collision {
    #[error("two outputs would write `{path}`: `{first}` and `{second}`")]
    Same {
        path: String,
        first: String,
        second: String,
    },
    #[error(
        "`{path}` of the output `{second}` is below `{file}`, which is a file of the output `{first}`"
    )]
    Below {
        file: String,
        first: String,
        path: String,
        second: String,
    },
    #[error(
        "`{path}` of the output `{first}` and `{other}` of `{second}` differ only in case, which this file system \
         ignores"
    )]
    Case {
        path: String,
        first: String,
        other: String,
        second: String,
    },
}

/// The outputs of a directory or an archive, with their files.
#[derive(Debug, Default)]
pub(crate) struct OutputLayout {
    outputs: Vec<String>,
    /// For each output, the index after its last file.
    ends: Vec<usize>,
    files: TreeBuilder,
}

impl OutputLayout {
    /// Adds the output `output`. `add` adds its files to the builder.
    pub(crate) fn add<E>(
        &mut self,
        output: &str,
        add: impl FnOnce(&mut TreeBuilder) -> Result<(), E>,
    ) -> Result<(), E> {
        add(&mut self.files)?;
        self.outputs.push(output.to_owned());
        self.ends.push(self.files.len());
        Ok(())
    }

    /// Returns all files as one tree. `case_folds` must be true if the file system ignores case. The error describes the
    /// first collision in path order.
    pub(crate) fn into_tree(self, case_folds: bool, cancel: &Cancel) -> Result<Tree, LayoutError> {
        let mut order = self.files.sorted(cancel)?;
        let files = &self.files;
        // Two outputs may contain the same empty directory.
        order.dedup_by(|b, a| {
            files.path(*a) == files.path(*b) && files.is_directory(*a) && files.is_directory(*b)
        });
        let mut pairs = order.iter().zip(order.iter().skip(1));
        if let Some((first, second)) = pairs.find(|(a, b)| files.path(**a) == files.path(**b)) {
            return Err(LayoutError::Collision(Collision::Same {
                path: files.path(*first).to_owned(),
                first: self.output(*first),
                second: self.output(*second),
            }));
        }
        self.check_files_above(&order)?;
        if case_folds {
            self.check_case(&order)?;
        }
        Ok(self.files.in_order(&order))
    }

    /// Returns the output that contains the file with this index.
    fn output(&self, file: u32) -> String {
        let number = self.ends.partition_point(|end| *end <= file as usize);
        self.outputs.get(number).cloned().unwrap_or_default()
    }

    /// Fails if a path is below the path of a file.
    fn check_files_above(&self, order: &[u32]) -> Result<(), Collision> {
        let file = |index: usize| order.get(index).copied().unwrap_or_default();
        let path = |index: usize| self.files.path(file(index));
        let is_file = |index: usize| !self.files.is_directory(file(index));
        match below_a_file(order.len(), path, is_file) {
            None => Ok(()),
            Some((above, below)) => Err(Collision::Below {
                file: path(above).to_owned(),
                first: self.output(file(above)),
                path: path(below).to_owned(),
                second: self.output(file(below)),
            }),
        }
    }

    /// Fails if two paths, or directories that contain them, differ only in case.
    fn check_case(&self, order: &[u32]) -> Result<(), Collision> {
        let mut seen: HashMap<String, (&str, u32)> = HashMap::new();
        for &file in order {
            let full_path = self.files.path(file);
            for path in parent_directories(full_path).chain([full_path]) {
                let (other, first) = *seen.entry(path.to_lowercase()).or_insert((path, file));
                if other != path {
                    return Err(Collision::Case {
                        path: other.to_owned(),
                        first: self.output(first),
                        other: path.to_owned(),
                        second: self.output(file),
                    });
                }
            }
        }
        Ok(())
    }
}

#[derive(Debug, Error)]
pub(crate) enum LayoutError {
    #[error("{0}")]
    Collision(#[from] Collision),
    #[error(transparent)]
    Tree(#[from] TreeError),
}

/// Searches `count` sorted paths for a file, and for a path below this file. Returns the indices of both.
pub(crate) fn below_a_file<'a>(
    count: usize,
    path: impl Fn(usize) -> &'a str,
    is_file: impl Fn(usize) -> bool,
) -> Option<(usize, usize)> {
    let find = |target: &str| {
        let found = partition_point(count, |index| path(index) < target);
        (found < count && path(found) == target).then_some(found)
    };
    let mut last_parent = "";
    for index in 0..count {
        let Some((parent, _)) = path(index).rsplit_once('/') else {
            continue;
        };
        // Neighbours usually have the same parent directory.
        if std::mem::replace(&mut last_parent, parent) == parent {
            continue;
        }
        for directory in parent_directories(path(index)) {
            if let Some(file) = find(directory).filter(|file| is_file(*file)) {
                return Some((file, index));
            }
        }
    }
    None
}

/// Returns the directories that contain `path`, outermost first.
fn parent_directories(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/')
        .map(|(at, _)| path.get(..at).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use prep_cache::Digest;
    use proptest::prelude::*;

    use super::*;
    use crate::value::ContentRef;

    fn content(path: &str, is_file: bool) -> Option<ContentRef> {
        is_file.then(|| ContentRef::Object {
            digest: Digest::of_bytes(path.as_bytes()),
            bytes: 1,
        })
    }

    fn layout(outputs: &[Vec<(String, bool)>]) -> OutputLayout {
        let mut layout = OutputLayout::default();
        for (number, files) in outputs.iter().enumerate() {
            let added: Result<(), TreeError> = layout.add(&number.to_string(), |tree| {
                for (path, is_file) in files {
                    tree.push(path, content(path, *is_file).as_ref());
                }
                Ok(())
            });
            assert!(added.is_ok());
        }
        layout
    }

    #[test]
    fn collision_errors_name_both_outputs() {
        let outputs = |a: &str, b: &str| {
            let one = |path: &str| vec![(path.to_owned(), true)];
            layout(&[one(a), one(b)])
        };
        for (a, b, folds, expected) in [
            ("x", "x", false, "two outputs would write `x`: `0` and `1`"),
            (
                "x/y/z",
                "x",
                false,
                "`x/y/z` of the output `0` is below `x`, which is a file of the output `1`",
            ),
            (
                "a/X",
                "A/y",
                true,
                "`A` of the output `1` and `a` of `0` differ only in case, which this file system ignores",
            ),
        ] {
            let error = outputs(a, b)
                .into_tree(folds, &Cancel::default())
                .unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        assert!(
            outputs("x-y", "x/y")
                .into_tree(true, &Cancel::default())
                .is_ok()
        );
        assert!(
            outputs("x", "X")
                .into_tree(false, &Cancel::default())
                .is_ok()
        );
    }

    /// A model of [`OutputLayout`]: every path, and whether it is a file. Fails if paths collide.
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
        for path in taken.keys() {
            for (other, is_file) in &taken {
                let is_below = path.starts_with(&format!("{other}/"));
                if is_below && *is_file {
                    return Err(());
                }
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

        #[test]
        fn collisions_are_rejected_and_no_file_is_lost(outputs in outputs(), folds: bool) {
            let result = layout(&outputs).into_tree(folds, &Cancel::default());
            match model(&outputs, folds) {
                Ok(taken) => {
                    let tree = result.unwrap();
                    let found: BTreeMap<String, bool> = tree
                        .files()
                        .map(|file| (file.path().to_owned(), !file.is_directory()))
                        .collect();
                    prop_assert_eq!(found.len(), tree.len());
                    prop_assert_eq!(found, taken);
                }
                Err(()) => prop_assert!(result.is_err(), "{:?}", outputs),
            }
        }
    }
}
