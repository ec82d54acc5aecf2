//! File patterns: `train/{case}/*.png` is the glob `train/*/*.png` with the column `case`.

use globset::{Glob, GlobBuilder};

use super::{is_name, split_source};

/// The columns of every table of files. A pattern cannot use these names.
pub const FILE_COLUMNS: [&str; 8] = [
    "file", "path", "dir", "folder", "name", "stem", "ext", "size",
];

/// A file pattern, without the name of its source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePattern {
    /// The pattern with `*` in place of each name.
    pub glob: String,
    /// The names in the order of the pattern.
    pub names: Vec<String>,
    /// The globs before, between and after the names: one more than there are names.
    pieces: Vec<String>,
    /// Length in bytes of the source's name and of the leading directories without wildcards.
    fixed: usize,
}

/// Parses a glob, in which `*` and `?` do not match `/`.
///
/// # Errors
/// If the glob is invalid.
pub fn path_glob(glob: &str) -> Result<Glob, globset::Error> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .backslash_escape(false)
        .build()
}

/// Maximum length of a pattern in bytes. The crate `globset` panics for patterns that are too long or nested too deep.
const MAX_BYTES: usize = 4096;

/// Maximum depth of nested braces in a pattern.
const MAX_BRACES: usize = 16;

/// An error in a pattern: the message and its help.
pub type PatternFault = (String, &'static str);

const NAME_HELP: &str = "use lower-case letters, digits and `_`, as in `train/{case}/{day}/*.png`";

impl FilePattern {
    /// Parses a pattern, such as `train/{case}/*.png` or `SOURCE:train/{case}/*.png`.
    ///
    /// # Errors
    /// If the pattern is too long, or if its braces are nested too deep.
    /// If the name of a column is invalid, occurs twice, is in [`FILE_COLUMNS`], or is next to a wildcard (`{case}*`).
    pub fn parse(text: &str) -> Result<FilePattern, PatternFault> {
        let (_, inner) = split_source(text);
        if inner.len() > MAX_BYTES {
            let message = format!("it has more than {MAX_BYTES} bytes");
            return Err((message, "select the files with several patterns"));
        }
        if braces(inner) > MAX_BRACES {
            let message = format!("its braces are nested more than {MAX_BRACES} deep");
            return Err((message, "write `{a,b,c}` in place of `{a,{b,c}}`"));
        }
        let mut pattern = FilePattern {
            glob: String::new(),
            names: Vec::new(),
            pieces: Vec::new(),
            fixed: 0,
        };
        let mut piece = String::new();
        let mut rest = inner;
        while let Some(character) = rest.chars().next() {
            let end = match character {
                '[' => class_end(rest),
                '{' => group_end(rest),
                _ => None,
            };
            let (token, after) = rest.split_at(end.unwrap_or(character.len_utf8()));
            match name_in(token) {
                Some(name) => {
                    pattern.check(name, piece.chars().next_back(), after.chars().next())?;
                    pattern.names.push(name.to_owned());
                    pattern.pieces.push(std::mem::take(&mut piece));
                    pattern.glob.push('*');
                }
                None if token.starts_with('{') && has_name(token) => {
                    let message = format!("`{token}` has a name inside alternatives");
                    return Err((message, "write the name outside of `{a,b}`"));
                }
                None => {
                    piece.push_str(token);
                    pattern.glob.push_str(token);
                }
            }
            rest = after;
        }
        pattern.pieces.push(piece);
        let plain = inner.find(['*', '?', '[', '{']).unwrap_or(inner.len());
        let folder = inner.get(..plain).and_then(|path| path.rfind('/'));
        pattern.fixed = text.len() - inner.len() + folder.map_or(0, |slash| slash + 1);
        Ok(pattern)
    }

    /// Returns the part of `path`, a matching path, that follows the pattern's leading directories without wildcards.
    pub fn below<'p>(&self, path: &'p str) -> &'p str {
        path.get(self.fixed..).unwrap_or(path)
    }

    /// Returns the globs before, between and after the names.
    pub fn pieces(&self) -> &[String] {
        &self.pieces
    }

    fn check(
        &self,
        name: &str,
        before: Option<char>,
        after: Option<char>,
    ) -> Result<(), PatternFault> {
        if !is_name(name) {
            return Err((format!("`{{{name}}}` is not a name"), NAME_HELP));
        }
        if FILE_COLUMNS.contains(&name) || crate::query::is_row(name) {
            let message = format!("`{{{name}}}` has the same name as another column");
            let help = "choose a different name; tables of files have the columns `file`, `path`, `dir`, `folder`, `name`, `stem`, `ext` and `size`";
            return Err((message, help));
        }
        if self.names.iter().any(|own| own == name) {
            let help = "give each column a different name, or write `*` for a part of the path that is not a column";
            return Err((format!("`{{{name}}}` occurs twice"), help));
        }
        let follows_name = !self.names.is_empty() && before.is_none();
        if follows_name
            || before.is_some_and(|c| matches!(c, '*' | '?' | ']' | '}'))
            || after.is_some_and(|c| matches!(c, '*' | '?' | '[' | '{'))
        {
            let message = format!("it is not clear where `{{{name}}}` ends");
            let help = "write other characters between the column and the wildcard next to it, as in `{case}_*.png`";
            return Err((message, help));
        }
        Ok(())
    }
}

