//! What the benchmark itself says of its competitions: names, types, names of metrics, and where it looks for answers and
//! submissions. Pipelines do not need it; programs that were written for the benchmark do.

/// Facts of the benchmark's 82 competitions, by id.
const TABLE: &str = include_str!("../data/benchmark.csv");

/// The benchmark's files that list competitions: name, and the set or the one competition in it.
const LISTS: &str = include_str!("../data/lists.csv");

/// One competition of the benchmark. Paths are below `prepared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    pub id: &'static str,
    pub name: &'static str,
    /// `code` for competitions whose submissions were notebooks, else `simple`.
    pub kind: &'static str,
    /// What the benchmark calls the metric.
    pub metric: &'static str,
    pub answers: &'static str,
    pub sample_submission: &'static str,
    /// A submission with the best score.
    pub gold_submission: &'static str,
}

/// All of them, in order of their ids.
pub fn definitions() -> impl Iterator<Item = Definition> {
    TABLE.lines().skip(1).filter_map(|line| {
        let mut cells = line.split(',');
        let mut cell = || cells.next();
        Some(Definition {
            id: cell()?,
            name: cell()?,
            kind: cell()?,
            metric: cell()?,
            answers: cell()?,
            sample_submission: cell()?,
            gold_submission: cell()?,
        })
    })
}

/// The one with this id.
pub fn definition(id: &str) -> Option<Definition> {
    definitions().find(|one| one.id == id)
}

/// The benchmark's lists of competitions: the name of each one's file, and its ids in the order of the file.
pub fn lists() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    LISTS.lines().skip(1).filter_map(|line| {
        let (name, listed) = line.split_once(',')?;
        let mut ids = match prep_splits::set(listed) {
            Some(set) => set.to_vec(),
            None => vec![listed],
        };
        // The benchmark lists its whole by name, its sets by hand.
        if listed == "all" {
            ids.sort_unstable();
        }
        Some((name, ids))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn lists_name_competitions() {
        let names: Vec<&str> = lists().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 7);
        for (name, ids) in lists() {
            assert!(!ids.is_empty(), "{name}");
            for id in ids {
                assert!(definition(id).is_some(), "{name}: {id}");
            }
        }
    }

    #[test]
    fn answers_lie_where_the_pipelines_have_them() {
        let catalog = Catalog::embedded();
        assert_eq!(definitions().count(), 82);
        assert!(definitions().is_sorted_by_key(|one| one.id));
        for one in definitions() {
            let entry = catalog.get(one.id).unwrap();
            assert!(entry.description.is_some() && entry.checksums.is_some());
            let Ok(pipeline) = entry.load(prep_spec::BASE_VARIANT) else {
                continue;
            };
            let grade = pipeline.grade.unwrap();
            assert_eq!(grade.value.answers.value, one.answers, "{}", one.id);
        }
    }
}
