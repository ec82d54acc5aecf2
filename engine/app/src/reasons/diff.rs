//! Compares two short texts such as queries word by word, and shows the differences in one line.

/// Number of unchanged words that are shown before and after a change.
const CONTEXT_WORDS: usize = 3;

/// Maximum number of words to compare. Longer texts are shown completely, because the time of the comparison grows with
/// the product of the lengths.
const MAX_WORDS: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// Marks removed and added words, for example `SELECT id, [-text-] {+author+} FROM train`. Unchanged words far from a
/// change become `...`.
pub fn words(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (
        old.split_whitespace().collect(),
        new.split_whitespace().collect(),
    );
    if old.len().max(new.len()) > MAX_WORDS {
        return format!("[-{}-] {{+{}+}}", old.join(" "), new.join(" "));
    }
    let parts = compare(&old, &new);
    let changed: Vec<usize> = (0..parts.len())
        .filter(|at| !matches!(parts[*at], Part::Same(_)))
        .collect();
    let near = |at: usize| {
        changed
            .iter()
            .any(|change| change.abs_diff(at) <= CONTEXT_WORDS)
    };
    let mut text: Vec<String> = Vec::new();
    let mut at = 0;
    while at < parts.len() {
        let run =
            |same: fn(&Part) -> bool| parts[at..].iter().take_while(|part| same(part)).count();
        let (old, new) = (
            run(|part| matches!(part, Part::Old(_))),
            run(|part| matches!(part, Part::New(_))),
        );
        let join = |length: usize| {
            let words = parts[at..at + length].iter().map(|part| match part {
                Part::Same(word) | Part::Old(word) | Part::New(word) => *word,
            });
            words.collect::<Vec<_>>().join(" ")
        };
        if old > 0 {
            text.push(format!("[-{}-]", join(old)));
        } else if new > 0 {
            text.push(format!("{{+{}+}}", join(new)));
        } else if near(at) {
            text.push(join(1));
        } else if text.last().is_none_or(|last| last != "...") {
            text.push("...".to_owned());
        }
        at += old.max(new).max(1);
    }
    text.join(" ")
}

/// Compares two lists of words by their longest common subsequence. Removed words come before added words.
fn compare<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Part<'a>> {
    // common[i][j]: length of the longest common subsequence of old[i..] and new[j..].
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut parts = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            parts.push(Part::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || common[i + 1][j] >= common[i][j + 1]) {
            parts.push(Part::Old(old[i]));
            i += 1;
        } else {
            parts.push(Part::New(new[j]));
            j += 1;
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_and_added_words_are_marked() {
        for (old, new, expected) in [
            ("", "", ""),
            ("a b", "a b", "..."),
            ("", "a b", "{+a b+}"),
            ("a b", "", "[-a b-]"),
            (
                "SELECT id, text FROM t",
                "SELECT id, author FROM t",
                "SELECT id, [-text-] {+author+} FROM t",
            ),
            (
                "a b c d e f g h x",
                "a b c d e f g h y",
                "... f g h [-x-] {+y+}",
            ),
            (
                "p 1 2 3 4 5 6 7 8 q",
                "P 1 2 3 4 5 6 7 8",
                "[-p-] {+P+} 1 2 3 ... 6 7 8 [-q-]",
            ),
        ] {
            assert_eq!(words(old, new), expected, "{old} -> {new}");
        }
    }
}
