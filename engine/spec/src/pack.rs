//! The file `pack.yaml` of a pack, and the ids of competitions.
//!
//! A pack is a directory with a `pack.yaml` and one directory for each competition. If these directories are named `PACK` and
//! `ID`, the id of the competition is `PACK/ID`. The id is also the competition's path below the data directory. Therefore
//! the names of packs and competitions must be safe as directory names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::Serialize;

use crate::parse::{Fields, ParseState};
use crate::text::diagnostic::{Diagnostic, Diagnostics, SourceFile};
use crate::text::yaml::{self, MappingEntry, YamlNode};
use crate::variant::variant_of_directory;
use crate::words::{KeyType, Section, SectionKey, Vocabulary};

/// The pack of the built-in competitions, whose ids have no prefix.
pub const BUILT_IN_PACK: &str = "mle-bench";

/// Maximum length of a name in characters.
const MAX_NAME: usize = 100;

/// Names that Windows reserves for devices, with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// The id of a competition: a name, or `PACK/NAME` if the competition belongs to a pack that is not built in.
///
/// ```
/// use prep_spec::CompetitionId;
/// let id: CompetitionId = "mle-dojo/DontGetKicked".parse().unwrap();
/// assert_eq!(id.to_string(), "mle-dojo/DontGetKicked");
/// assert!("mle-dojo/../x".parse::<CompetitionId>().is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompetitionId(String);

impl fmt::Display for CompetitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CompetitionId {
    type Err = String;

    fn from_str(text: &str) -> Result<CompetitionId, String> {
        let name = match text.split_once('/') {
            Some((pack, name)) => {
                check_pack_name(pack)?;
                name
            }
            None if is_reserved(text) => {
                return Err("prep uses it for a file or a variant in the data directory".to_owned());
            }
            None => text,
        };
        check_name(name)?;
        Ok(CompetitionId(text.to_owned()))
    }
}

/// Returns whether the data directory of a competition with this id would be that of a variant, or a file of `prep`.
fn is_reserved(id: &str) -> bool {
    matches!(id, "prep.lock" | "prep.toml") || variant_of_directory(id).is_some()
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let stem = name.split('.').next().unwrap_or_default();
    let stem = stem.to_ascii_lowercase();
    let numbered = stem.strip_prefix("com").or(stem.strip_prefix("lpt"));
    let is_port = numbered.is_some_and(|rest| matches!(rest.as_bytes(), [b'0'..=b'9']));
    match () {
        () if name.is_empty() => Err("it is empty".to_owned()),
        () if name.len() > MAX_NAME => Err(format!("it has more than {MAX_NAME} characters")),
        () if !name.chars().all(fits) => {
            Err("it may contain only letters, digits, `-`, `_` and `.`".to_owned())
        }
        () if name.starts_with(['.', '-']) || name.ends_with('.') => {
            Err("it must begin with a letter, a digit or `_`, and not end with `.`".to_owned())
        }
        () if is_port || DEVICES.contains(&&*stem) => {
            Err("Windows reserves it for a device".to_owned())
        }
        () => Ok(()),
    }
}

/// Checks the name of a pack. Upper case is an error, because some file systems ignore case.
///
/// # Errors
/// The reason why a pack cannot have this name.
pub fn check_pack_name(name: &str) -> Result<(), String> {
    check_name(name)?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let sets = prep_splits::set_names().chain(["scored", "own"]);
    match () {
        () if !name.chars().all(fits) => {
            Err("it may contain only lower-case letters, digits and `-`".to_owned())
        }
        () if name == BUILT_IN_PACK => {
            Err("it is the name of the pack of the built-in competitions".to_owned())
        }
        () if variant_of_directory(name).is_some() => {
            Err("it is reserved for the data directory of a variant".to_owned())
        }
        () if sets.into_iter().any(|set| set == name) => {
            Err("it is the name of a set of competitions".to_owned())
        }
        () => Ok(()),
    }
}

/// A day, written `YYYY-MM-DD`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Day(String);

impl FromStr for Day {
    type Err = String;

