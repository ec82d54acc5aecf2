//! The list of causes. Their ids are part of the interface, because scripts rely on them. `docs/audit.md` describes each.

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
    /// Only other bytes.
    None,
    /// The same values in another spelling.
    Form,
    /// Other values.
    Content,
    /// Other answers or other test items: scores are not comparable.
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

/// Families of causes.
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
    /// No rule explains it.
    Unknown,
}

/// A kind of difference.
#[derive(Debug, PartialEq, Eq)]
pub struct Cause {
    pub id: &'static str,
    pub family: Family,
    /// At least.
    pub harm: Harm,
    /// A sentence that describes it.
    pub meaning: &'static str,
    /// The suggested action.
    pub advice: &'static str,
}

/// A difference that no rule explains.
pub static NOT_CLASSIFIED: Cause = Cause {
    id: "not-classified",
    family: Family::Unknown,
    harm: Harm::Content,
    meaning: "no rule explains this difference",
    advice: "look at both files; a report with a small example would let the rule be added",
};

/// Every cause, by family.
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
    fn ids_are_unique_and_described() {
        let page = include_str!("../../../../docs/audit.md");
        let mut seen = std::collections::BTreeSet::new();
        for cause in all() {
            assert!(seen.insert(cause.id), "{} twice", cause.id);
            let row = format!("| `{}` | {} |", cause.id, cause.harm);
            assert!(page.contains(&row), "docs/audit.md lacks {row}");
        }
    }
}
