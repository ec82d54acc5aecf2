//! "Did you mean" suggestions: finds the known word that a mistyped word, or a word of another tool, probably means.

use std::collections::HashMap;
use std::sync::LazyLock;

use strsim::osa_distance;

use super::short::joined;

/// Words of other tools, in the form that [`plain`] returns, each with the words of the pipeline language that replace it.
static SYNONYMS: LazyLock<HashMap<String, Vec<&str>>> = LazyLock::new(|| {
    let entries = entries(include_str!("synonyms.txt"));
    let entries = entries.map(|(theirs, ours)| (plain(theirs), ours.split(", ").collect()));
    entries.collect()
});

/// Functions of pandas and of other SQL dialects, in lower case, each with the SQL or the table that replaces the function.
static CONSTRUCTS: LazyLock<HashMap<&str, &str>> =
    LazyLock::new(|| entries(include_str!("constructs.txt")).collect());

/// Parses lines of the form `foreign, foreign = replacement` into pairs.
fn entries(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(" = "))
        .flat_map(|(words, ours)| words.split(", ").map(move |word| (word, ours)))
}

/// Removes the usual differences between spellings of a name: case, `_`, `-` and spaces.
fn plain(word: &str) -> String {
    let kept = word.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
    kept.flat_map(char::to_lowercase).collect()
}

/// Returns the candidate that replaces `word`, a word of another tool. Returns `None` for other words, or if no candidate
/// replaces `word`.
fn synonym<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let ours = SYNONYMS.get(&plain(word))?;
    let mut found = ours
        .iter()
        .filter_map(|our| candidates.iter().find(|candidate| *candidate == our));
    found.next().copied()
}

/// Returns help for a function of pandas or of another SQL dialect.
pub fn construct(function: &str) -> Option<String> {
    let ours = CONSTRUCTS.get(function.to_lowercase().as_str())?;
    Some(match ours.starts_with('{') {
        true => format!("in a pipeline, write the table `{ours}`"),
        false => format!("in SQL, write `{ours}`"),
    })
}

/// If `cell` is a number with a decimal comma, such as `1.234,5`, returns the SQL expression that converts the cells of the
/// column `name`.
pub fn decimal_comma(name: &str, cell: &str) -> Option<String> {
    let number = cell.replace('.', "").replacen(',', ".", 1);
    let is_number = cell.contains(',') && cell.rfind('.') <= cell.find(',');
    let name = format!("\"{}\"", name.replace('"', "\"\""));
    let without_dots = match cell.contains('.') {
        true => format!("replace({name}, '.', '')"),
        false => name,
    };
    (is_number && number.parse::<f64>().is_ok())
        .then(|| format!("CAST(replace({without_dots}, ',', '.') AS DOUBLE)"))
}

/// Words longer than this are not compared, because they are probably not typing errors.
const MAX_WORD_BYTES: usize = 200;
/// Shorter words of other tools must be written without typing errors.
const MIN_SYNONYM_BYTES: usize = 4;

/// Returns the candidate that `word` probably means. If `word` is the name that another tool uses for a candidate, returns
/// this candidate. Otherwise returns the candidate that needs the fewest edits to become `word`.
///
/// The number of edits must be at most a third of the length of the longer word, rounded up. It must also be less than the
/// length of the shorter word.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > MAX_WORD_BYTES {
        return None;
    }
    let candidates: Vec<&str> = candidates.into_iter().collect();
    if let Some(ours) = synonym(word, &candidates) {
        return Some(ours);
    }
    let mut best: Option<(usize, &str)> = None;
    let (lower, length) = (word.to_lowercase(), word.chars().count());
    let short = candidates.iter().copied();
    for candidate in short.filter(|candidate| candidate.len() <= MAX_WORD_BYTES) {
        let other = candidate.chars().count();
        let (shorter, longer) = (length.min(other), length.max(other));
        let limit = longer.div_ceil(3);
        // Words need at least as many edits as their lengths differ.
        if longer - shorter > limit {
            continue;
        }
        let edits = osa_distance(&lower, &candidate.to_lowercase());
        if edits <= limit && edits < shorter && best.is_none_or(|(least, _)| edits < least) {
            best = Some((edits, candidate));
        }
    }
    let misspelled = || {
        let known = SYNONYMS
            .keys()
            .filter(|known| known.len() >= MIN_SYNONYM_BYTES);
        let near = known.filter(|known| is_typing_error(word, known));
        near.filter_map(|known| synonym(known, &candidates)).min()
    };
    best.map(|(_, candidate)| candidate).or_else(misspelled)
}

/// Returns whether at most one edit turns `word` into `candidate`. Case, `_`, `-` and spaces are ignored.
pub fn is_typing_error(word: &str, candidate: &str) -> bool {
    osa_distance(&plain(word), &plain(candidate)) <= 1
}

