//! Does a score of a variant mean what one of the base means?
//!
//! It does when both are about the same test rows, answers, rules and metric: then a correction took something away that gave
//! answers away, or added something, and no more. That is told from the pipeline alone: the grading section, the output with
//! the answers, and every table that both variants have must be the same. A correction that only concerns public files
//! therefore adds tables instead of changing them.

use prep_spec::Pipeline;
use prep_spec::model::Output;

use crate::catalog::Entry;
use crate::error::Error;

/// Whether scores of a variant of the entry's pipeline can be compared with those of the base.
///
/// # Errors
/// When the pipeline has mistakes.
pub(crate) fn with_base(entry: &Entry, own: &Pipeline) -> Result<bool, Error> {
    if !own.variant.differs {
        return Ok(true);
    }
    let base = entry.load(prep_spec::BASE_VARIANT)?;
    Ok(same_grading(&base, own) && same_tables(&base, own) && answers(&base) == answers(own))
}

fn same_grading(base: &Pipeline, own: &Pipeline) -> bool {
    let grading = |pipeline: &Pipeline| {
        let grade = &pipeline.grade.as_ref()?.value;
        Some((grade.answers.value.clone(), grade.rules.clone()))
    };
    grading(base) == grading(own)
}

/// Both read the same file, so what was not changed stands at the same place in it: the forms agree to the last span.
fn same_tables(base: &Pipeline, own: &Pipeline) -> bool {
    base.tables.iter().all(|table| {
        let name = table.names.first().map(|name| &name.value);
        let other = name.and_then(|name| own.tables.iter().find(|other| other.has(name)));
        other.is_some_and(|other| format!("{table:?}") == format!("{other:?}"))
    })
}

fn answers(pipeline: &Pipeline) -> Option<String> {
    let path = &pipeline.grade.as_ref()?.value.answers.value;
    let inner = path.strip_prefix("private/")?;
    let output: Option<&Output> = pipeline.private.iter().find(|one| one.path.value == inner);
    output.map(|output| format!("{:?}", output.declaration))
}

#[cfg(test)]
mod tests {
    use crate::catalog::Catalog;

    use super::*;

    #[test]
    fn what_takes_a_leak_away_is_comparable_and_another_split_is_not() {
        let catalog = Catalog::embedded();
        for (id, expected) in [
            ("siim-isic-melanoma-classification", true),
            ("spooky-author-identification", true),
            ("ranzcr-clip-catheter-line-classification", false),
            ("movie-review-sentiment-analysis-kernels-only", false),
            ("nomad2018-predict-transparent-conductors", false),
        ] {
            let entry = catalog.get(id).unwrap();
            let comparable =
                |variant: &str| with_base(entry, &entry.load(variant).unwrap()).unwrap();
            assert_eq!(comparable("fixed"), expected, "{id}");
            assert!(comparable("v1"), "{id}");
        }
    }
}
