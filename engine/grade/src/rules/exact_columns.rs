//! `exact_columns`: these columns and no others.

use serde::Deserialize;

use super::{Rule, RuleKind, parse};
use crate::columns::Columns;
use crate::definition::{Definition, Parameter, ParameterKind};
use crate::pair::Pair;
use crate::refusal::{Refusal, RefusalKind};

pub(super) static KIND: RuleKind = RuleKind {
    definition: Definition {
        name: "exact_columns",
        summary: "The submission has these columns and no others.",
        details: "A repeated header counts as another column (`x.1`), an index that was written along as well. \
                  Without parameters: the columns of the answers, in any order.",
        source: "MLE-bench graders",
        shorthand: Some("columns"),
        parameters: &[
            Parameter {
                name: "columns",
                kind: ParameterKind::Columns,
                required: false,
                doc: "The columns; default: those of the answers.",
            },
            Parameter {
                name: "order",
                kind: ParameterKind::Choice(&["any", "first", "all"]),
                required: false,
                doc: "Whether their order matters: not at all (default), that of the first column, or of all.",
            },
        ],
    },
    parse: parse::<ExactColumns>,
};

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Any,
    First,
    All,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExactColumns {
    #[serde(default)]
    columns: Columns,
    #[serde(default)]
    order: Order,
}

impl Rule for ExactColumns {
    fn apply(&self, pair: &mut Pair<'_>) -> Result<(), Refusal> {
        let expected = self.columns.of(pair);
        for name in &expected {
            pair.submission.column(name)?;
        }
        if let Some(surplus) = pair
            .submission
            .names()
            .find(|name| !expected.contains(name))
        {
            let message = format!(
                "this column must not be there; expected only: {}",
                list(&expected)
            );
            return Err(Refusal::new(RefusalKind::SurplusColumn, message).in_column(surplus));
        }
        let count = match self.order {
            Order::Any => 0,
            Order::First => 1,
            Order::All => expected.len(),
        };
        for ((position, found), wanted) in pair
            .submission
            .names()
            .enumerate()
            .zip(&expected)
            .take(count)
        {
            if found != *wanted {
                let message = format!(
                    "expected column {} to be `{wanted}`, found this one",
                    position + 1
                );
                return Err(Refusal::new(RefusalKind::SurplusColumn, message).in_column(found));
            }
        }
        Ok(())
    }

    fn columns(&self) -> Vec<&str> {
        self.columns.named()
    }
}

/// The names, cut short when there are many.
fn list(names: &[&str]) -> String {
    match names.get(..12) {
        Some(first) if names.len() > 12 => format!(
            "{} and {} more",
            first.join(", "),
            names.len() - first.len()
        ),
        _ => names.join(", "),
    }
}