    fn from_str(text: &str) -> Result<Day, String> {
        let parts: Vec<u32> = text.split('-').flat_map(str::parse).collect();
        let is_day = match parts[..] {
            [year, month, day] => {
                let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                let last = match month {
                    2 => 28 + u32::from(is_leap),
                    4 | 6 | 9 | 11 => 30,
                    1..=12 => 31,
                    _ => 0,
                };
                (1..=last).contains(&day) && text == format!("{year:04}-{month:02}-{day:02}")
            }
            _ => false,
        };
        match is_day {
            true => Ok(Day(text.to_owned())),
            false => Err("it is not a day such as 2026-01-31".to_owned()),
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The directory layout of exported files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PackLayout {
    /// `ID/prepared/{public,private}`, as in MLE-bench.
    #[default]
    MleBench,
    /// `ID/data/{public,private}`, as in MLE-Dojo.
    Dojo,
}

impl FromStr for PackLayout {
    type Err = String;

    fn from_str(text: &str) -> Result<PackLayout, String> {
        match text {
            "mle-bench" => Ok(PackLayout::MleBench),
            "dojo" => Ok(PackLayout::Dojo),
            _ => Err("it is neither `mle-bench` nor `dojo`".to_owned()),
        }
    }
}

/// Facts about a competition on Kaggle.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CompetitionFacts {
    /// The first day of the competition.
    pub launched: Option<Day>,
    /// The last day of the competition.
    pub closed: Option<Day>,
    /// The URL of the competition's rules.
    pub rules: Option<String>,
}

/// The content of a `pack.yaml`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Pack {
    /// The name of the pack.
    pub name: String,
    /// The version of the pack's files.
    pub version: String,
    /// The URL of the repository from which the pack was derived.
    pub repository: Option<String>,
    /// The commit of the repository from which the pack was derived.
    pub commit: Option<String>,
    /// The licence of the pack's files.
    pub licence: Option<String>,
    /// The licence of the repository.
    pub upstream_licence: Option<String>,
    /// The directory layout of exported competitions.
    pub layout: PackLayout,
    /// The competitions of each set.
    pub sets: BTreeMap<String, Vec<String>>,
    /// Facts about each competition.
    pub competitions: BTreeMap<String, CompetitionFacts>,
}

impl Pack {
    /// Returns the names of the sets that contain the competition `name`.
    pub fn sets_of(&self, name: &str) -> impl Iterator<Item = &str> {
        let sets = self.sets.iter();
        let sets = sets.filter(move |(_, names)| names.iter().any(|one| one == name));
        sets.map(|(set, _)| set.as_str())
    }
}

const fn required(name: &'static str, example: &'static str) -> SectionKey {
    SectionKey::required(name, KeyType::Text, "", example)
}

const fn optional(name: &'static str, example: &'static str) -> SectionKey {
    SectionKey::optional(name, KeyType::Text, "", example)
}

// docs/packs.md describes the keys, so they have no descriptions here.
static PACK: Section = Section {
    name: "the pack",
    doc: "",
    keys: &[
        required("name", "my-pack"),
        required("version", "2026.1"),
        optional("upstream", ""),
        optional("licences", ""),
        optional("layout", ""),
        optional("sets", ""),
        required("competitions", "{ my-competition: {} }"),
    ],
};

static UPSTREAM: Section = Section {
    name: "`upstream`",
    doc: "",
    keys: &[
        required("repository", "https://github.com/a/b"),
        required("commit", "667a8fd"),
    ],
};

static LICENCES: Section = Section {
    name: "`licences`",
    doc: "",
    keys: &[optional("pack", "MIT"), optional("upstream", "MIT")],
};

static COMPETITION: Section = Section {
    name: "the competition",
    doc: "",
    keys: &[
        optional("launched", "2024-01-31"),
        optional("closed", "2024-03-31"),
        optional("rules", "https://example.org/rules"),
    ],
};

/// Parses a `pack.yaml`.
///
/// # Errors
/// All mistakes with their positions.
pub fn read_pack(file_name: &str, text: &str) -> Result<Pack, Diagnostics> {
    let source = Arc::new(SourceFile::new(file_name, text));
    let root = yaml::parse(&source);
    let root = root.map_err(|fault| Diagnostics::single(Arc::clone(&source), fault))?;
    let nothing = Vocabulary {
        tables: Vec::new(),
        outputs: Vec::new(),
    };
    let mut state = ParseState::new(&nothing, Arc::clone(&source));
    let pack = pack(&mut state, &root);
    match Diagnostics::new(source, state.diagnostics) {
        Some(found) => Err(found),
        // Without diagnostics, all required keys exist, so `pack` is not `None`.
        None => Ok(pack.unwrap_or_default()),
    }
}

/// Converts the nodes of `pack.yaml`. Returns `None` if the name or the version is missing.
fn pack(state: &mut ParseState, root: &YamlNode) -> Option<Pack> {
    let fields = state.fields(root, &PACK)?;
    let mut inner = |key, section| state.fields(fields.get(key)?, section);
    let upstream = inner("upstream", &UPSTREAM);
    let licences = inner("licences", &LICENCES);
    let (upstream, licences) = (upstream.as_ref(), licences.as_ref());
    let competitions = fields.get("competitions");
    let competitions = competitions.and_then(|node| competitions_of(state, node));
    let competitions = competitions.unwrap_or_default();
    let sets = fields.get("sets");
    let sets = sets.and_then(|node| sets_of(state, node, &competitions));
    let fields = Some(&fields);
    let layout = state.checked(fields, "layout", |text| {
        text.parse::<PackLayout>().map(drop)
    });
    Some(Pack {
        name: state.checked(fields, "name", check_pack_name)?,
        version: state.checked(fields, "version", check_version)?,
        repository: state.checked(upstream, "repository", check_url),
        commit: state.checked(upstream, "commit", check_version),
        licence: state.checked(licences, "pack", |_| Ok(())),
        upstream_licence: state.checked(licences, "upstream", |_| Ok(())),
        layout: layout
            .and_then(|text| text.parse().ok())
            .unwrap_or_default(),
        sets: sets.unwrap_or_default(),
        competitions,
    })
}

type Competitions = BTreeMap<String, CompetitionFacts>;

/// Parses the section `competitions`.
fn competitions_of(state: &mut ParseState, node: &YamlNode) -> Option<Competitions> {
    let entries = state.entries(
        node,
        "competitions by id",
        "duplicate-key",
        "the competition",
    )?;
    let mut competitions = BTreeMap::new();
    let mut by_lowercase_id: BTreeMap<String, &MappingEntry> = BTreeMap::new();
    for entry in entries {
        state.valid_name(entry, "the id of a competition");
        if let Some(first) = by_lowercase_id.insert(entry.key.to_lowercase(), entry) {
            let message = format!(
                "the ids `{}` and `{}` differ only in case",
                first.key, entry.key
            );
            let found = Diagnostic::error("duplicate-key", entry.key_span, message);
            state.report(found.label(first.key_span, "first here"));
        }
        let fields = match entry.value.is_null() {
            true => None,
            false => state.fields(&entry.value, &COMPETITION),
        };
        let mut day = |key| {
            let day = state.checked(fields.as_ref(), key, |text| text.parse::<Day>().map(drop));
            day.and_then(|text| text.parse().ok())
        };
        let facts = CompetitionFacts {
            launched: day("launched"),
            closed: day("closed"),
            rules: state.checked(fields.as_ref(), "rules", check_url),
        };
        competitions.insert(entry.key.clone(), facts);
    }
    if competitions.is_empty() {
        state.error("missing-key", node.span, "the pack has no competitions");
    }
    Some(competitions)
}

/// Parses the section `sets`.
fn sets_of(
    state: &mut ParseState,
    node: &YamlNode,
    competitions: &Competitions,
) -> Option<BTreeMap<String, Vec<String>>> {
    let mut sets = BTreeMap::new();
    for entry in state.entries(node, "lists of ids by set", "duplicate-key", "the set")? {
        state.valid_name(entry, "the name of a set");
        let nodes = state
            .list(&entry.value, "a list of ids")
            .unwrap_or_default();
        let ids = nodes.iter().filter_map(|node| {
            let id = state.text(node, "an id")?;
            if !competitions.contains_key(&id.value) {
                let message = format!("the pack has no competition `{}`", id.value);
                let found = Diagnostic::error("unknown-id", id.span, message);
                let near = state.near(&id.value, competitions.keys().map(String::as_str));
                state.report(found.suggest_or(near, "add it to `competitions`"));
            }
            Some(id.value)
        });
        let ids: BTreeSet<String> = ids.collect();
        sets.insert(entry.key.clone(), ids.into_iter().collect());
    }
    Some(sets)
}

impl ParseState {
    /// Returns the string of a key, and reports the string if `check` rejects it.
    fn checked(
        &mut self,
        fields: Option<&Fields<'_>>,
        key: &str,
        check: fn(&str) -> Result<(), String>,
    ) -> Option<String> {
        let text = self.text(fields?.get(key)?, "a string")?;
        if let Err(reason) = check(&text.value) {
            let message = format!("`{}` is not valid for `{key}`: {reason}", text.value);
            self.error("bad-value", text.span, message);
        }
        Some(text.value)
    }

