//! Describes how the identifiers of a submission differ from those of the answers.

use std::collections::HashMap;

use crate::refusal::{Refusal, RefusalKind, count};
use crate::table::key::{Identifier, key};
use crate::table::pair::GradedColumn;

/// Reports an identifier of the submission that the answers do not have. If there is no such identifier, reports a
/// repeated and a missing one. Row numbers refer to the submission's file, independent of the current order of the
/// tables. `position` is the first position at which the identifiers differ.
///
/// Identifiers are public, so this reveals no answers.
pub fn differ(
    submission: &GradedColumn<'_>,
    answers: &GradedColumn<'_>,
    position: usize,
) -> Refusal {
    let mut left: HashMap<Identifier<'_>, usize> = HashMap::new();
    for row in 0..answers.len() {
        *left.entry(key(answers, row)).or_default() += 1;
    }
    let (mut unknown, mut repeated) = (Vec::new(), Vec::new());
    let mut positions: Vec<usize> = (0..submission.len()).collect();
    positions.sort_by_key(|position| submission.file_position(*position));
    for position in positions {
        match left.get_mut(&key(submission, position)) {
            None => unknown.push(position),
            Some(0) => repeated.push(position),
            Some(rest) => *rest -= 1,
        }
    }
    let missing = |row: &usize| left.get(&key(answers, *row)).is_some_and(|rest| *rest > 0);
    let missing = (0..answers.len()).find(missing);
    let missing = missing.map(|row| answers.value(row).for_message());
    match (unknown.as_slice(), repeated.first(), missing) {
        ([only], _, Some(missing)) => {
            let expected = format!("{missing}: identifiers must be those of the answers");
            submission.refuse(RefusalKind::Ids, *only, &expected)
        }
        ([first, _, ..], _, _) => {
            let (all, rows) = (unknown.len(), count(submission.len(), "row"));
            let expected =
                format!("an identifier of the answers; {all} of {rows} have unknown identifiers");
            submission.refuse(RefusalKind::Ids, *first, &expected)
        }
        ([], Some(repeated), Some(missing)) => {
            let found = submission.value(*repeated).for_message();
            let message = format!("{found} is repeated, and there is no row for {missing}");
            Refusal::new(RefusalKind::Ids, message)
                .in_column(submission.name)
                .in_row(submission.file_row(*repeated))
        }
        // The keys are equal, but not according to NumPy: missing identifiers, or integers that a double cannot
        // represent.
        _ => {
            let expected = answers.value(position).for_message();
            let expected = format!("{expected}: identifiers must be those of the answers");
            submission.refuse(RefusalKind::Ids, position, &expected)
        }
    }
}
