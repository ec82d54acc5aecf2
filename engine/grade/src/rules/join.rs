//! `join`: pairs each row of the submission with its row of the answers.

use std::collections::HashMap;

use prep_spec::words::KeyType;
use serde::Deserialize;

use super::kind::{Rule, RuleKind, parse};
use crate::refusal::{Refusal, RefusalKind};
use crate::spec::definition::{Definition, column, optional};
use crate::table::key::key;
use crate::table::pair::Pair;

pub(super) const KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "join",
        summary: "Pairs the rows of both tables that have the same identifier, and drops the other rows.",
        details: "The result has the order of the answers. Rows with the same identifier have the order of the \
                  submission. A repeated identifier gives a row for each pair, so it has more weight.",
        source: "pandas.DataFrame.merge",
        shorthand: Some("by"),
        parameters: &[
            column("by", "The identifier."),
            optional(
                "repeated",
                KeyType::Choice(&["allow", "allow_alone"]),
                "`allow_alone`: identifiers that the submission repeats are invalid unless only one identifier remains, \
                 because NumPy can compare a single number with many.",
            ),
        ],
    },
    parse: parse::<Join>,
};

/// Maximum number of pairs of rows. Without this limit, identifiers that both tables repeat could create any number of
/// pairs.
const MAX_PAIRS: usize = 1 << 26;

/// End of a linked list of rows.
const END: u32 = u32::MAX;

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Repeated {
    #[default]
    Allow,
    AllowAlone,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Join {
    by: String,
    #[serde(default)]
    repeated: Repeated,
}

impl Rule for Join {
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let (of_answers, of_submission) = self.pairs(pair)?;
        pair.answers.select(of_answers);
        pair.submission.select(of_submission);
        Ok(())
    }
}

impl Join {
    /// Returns the positions in both tables, pair by pair.
    fn pairs(&self, pair: &Pair<'_>) -> Result<(Vec<u32>, Vec<u32>), Refusal> {
        let (answers, submission) = pair.both(&self.by)?;
        // Stores the first and last row of each identifier, and for each row the next row with the same identifier. So
        // the rows of all identifiers need only one list of numbers.
        let mut places: HashMap<_, (u32, u32)> = HashMap::new();
        let mut next = vec![END; submission.len()];
        for (row, position) in (0..submission.len()).zip(0u32..) {
            let (_, last) = places
                .entry(key(&submission, row))
                .or_insert((position, position));
            if *last != position
                && let Some(next) = next.get_mut(*last as usize)
            {
                *next = position;
                *last = position;
            }
        }
        let after = |position: u32| {
            let after = next.get(position as usize).copied();
            after.filter(|after| *after != END)
        };
        let rows_of = |row: usize| {
            let first = places.get(&key(&answers, row)).map(|(first, _)| *first);
            std::iter::successors(first, |position| after(*position))
        };
        let mut pairs = 0;
        for row in 0..answers.len() {
            pairs += rows_of(row).count();
            if pairs > MAX_PAIRS {
                let message =
                    format!("repeated identifiers give more than {MAX_PAIRS} pairs of rows");
                return Err(Refusal::new(RefusalKind::Ids, message).in_column(&self.by));
            }
        }
        let (mut left, mut right) = (Vec::with_capacity(pairs), Vec::with_capacity(pairs));
        let (mut matched, mut repeated) = (0, None);
        for (row, position) in (0..answers.len()).zip(0u32..) {
            let before = right.len();
            right.extend(rows_of(row));
            left.resize(right.len(), position);
            matched += usize::from(right.len() > before);
            repeated = repeated.or(right.get(before + 1).copied());
        }
        let refused = match self.repeated {
            Repeated::Allow => false,
            Repeated::AllowAlone => matched > 1,
        };
        match repeated {
            Some(position) if refused => {
                let expected = "each identifier once";
                Err(submission.refuse(RefusalKind::Ids, position as usize, expected))
            }
            _ => Ok((left, right)),
        }
    }
}
