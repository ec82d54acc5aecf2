//! The list of causes. Their ids are part of the interface, because scripts rely on them. `docs/audit.md` describes
//! each.

pub mod bundle;
pub mod files;
pub mod images;
pub mod labels;
pub mod rows;
pub mod split;
pub mod text;
pub mod writer;

use std::fmt;

use serde::Serialize;

/// The harm of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Harm {
    /// Only bytes differ.
    None,
    /// The values are equal, but spelled differently.
    Form,
    /// Values differ.
    Content,
    /// Answers or test items differ, so scores are not comparable.
    Answers,
}

impl fmt::Display for Harm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Harm::None => "none",
            Harm::Form => "form",
            Harm::Content => "content",
            Harm::Answers => "answers",
        })
    }
}

/// A group of causes. `docs/audit.md` has one section per family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    Bundle,
    Writer,
    Text,
    Rows,
    Labels,
    Split,
    Files,
    Images,
    /// Differences that no rule explains.
    Unknown,
}

/// A kind of difference, with the text that the report shows for it.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    pub id: &'static str,
    pub family: Family,
    /// Minimum harm. The role of a file can raise it.
    pub harm: Harm,
    /// Describes the difference.
    pub meaning: &'static str,
    /// Suggests an action.
    pub advice: &'static str,
}

/// A difference that no rule explains.
pub static NOT_CLASSIFIED: Cause = Cause {
    id: "not-classified",
    family: Family::Unknown,
    harm: Harm::Content,
    meaning: "no rule explains this difference",
    advice: "compare both files yourself; a bug report with a small example helps to add a rule",
};

/// Returns every cause, grouped by family.
pub fn all() -> impl Iterator<Item = &'static Cause> {
    let families = [
        bundle::ALL,
        writer::ALL,
        text::ALL,
        rows::ALL,
        labels::ALL,
        split::ALL,
        files::ALL,
        images::ALL,
    ];
    let known = families.into_iter().flatten().copied();
    known.chain([&NOT_CLASSIFIED])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cause_ids_are_unique_and_documented() {
        let page = include_str!("../../../../docs/audit.md");
        let mut seen = std::collections::BTreeSet::new();
        for cause in all() {
            assert!(seen.insert(cause.id), "{} occurs twice", cause.id);
            let row = format!("| `{}` | {} |", cause.id, cause.harm);
            assert!(page.contains(&row), "docs/audit.md lacks {row}");
        }
    }
}