/// Maximum number of names in a message. Other names are only counted.
const MAX_LISTED_NAMES: usize = 20;

/// Returns the help for an unknown name, for example "did you mean `tons`? it has id, tons". In this example, `owner`
/// is `it`.
pub fn alternatives<'a>(
    word: &str,
    owner: &str,
    names: impl IntoIterator<Item = &'a str>,
) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let has = list_names(owner, &names);
    match nearest(word, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? {has}"),
        None => has,
    }
}

/// Lists the names that `owner` has, and counts names beyond the limit.
pub fn list_names(owner: &str, names: &[&str]) -> String {
    match names {
        [] => format!("{owner} has none"),
        names => format!(
            "{owner} has {}",
            joined(names.iter().copied(), MAX_LISTED_NAMES)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_is_suggested_only_if_it_is_a_candidate() {
        assert_eq!(synonym("random_state", &["seed", "order"]), Some("seed"));
        assert_eq!(synonym("Float64", &["text", "number"]), Some("number"));
        assert_eq!(synonym("roc_auc_score", &["accuracy"]), None);
        assert_eq!(synonym("melt", &["columns"]), None);
        assert_eq!(
            synonym("n_splits", &["split", "test_size"]),
            Some("test_size")
        );
        let metrics = ["accuracy", "roc_auc", "log_loss", "root_mean_squared_error"];
        assert_eq!(nearest("roc_auc_score", metrics), Some("roc_auc"));
        assert_eq!(nearest("RMSE", metrics), Some("root_mean_squared_error"));
        assert_eq!(nearest("logloss", metrics), Some("log_loss"));
        assert_eq!(nearest("rsme", metrics), Some("root_mean_squared_error"));
        assert_eq!(nearest("amount", metrics), None);
        assert_eq!(
            nearest("fillna", ["range", "fill_missing"]),
            Some("fill_missing")
        );
        assert_eq!(nearest("fillna", ["coalesce"]), Some("coalesce"));
        let help = |word: &str| construct(word).unwrap_or_default();
        assert_eq!(help("groupby"), "in SQL, write `GROUP BY column`");
        assert!(help("train_test_split").contains("{ split: labelled, method: shuffle,"));
        assert_eq!(construct("coalesce"), None);
    }

    #[test]
    fn words_of_other_tools_occur_once() {
        for (text, count) in [
            (include_str!("synonyms.txt"), SYNONYMS.len()),
            (include_str!("constructs.txt"), CONSTRUCTS.len()),
        ] {
            let lines = text
                .lines()
                .filter(|line| !line.is_empty() && !line.starts_with('#'));
            let words: usize = lines
                .map(|line| line.split_once(" = ").unwrap().0.split(", ").count())
                .sum();
            assert_eq!(words, count);
        }
    }

    #[test]
    fn alternatives_lists_the_known_names() {
        let names = ["id", "tons"];
        assert_eq!(
            alternatives("tns", "it", names),
            "did you mean `tons`? it has id, tons"
        );
        assert_eq!(alternatives("weight", "it", names), "it has id, tons");
        assert_eq!(alternatives("weight", "it", []), "it has none");
        let many: Vec<String> = (0..MAX_LISTED_NAMES + 5)
            .map(|number| format!("c{number}"))
            .collect();
        let text = alternatives("weight", "`t`", many.iter().map(String::as_str));
        assert!(text.ends_with(", c19 and 5 more"), "{text}");
        let text = alternatives(
            "weight",
            "`t`",
            many.iter().take(MAX_LISTED_NAMES).map(String::as_str),
        );
        assert!(text.ends_with(", c19"), "{text}");
    }

    #[test]
    fn only_similar_words_are_suggested() {
        let words = ["tables", "split", "public", "private"];
        assert_eq!(nearest("tabels", words), Some("tables"));
        assert_eq!(nearest("spilt", words), Some("split"));
        assert_eq!(nearest("Public", words), Some("public"));
        assert_eq!(nearest("answers", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest("x", ["y"]), None);
        let long = "x".repeat(1 << 24);
        assert_eq!(nearest(&long, [long.as_str(), "x"]), None);
        assert_eq!(nearest("x1", [long.as_str(), "x2"]), Some("x2"));
    }

    #[test]
    fn decimal_commas_are_recognized() {
        let plain = "CAST(replace(\"x\", ',', '.') AS DOUBLE)";
        let dots = "CAST(replace(replace(\"x\", '.', ''), ',', '.') AS DOUBLE)";
        for (cell, expected) in [
            ("1000,00", Some(plain)),
            ("-0,5", Some(plain)),
            ("1.234,50", Some(dots)),
            ("1,234.50", None),
            ("1,2,3", None),
            ("12", None),
            ("a,b", None),
        ] {
            assert_eq!(decimal_comma("x", cell).as_deref(), expected, "{cell}");
        }
    }
}