    fn valid_name(&mut self, entry: &MappingEntry, what: &str) {
        if let Err(reason) = check_name(&entry.key) {
            let message = format!("`{}` cannot be {what}: {reason}", entry.key);
            self.error("bad-name", entry.key_span, message);
        }
    }
}

fn check_version(text: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_graphic();
    match text.chars().all(fits) && text.len() <= MAX_NAME {
        true => Ok(()),
        false => Err(
            "it must have at most 100 characters, all of them ASCII and none a space".to_owned(),
        ),
    }
}

fn check_url(text: &str) -> Result<(), String> {
    let is_address = text.starts_with("https://") && text.chars().all(|c| c.is_ascii_graphic());
    match is_address {
        true => Ok(()),
        false => Err("write `https://...`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_safe_names_are_ids() {
        for id in ["a", "DontGetKicked", "a_b-c.d", "3d", "mle-dojo/A", "com10"] {
            assert!(id.parse::<CompetitionId>().is_ok(), "{id}");
        }
        let long = "a".repeat(101);
        for id in [
            "",
            ".",
            "..",
            "/a",
            "a/",
            "a/b/c",
            "a/..",
            "a/.",
            "../a",
            "Pack/a",
            "a\\b",
            "a b",
            "-a",
            "ä",
            "a/\0",
            "CON",
            "nul.txt",
            "com1",
            "a.",
            "mle-bench/a",
            "fixed/a",
            "fixed-30/a",
            "lite/a",
            "own/a",
            "fixed",
            "prep.lock",
            "#a",
            "a\nb",
            &long,
        ] {
            assert!(id.parse::<CompetitionId>().is_err(), "{id}");
        }
    }

    #[test]
    fn only_existing_days_are_parsed() {
        for (text, is_day) in [
            ("2024-02-29", true),
            ("2023-02-29", false),
            ("2023-13-01", false),
            ("2023-1-01", false),
            ("2023-04-31", false),
            ("+023-04-30", false),
            ("2023-04-30 ", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<Day>().is_ok(), is_day, "{text}");
        }
    }

    #[test]
    fn a_pack_has_sets_and_dates() {
        let text = "name: p\nversion: 1\nupstream: { repository: https://a.org/b, commit: 12 }\n\
                    licences: { pack: MIT }\nlayout: dojo\nsets: { s: [a] }\n\
                    competitions:\n  a: { launched: 2020-01-01, closed: 2020-02-01 }\n  b: {}\n";
        let pack = read_pack("pack.yaml", text).unwrap();
        assert_eq!(pack.layout, PackLayout::Dojo);
        assert_eq!(pack.sets_of("a").collect::<Vec<_>>(), ["s"]);
        let closed = pack.competitions["a"].closed.clone().unwrap();
        assert!(closed > "2020-01-31".parse().unwrap());
    }

    #[test]
    fn the_time_for_suggestions_is_limited() {
        let ids: Vec<String> = (0..20_000).map(|number| format!("c{number}")).collect();
        let unknown = ids.join("x, ");
        let known = ids.join(": {}, ");
        let text = format!(
            "name: p\nversion: 1\ncompetitions: {{ {known}: {{}} }}\nsets: {{ s: [{unknown}] }}\n"
        );
        let began = std::time::Instant::now();
        assert!(read_pack("pack.yaml", &text).is_err());
        assert!(began.elapsed().as_secs() < 5, "{:?}", began.elapsed());
    }

    #[test]
    fn mistakes_have_positions_and_suggestions() {
        let rest = "version: 1\ncompetitions: { a: {} }\n";
        for (text, expected) in [
            (
                "name: p\nversio: 1\ncompetitions: { a: {} }\n".to_owned(),
                "did you mean `version`?",
            ),
            (format!("name: P\n{rest}"), "lower-case"),
            (format!("name: spaceship titanic\n{rest}"), "`-`"),
            (
                format!("name: p\n{rest}sets: {{ s: [b] }}\n"),
                "the pack has no competition `b`",
            ),
            (
                format!("name: p\n{rest}layout: doj\n"),
                "neither `mle-bench` nor `dojo`",
            ),
            (
                "name: p\nversion: 1\ncompetitions: { a: {}, A: {} }\n".to_owned(),
                "differ only in case",
            ),
            (
                "name: p\nversion: 1\ncompetitions: { a: {}, a: {} }\n".to_owned(),
                "appears twice",
            ),
            (
                "name: p\nversion: 1\ncompetitions: { ..: {} }\n".to_owned(),
                "cannot be the id",
            ),
            (
                "name: p\nversion: 1\ncompetitions: {}\n".to_owned(),
                "no competitions",
            ),
            (
                "name: p\nversion: 1\ncompetitions: { a: { closed: soon } }\n".to_owned(),
                "not a day",
            ),
            (
                "name: &a p\nversion: 1\ncompetitions: { a: {} }\n".to_owned(),
                "anchor",
            ),
            (String::new(), "lacks `name`"),
            ("[]".to_owned(), "expected"),
        ] {
            let error = read_pack("pack.yaml", &text).unwrap_err().to_string();
            assert!(
                error.starts_with("pack.yaml:") && error.contains(expected),
                "{error}"
            );
        }
    }
}
