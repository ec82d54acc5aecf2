//! Upstream's metadata of its competitions: names, types, names of metrics, and paths of answers and submissions.
//! Pipelines do not need this metadata, but programs that were written for upstream do.

use prep_spec::{BASE_VARIANT, Pipeline};
use serde_json::{Value, json};

use super::CatalogEntry;

/// Upstream's metadata of its 82 competitions, sorted by id.
const TABLE: &str = include_str!("../../data/benchmark.csv");

/// Upstream's files that list competitions. Each line has the file's name, and the set or the single competition that
/// it lists.
const LISTS: &str = include_str!("../../data/lists.csv");

/// Upstream's metadata of one competition. Paths are relative to `prepared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompetitionDefinition {
    pub id: &'static str,
    pub name: &'static str,
    /// `code` for competitions whose submissions were notebooks, otherwise `simple`.
    pub kind: &'static str,
    /// Upstream's name of the metric.
    pub metric: &'static str,
    pub answers: &'static str,
    pub sample_submission: &'static str,
    /// A submission with the best score.
    pub gold_submission: &'static str,
}

/// Returns the definitions of all competitions of the benchmark, sorted by id.
pub fn definitions() -> impl Iterator<Item = CompetitionDefinition> {
    TABLE.lines().skip(1).filter_map(|line| {
        let mut cells = line.split(',');
        let mut cell = || cells.next();
        Some(CompetitionDefinition {
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

/// Returns the definition of the competition with this id.
pub fn definition(id: &str) -> Option<CompetitionDefinition> {
    definitions().find(|definition| definition.id == id)
}

/// Returns the metadata and files of a competition for programs that were written for upstream. The metadata of a
/// benchmark competition are upstream's; those of other competitions come from the pipeline. Returns `None` for a
/// pipeline without grading.
pub fn upstream_facts(entry: &CatalogEntry) -> Option<Value> {
    let (name, facts) = match definition(&entry.id) {
        Some(definition) => {
            let facts = json!({
                "name": definition.name,
                "competition_type": definition.kind,
                "metric": definition.metric,
                "answers": definition.answers,
                "sample_submission": definition.sample_submission,
                "gold_submission": definition.gold_submission,
                "benchmark": true,
            });
            (definition.name.to_owned(), facts)
        }
        None => pipeline_metadata(&entry.load(BASE_VARIANT).ok()?)?,
    };
    let description = match entry.description.as_deref() {
        Some(text) if !text.trim().is_empty() => text.to_owned(),
        _ => format!("# {name}\n"),
    };
    let checksums = entry.checksums.as_deref();
    let checksums = checksums.and_then(|text| serde_json::from_str(text).ok());
    let files = json!({
        "description": description,
        "leaderboard": entry.leaderboard.as_deref().unwrap_or("score\n"),
        "checksums": checksums.unwrap_or_else(|| json!({})),
    });
    let mut all = facts;
    if let (Some(all), Value::Object(files)) = (all.as_object_mut(), files) {
        all.extend(files);
    }
    Some(all)
}

fn pipeline_metadata(pipeline: &Pipeline) -> Option<(String, Value)> {
    let grade = &pipeline.grade.as_ref()?.value;
    let answers = &grade.answers.value;
    let mut outputs = pipeline.public.iter().map(|output| &output.path.value);
    let is_sample =
        |path: &&String| path.to_lowercase().contains("sample") && path.ends_with(".csv");
    let sample = outputs.find(is_sample);
    let sample = sample.map_or("sample_submission.csv", String::as_str);
    let metric = grade.rules.get("metric").and_then(Value::as_str);
    let facts = json!({
        "name": pipeline.name,
        "competition_type": "simple",
        "metric": metric.unwrap_or("score"),
        "answers": answers,
        "sample_submission": format!("public/{sample}"),
        "gold_submission": answers,
        "benchmark": false,
    });
    Some((pipeline.name.clone(), facts))
}

/// Returns upstream's lists of competitions: the name of each file, and its ids in order.
pub fn lists() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    LISTS.lines().skip(1).filter_map(|line| {
        let (name, listed) = line.split_once(',')?;
        let mut ids = match prep_splits::set(listed) {
            Some(set) => set.to_vec(),
            None => vec![listed],
        };
        // Upstream sorts the list of all competitions by id. Its other lists have a manual order.
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
    fn lists_contain_known_competitions() {
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
    fn definitions_have_the_answer_paths_of_the_pipelines() {
        let catalog = Catalog::embedded();
        assert_eq!(definitions().count(), 82);
        assert!(definitions().is_sorted_by_key(|definition| definition.id));
        for definition in definitions() {
            let entry = catalog.get(definition.id).unwrap();
            assert!(entry.description.is_some() && entry.checksums.is_some());
            let Ok(pipeline) = entry.load(prep_spec::BASE_VARIANT) else {
                continue;
            };
            let grade = pipeline.grade.unwrap();
            assert_eq!(
                grade.value.answers.value, definition.answers,
                "{}",
                definition.id
            );
        }
    }
}