/// Returns the maximum depth of nested braces.
fn braces(text: &str) -> usize {
    let (mut depth, mut most) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        most = most.max(depth);
    }
    most
}

/// Returns `name` for `{name}`. `None` for other tokens and for alternatives such as `{a,b}`.
fn name_in(token: &str) -> Option<&str> {
    let inner = token.strip_prefix('{')?.strip_suffix('}')?;
    (!inner.contains([',', '{', '}', '['])).then_some(inner)
}

/// Returns whether a group of alternatives contains a `{name}`, which is a group without a comma.
fn has_name(group: &str) -> bool {
    let inner = group.get(1..group.len() - 1).unwrap_or("");
    inner.match_indices('{').any(|(at, _)| {
        let inner = inner.get(at..).unwrap_or("");
        group_end(inner).is_some_and(|end| name_in(&inner[..end]).is_some())
    })
}

/// Returns the length of the character class `[...]` at the start of a string.
fn class_end(text: &str) -> Option<usize> {
    let negated = text[1..].starts_with(['!', '^']);
    // The first character belongs to the class, even if it is `]`.
    let first = 1 + usize::from(negated);
    let width = text.get(first..)?.chars().next()?.len_utf8();
    let end = text.get(first + width..)?.find(']')?;
    Some(first + width + end + 1)
}

/// Returns the length of the group `{...}` at the start of a string.
fn group_end(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{FilePattern, MAX_BRACES, MAX_BYTES, path_glob};

    fn parsed(text: &str) -> (String, Vec<String>, Vec<String>) {
        let pattern = FilePattern::parse(text).unwrap();
        (pattern.glob, pattern.names, pattern.pieces)
    }

    #[test]
    fn names_in_a_pattern_become_wildcards() {
        let texts = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
        for (text, glob, names, pieces) in [
            ("a/*.png", "a/*.png", &[][..], &["a/*.png"][..]),
            (
                "train/{case}/{day}/**",
                "train/*/*/**",
                &["case", "day"],
                &["train/", "/", "/**"],
            ),
            (
                "x/{play}_{All29,Endzone}.mp4",
                "x/*_{All29,Endzone}.mp4",
                &["play"],
                &["x/", "_{All29,Endzone}.mp4"],
            ),
            ("{a}", "*", &["a"], &["", ""]),
            (
                "[{x}]/{b,{c,d}}",
                "[{x}]/{b,{c,d}}",
                &[],
                &["[{x}]/{b,{c,d}}"],
            ),
            ("labels:{a}.csv", "*.csv", &["a"], &["", ".csv"]),
        ] {
            assert_eq!(
                parsed(text),
                (glob.to_owned(), texts(names), texts(pieces)),
                "{text}"
            );
        }
    }

    #[test]
    fn below_removes_the_leading_directories_without_wildcards() {
        for (pattern, path, below) in [
            ("train/*.png", "train/1.png", "1.png"),
            ("train/{case}/*.png", "train/a/1.png", "a/1.png"),
            ("a.zip/x/**", "a.zip/x/y/z", "y/z"),
            ("train/3/ir.png", "train/3/ir.png", "ir.png"),
            ("*.csv", "a.csv", "a.csv"),
            ("labels:x/**", "labels:x/y/z", "y/z"),
            ("labels:*.csv", "labels:a.csv", "a.csv"),
        ] {
            assert_eq!(
                FilePattern::parse(pattern).unwrap().below(path),
                below,
                "{pattern}"
            );
        }
    }

    /// `globset` panics if the regular expression of a pattern is too large.
    #[test]
    fn every_pattern_within_the_limits_compiles() {
        let nested = |levels: usize| format!("{}a{}", "{a,".repeat(levels), "}".repeat(levels));
        for part in [
            "?",
            "*",
            "**/",
            "[!a]",
            "[\u{e9}-\u{4e00}]",
            "{a,b}",
            "{?,*}",
            "\u{e9}",
            "a",
        ] {
            let text = part.repeat(MAX_BYTES / part.len());
            let pattern = FilePattern::parse(&text).unwrap();
            for glob in pattern.pieces().iter().chain([&pattern.glob]) {
                path_glob(glob).unwrap().compile_matcher();
            }
        }
        path_glob(&FilePattern::parse(&nested(MAX_BRACES)).unwrap().glob)
            .unwrap()
            .compile_matcher();
        for text in [
            nested(MAX_BRACES + 1),
            nested(1000),
            "{".repeat(1000),
            "?".repeat(MAX_BYTES + 1),
        ] {
            assert!(FilePattern::parse(&text).is_err());
        }
    }

    #[test]
    fn invalid_and_ambiguous_names_are_rejected() {
        for (text, message) in [
            ("{Case}/x", "`{Case}` is not a name"),
            ("{}/x", "`{}` is not a name"),
            ("{name}.png", "`{name}` has the same name as another column"),
            ("{_row}.png", "`{_row}` has the same name as another column"),
            ("{a}/{a}", "`{a}` occurs twice"),
            ("{a}{b}", "it is not clear where `{a}` ends"),
            ("*{a}", "it is not clear where `{a}` ends"),
            ("{a}?x", "it is not clear where `{a}` ends"),
            ("x/{b,{c}}", "`{b,{c}}` has a name inside alternatives"),
        ] {
            assert_eq!(FilePattern::parse(text).unwrap_err().0, message, "{text}");
        }
    }
}
