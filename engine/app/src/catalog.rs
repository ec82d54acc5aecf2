//! The catalog of competitions: the built-in ones, those in the user's directory of pipelines, and those of packs.
//!
//! Also contains MLE-bench's metadata of its competitions.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prep_core::{Failure, Quoted, Remedy};
use prep_fetch::bundle_stem;
use prep_spec::{
    BASE_VARIANT, BUILT_IN_PACK, CompetitionFacts, CompetitionId, Corrections, Pack, Pipeline,
    alternatives, joined,
};
use prep_steps::PublishedChecksums;
use serde_json::{Value, json};

use crate::error::Error;
use crate::packs::{InstalledPack, PACK_FILE, PackFiles, installed_packs};
use crate::settings::Settings;

/// A competition's files that are embedded in the binary.
pub struct Embedded {
    id: &'static str,
    pipeline: Option<&'static str>,
    description: Option<&'static str>,
    leaderboard: Option<&'static str>,
    checksums: Option<&'static str>,
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// Sizes of the bundles in gigabytes, as upstream's authors list them.
const SIZES: &str = include_str!("../data/sizes.csv");

/// One competition's files. A file may be missing, for example the pipeline.
#[derive(Debug, Clone)]
pub struct CatalogEntry {
    pub id: String,
    /// The path of `pipeline.yaml` that messages show.
    pub file_name: String,
    /// The directory of the pipeline's file. `None` if the pipeline is built in, or if the caller passed its text.
    pub directory: Option<PathBuf>,
    /// The pack that contains the competition. `None` for a built-in competition, and for one in the user's directory of
    /// pipelines.
    pub pack: Option<Arc<Pack>>,
    pub pipeline: Option<Cow<'static, str>>,
    /// The error from reading the files of a directory. If it is set, the content of every file is `None`.
    pub unreadable: Option<Error>,
    pub description: Option<Cow<'static, str>>,
    pub leaderboard: Option<Cow<'static, str>>,
    pub checksums: Option<Cow<'static, str>>,
}

/// All competitions by id.
#[derive(Debug, Clone)]
pub struct Catalog {
    entries: BTreeMap<String, CatalogEntry>,
    /// The packs by name. A pack that cannot be used is an error.
    packs: BTreeMap<String, Result<Arc<Pack>, Error>>,
    /// YAML files that are not read, because they do not have the path `ID/pipeline.yaml`. The key is the supposed id.
    misplaced: BTreeMap<String, PathBuf>,
}

/// [`Catalog::suggestion`] treats a string as a part of an id only if the string has at least this length.
const MIN_PART_LENGTH: usize = 4;

/// Maximum number of similar ids in a message.
const MAX_SIMILAR: usize = 5;

/// Longer strings are not compared with ids, because the time of a comparison grows with the length.
const MAX_ID_BYTES: usize = 200;

impl Catalog {
    /// Returns the built-in competitions, the competitions in the user's directory of pipelines, and the competitions of
    /// installed packs.
    ///
    /// # Errors
    /// Returns an error if the directory of pipelines cannot be read or contains no pipeline. Also returns an error if
    /// the id of a competition in this directory is the name of a pack.
    pub fn open(settings: &Settings) -> Result<Catalog, Error> {
        let mut catalog = Catalog::embedded();
        if let Some(directory) = &settings.pipelines {
            catalog.add_directory(directory)?;
        }
        for pack in installed_packs(settings)? {
            catalog.add_pack(pack)?;
        }
        Ok(catalog)
    }

    /// Returns the built-in competitions.
    pub fn embedded() -> Catalog {
        let own = |text: Option<&'static str>| text.map(Cow::Borrowed);
        let entries = EMBEDDED.iter().map(|embedded| CatalogEntry {
            id: embedded.id.to_owned(),
            file_name: format!("pipelines/{}/pipeline.yaml", embedded.id),
            directory: None,
            pack: None,
            pipeline: own(embedded.pipeline),
            unreadable: None,
            description: own(embedded.description),
            leaderboard: own(embedded.leaderboard),
            checksums: own(embedded.checksums),
        });
        Catalog {
            entries: entries.map(|entry| (entry.id.clone(), entry)).collect(),
            packs: BTreeMap::new(),
            misplaced: BTreeMap::new(),
        }
    }

    /// Adds the competitions of a pack. If the pack cannot be used, only stores its error, because the error must not affect
    /// competitions outside of the pack.
    fn add_pack(&mut self, installed: InstalledPack) -> Result<(), Error> {
        let name = installed.name.clone();
        if let Some(own) = self
            .iter()
            .find(|entry| entry.id.eq_ignore_ascii_case(&name))
        {
            let message = format!(
                "the competition `{}` has the name of an installed pack",
                own.id
            );
            return Err(Error::request(message).help("rename the competition, or remove the pack"));
        }
        let pack = installed.pack.and_then(|pack| {
            let label = installed.directory.display().to_string();
            let entries = PackFiles::new(&installed.directory, &label).entries(&pack)?;
            let entries = entries.into_iter().map(|entry| (entry.id.clone(), entry));
            self.entries.extend(entries);
            Ok(pack)
        });
        self.packs.insert(name, pack);
        Ok(())
    }

    /// Returns the ids of the competitions in a set. `name` is a set of the benchmark (see [`competition_set`]), a set
    /// `PACK/NAME` of a pack, or `PACK` for all competitions of a pack.
    ///
    /// # Errors
    /// Returns an error if there is no such set, or if the pack cannot be used.
    pub fn set(&self, name: &str) -> Result<Vec<String>, Error> {
        let (pack, set) = name.split_once('/').unwrap_or((name, ""));
        let Some(found) = self.packs.get(pack) else {
            let listed = match (pack, set) {
                (BUILT_IN_PACK, "") => ALL,
                (BUILT_IN_PACK, set) => set,
                _ => name,
            };
            let near = prep_spec::nearest(name, self.packs.keys().map(String::as_str));
            let ids = competition_set(listed).map_err(|error| error.suggest(near))?;
            return Ok(ids.into_iter().map(str::to_owned).collect());
        };
        let found = found.as_ref().map_err(Clone::clone)?;
        let names: Vec<&String> = match set {
            "" => found.competitions.keys().collect(),
            set => {
                let unknown = || {
                    let message = format!("the pack `{pack}` has no set `{set}`");
                    let sets = found.sets.keys().map(String::as_str);
                    Error::request(message).help(alternatives(set, "it", sets.collect::<Vec<_>>()))
                };
                found.sets.get(set).ok_or_else(unknown)?.iter().collect()
            }
        };
        Ok(names
            .into_iter()
            .map(|name| format!("{pack}/{name}"))
            .collect())
    }

    /// Returns the names of all sets, including those of packs.
    pub fn set_names(&self) -> Vec<String> {
        let packs = self.packs.values().flatten().flat_map(|pack| {
            let sets = pack.sets.keys().map(|set| format!("{}/{set}", pack.name));
            std::iter::once(pack.name.clone()).chain(sets)
        });
        set_names().map(str::to_owned).chain(packs).collect()
    }

    /// Adds a competition for each subdirectory of `dir` that contains a `pipeline.yaml`. An added competition replaces
    /// the built-in competition of the same id. The leaderboard, checksums and description of the built-in one are not
    /// used.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read or contains no pipeline.
    pub fn add_directory(&mut self, dir: &Path) -> Result<(), Error> {
        let failed =
            |error: std::io::Error| Error::reading("read the directory of pipelines", dir, &error);
        let mut found = false;
        for directory in std::fs::read_dir(dir).map_err(failed)? {
            let directory = directory.map_err(failed)?.path();
            let (Some(id), path) = (directory.file_name(), directory.join(PIPELINE_FILE)) else {
                continue;
            };
            let id = id.to_string_lossy().into_owned();
            let valid = id.parse::<CompetitionId>();
            let entry = match (std::fs::read_to_string(&path), valid) {
                (Err(error), _) if is_missing(&error) => {
                    self.misplaced.extend(misplaced_pipeline(&directory));
                    continue;
                }
                (Ok(_), Err(reason)) => Err(Error::request(format!(
                    "{} is not the id of a competition: {reason}",
                    Quoted(&id)
                ))
                .help("rename the directory")),
                (Err(error), _) => Err(Error::reading_pipeline(&path, &error)),
                (Ok(text), Ok(_)) => CatalogEntry::entry_of_directory(
                    id.clone(),
                    &path,
                    &directory,
                    Cow::Owned(text),
                ),
            };
            found = true;
            // Files that cannot be read are an error only when the competition is used.
            let entry = entry.unwrap_or_else(|error| CatalogEntry {
                directory: Some(directory.clone()),
                pipeline: None,
                unreadable: Some(error),
                ..CatalogEntry::of_text(&id, &path.display().to_string(), String::new())
            });
            self.entries.insert(id, entry);
        }
        if found {
            return Ok(());
        }
        let is_competition = dir.join(PIPELINE_FILE).is_file();
        let parent = dir.parent().filter(|_| is_competition);
        let parent = parent.map(|parent| parent.display().to_string());
        let error = Error::request(format!("{} contains no pipeline", dir.display()));
        if let (None, Some((id, path))) = (&parent, self.misplaced.first_key_value()) {
            return Err(error.help(rename_pipeline(id, path)));
        }
        Err(error.help(Remedy::NamePipelines { parent }))
    }

    /// Returns all competitions, sorted by id.
    pub fn iter(&self) -> impl Iterator<Item = &CatalogEntry> {
        self.entries.values()
    }

    /// Returns the ids of the competitions that exist only in the user's directory of pipelines.
    pub fn own_ids(&self) -> Vec<String> {
        let is_own = |entry: &&CatalogEntry| entry.pack.is_none() && entry.own_files().is_none();
        let own = self.iter().filter(is_own);
        own.map(|entry| entry.id.clone()).collect()
    }

    /// Returns the competition with this id, if it exists.
    pub fn find(&self, id: &str) -> Option<&CatalogEntry> {
        self.entries.get(id)
    }

    /// Returns the competition with this id.
    ///
    /// # Errors
    /// Returns an error if there is no competition with this id. The error suggests a similar one.
    pub fn get(&self, id: &str) -> Result<&CatalogEntry, Error> {
        if let Some((pack, name)) = id.split_once('/')
            && let Some(found) = self.packs.get(pack)
        {
            found.as_ref().map_err(Clone::clone)?;
            let missing = || {
                let message = format!("the pack `{pack}` has no competition `{name}`");
                let ids = self.entries.keys().map(String::as_str);
                let of_pack = ids.filter(|id| id.split('/').next() == Some(pack));
                Error::request(message).help(alternatives(id, "it", of_pack))
            };
            return self.entries.get(id).ok_or_else(missing);
        }
        self.entries.get(id).ok_or_else(|| {
            if let Some(pack) = self.unknown_pack(id) {
                let error = Error::request(format!("there is no pack `{pack}`"));
                let packs = self.packs.keys().map(String::as_str);
                return match prep_spec::nearest(pack, packs) {
                    Some(near) => error.suggest(Some(&id.replacen(pack, near, 1))),
                    None => error.help(Remedy::AddPack),
                };
            }
            let error = Error::request(format!("there is no competition `{id}`"));
            if let Some(remedy) = self.name_bundle(Path::new(id)) {
                return error.help(remedy);
            }
            if let Some(path) = self.misplaced.get(id) {
                return error.help(rename_pipeline(id, path));
            }
            if id.starts_with("public/") || id.starts_with("private/") {
                return error.help("put the id of the competition before the path of the file");
            }
            // If the user passed the address of a competition on Kaggle, one part of the address is the id.
            if let Some(part) = id.split('/').find(|part| self.entries.contains_key(*part)) {
                return error.suggest(Some(part));
            }
            if self.set_names().iter().any(|set| set == id) {
                return error.help(Remedy::NameSet {
                    name: id.to_owned(),
                });
            }
            match (self.suggestion(id), self.similar(id).as_slice()) {
                (Some(near), _) => error.suggest(Some(near)),
                (None, []) => error.help(Remedy::ListCompetitions),
                (None, similar) => {
                    let ids = joined(similar.iter().copied(), MAX_SIMILAR);
                    error.help(format!("did you mean one of {ids}?"))
                }
            }
        })
    }

    /// Returns the pack in `id`, if `id` has the form `PACK/ID` and is neither a path nor a part of a Kaggle address.
    fn unknown_pack<'i>(&self, id: &'i str) -> Option<&'i str> {
        const NOT_PACKS: [&str; 4] = ["c", "competitions", "public", "private"];
        let (pack, name) = id.split_once('/')?;
        let is_id = !name.contains(['/', '.']) && prep_spec::check_pack_name(pack).is_ok();
        let is_path = Path::new(id).exists() && !Path::new(pack).join(PACK_FILE).exists();
        let is_other = NOT_PACKS.contains(&pack) || self.entries.contains_key(pack) || is_path;
        (is_id && !name.is_empty() && !is_other).then_some(pack)
    }

    /// Returns the remedy if `path`, which the user passed in place of an id, is the path of a competition's bundle.
    fn name_bundle(&self, path: &Path) -> Option<Remedy> {
        let id = path.file_stem()?.to_str()?;
        let is_bundle = path.extension()? == "zip" && self.entries.contains_key(id);
        let name_id = Remedy::Words(format!("name the competition, `{id}`"));
        is_bundle.then(|| Remedy::InOrder(vec![name_id, Remedy::NameSource]))
    }

    /// Checks that each correction that `variant` names exists in at least one competition. `words` are the words of the
    /// command line. If they name a single competition, the error lists only its corrections.
    ///
    /// # Errors
    /// Returns an error if `variant` is malformed, or if it names a correction that no competition has. In the second case,
    /// the error lists the known corrections.
    pub fn require_variant(&self, variant: &str, words: &[&str]) -> Result<(), Error> {
        let corrections = Corrections::parse(variant).map_err(Error::request)?;
        let Corrections::Some(named) = corrections else {
            return Ok(());
        };
        // A pipeline with a syntax error adds no corrections here. Loading its competition reports the error.
        let corrections = |entry: &CatalogEntry| {
            let text = entry.pipeline.as_deref()?;
            prep_spec::corrections(text).ok()
        };
        let known: BTreeSet<String> = self.iter().filter_map(corrections).flatten().collect();
        let Some(unknown) = named.iter().find(|name| !known.contains(*name)) else {
            return Ok(());
        };
        let message = format!("no competition has the correction `{unknown}`");
        let mut named = words.iter().filter_map(|word| self.find(word));
        let (owner, known) = match (named.next(), named.next()) {
            (Some(entry), None) => {
                let own = corrections(entry).unwrap_or_default();
                (entry.id.as_str(), own.into_iter().collect())
            }
            _ => ("the benchmark", known),
        };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let known = match known.is_empty() {
            true => format!("{owner} has no corrections; write `v1` or `fixed`"),
            false => format!("the corrections of {owner} are {}", known.join(", ")),
        };
        Err(Error::request(message).help(known))
    }

    /// Returns the id to suggest in place of an unknown `id`. Recognizes a misspelled id. Also recognizes a part of an
    /// id, if no other id contains this part.
    pub fn suggestion(&self, id: &str) -> Option<&str> {
        if id.len() > MAX_ID_BYTES {
            return None;
        }
        let only = || match self.similar(id).as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        prep_spec::nearest(id, self.entries.keys().map(String::as_str)).or_else(only)
    }

    /// Returns the ids that contain the string `id`, ignoring case. Returns no ids if the string is too short or too long.
    fn similar(&self, id: &str) -> Vec<&str> {
        let part = id.to_lowercase();
        let ids = self.entries.keys().map(String::as_str);
        let is_long = (MIN_PART_LENGTH..=MAX_ID_BYTES).contains(&part.len());
        let found = ids.filter(|id| is_long && id.to_lowercase().contains(&part));
        found.collect()
    }
}

impl CatalogEntry {
    /// Creates the entry of a user's competition from the pipeline's text and the other files in its directory.
    ///
    /// # Errors
    /// Returns an error if a file of the directory exists but cannot be read.
    pub(crate) fn entry_of_directory(
        id: String,
        file: &Path,
        directory: &Path,
        pipeline: Cow<'static, str>,
    ) -> Result<CatalogEntry, Error> {
        Ok(CatalogEntry {
            id,
            file_name: file.display().to_string(),
            directory: Some(directory.to_owned()),
            pack: None,
            pipeline: Some(pipeline),
            unreadable: None,
            description: read(&directory.join("description.md"))?,
            leaderboard: read(&directory.join("leaderboard.csv"))?,
            checksums: read(&directory.join("checksums.json"))?,
        })
    }

    /// Creates the entry of a pipeline that has no other files.
    pub(crate) fn of_text(id: &str, file_name: &str, text: String) -> CatalogEntry {
        CatalogEntry {
            id: id.to_owned(),
            file_name: file_name.to_owned(),
            directory: None,
            pack: None,
            pipeline: Some(text.into()),
            unreadable: None,
            description: None,
            leaderboard: None,
            checksums: None,
        }
    }

    /// Returns the text of the pipeline.
    ///
    /// # Errors
    /// Returns an error if the competition has no pipeline, or if one of its files cannot be read.
    pub fn pipeline(&self) -> Result<&str, Error> {
        if let Some(error) = &self.unreadable {
            return Err(error.clone());
        }
        self.pipeline.as_deref().ok_or_else(|| {
            Error::new(
                Failure::Pipeline,
                format!("competition `{}` has no pipeline yet", self.id),
            )
            .help(Remedy::NamePipelines { parent: None })
        })
    }

    /// Returns whether all files are those of a built-in competition.
    pub fn is_built_in(&self) -> bool {
        self.own_files().is_some_and(|own| own.is_empty())
    }

    /// Returns the names of the files that differ from those of the built-in competition with the same id. Returns
    /// `None` if there is no such built-in competition.
    pub fn own_files(&self) -> Option<Vec<&'static str>> {
        let built_in = EMBEDDED.iter().find(|embedded| embedded.id == self.id)?;
        let files = [
            (PIPELINE_FILE, &self.pipeline, built_in.pipeline),
            ("description.md", &self.description, built_in.description),
            ("leaderboard.csv", &self.leaderboard, built_in.leaderboard),
            ("checksums.json", &self.checksums, built_in.checksums),
        ];
        let own = files
            .into_iter()
            .filter(|(_, own, built_in)| own.as_deref() != *built_in);
        Some(own.map(|(name, ..)| name).collect())
    }

    /// Parses and checks the pipeline, but does not plan its queries.
    ///
    /// # Errors
    /// Returns an error if the competition has no pipeline, or if the pipeline has mistakes.
    pub fn load(&self, variant: &str) -> Result<Pipeline, Error> {
        let (text, vocabulary) = (self.pipeline()?, prep_steps::vocabulary());
        let pipeline = prep_spec::load(vocabulary, &self.id, &self.file_name, text, variant)?;
        Ok(pipeline)
    }

    /// Returns the published checksums. Returns `None` if there are no checksums of outputs.
    ///
    /// # Errors
    /// Returns an error if `checksums.json` has mistakes.
    pub fn published_checksums(&self) -> Result<Option<PublishedChecksums>, Error> {
        let Some(text) = &self.checksums else {
            return Ok(None);
        };
        let sums = PublishedChecksums::parse(text).map_err(|error| {
            let message = format!("checksums.json of `{}`: {error}", self.id);
            Error::new(Failure::Pipeline, message).help(
                "write `{ \"public\": { PATH: MD5 }, \"private\": { PATH: MD5 } }`, with paths below these directories",
            )
        })?;
        Ok(Some(sums).filter(|sums| sums.outputs().next().is_some()))
    }

    /// Checks that each published checksum belongs to an output of the pipeline.
    ///
    /// # Errors
    /// Returns an error if a checksum belongs to no output, or if `checksums.json` has mistakes.
    pub(crate) fn check_checksums(&self, pipeline: &Pipeline) -> Result<(), Error> {
        let sums = self.published_checksums()?;
        match sums.and_then(|sums| sums.without_output(pipeline)) {
            Some(path) => Err(Error::new(
                Failure::Pipeline,
                format!(
                    "checksums.json of `{}`: no output creates `{path}`",
                    self.id
                ),
            )),
            None => Ok(()),
        }
    }

    /// Returns the names of the sets that contain the competition, as [`competition_set`] accepts them. Sets of a pack have
    /// the form `PACK/NAME`.
    pub fn sets(&self) -> Vec<String> {
        match &self.pack {
            Some(pack) => {
                let sets = pack.sets_of(bundle_stem(&self.id));
                sets.map(|set| format!("{}/{set}", pack.name)).collect()
            }
            None => {
                let lists = prep_splits::sets_of(&self.id);
                let named = lists.map(|list| if list == ALL { SCORED } else { list });
                let mut sets: Vec<String> = named.map(str::to_owned).collect();
                if !sets.is_empty() {
                    sets.push(ALL.to_owned());
                }
                sets
            }
        }
    }

    /// Returns the dates of the competition on Kaggle, if its pack states them.
    pub fn dates(&self) -> CompetitionFacts {
        let pack = self.pack.as_ref();
        let facts = pack.and_then(|pack| pack.competitions.get(bundle_stem(&self.id)));
        facts.cloned().unwrap_or_default()
    }

    /// Returns Kaggle's name of the competition: the name in the pipeline, otherwise the id.
    pub fn kaggle(&self) -> String {
        let pipeline = self.load(prep_spec::BASE_VARIANT).ok();
        let bundle = pipeline.and_then(|pipeline| pipeline.bundle);
        bundle.map_or_else(|| bundle_stem(&self.id).to_owned(), |bundle| bundle.kaggle)
    }

    /// Returns the bundle's size in bytes, if upstream publishes it.
    pub fn size(&self) -> Option<u64> {
        SIZES.lines().find_map(|line| {
            let gigabytes: f64 = line
                .strip_prefix(&self.id)?
                .strip_prefix(',')?
                .parse()
                .ok()?;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
            // Sizes are constants, positive and small.
            Some((gigabytes * 1e9).round() as u64)
        })
    }
}

/// Reads a text file. Returns `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Cow<'static, str>>, Error> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(Some(Cow::Owned(text))),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(Error::reading("read", path, &error)),
    }
}

pub(crate) fn is_missing(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// A small bundle for the demo, with made-up data in the layout of a real competition's bundle, and submissions to grade.
pub struct SampleBundle {
    pub id: &'static str,
    pub bundle: &'static [u8],
    /// Names and contents of the submissions.
    pub submissions: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/samples.rs"));

/// The set `scored` is the benchmark's list `all`. The set `all` also contains the competitions of the list `dev`.
const SCORED: &str = "scored";
const ALL: &str = "all";

/// Name of the file with the pipeline, in the directory of a competition.
pub(crate) const PIPELINE_FILE: &str = "pipeline.yaml";

/// The names of the files of a competition that `prep` reads.
pub(crate) const COMPETITION_FILES: [&str; 4] = [
    PIPELINE_FILE,
    "description.md",
    "leaderboard.csv",
    "checksums.json",
];

/// Name of the set of the competitions that exist only in the user's directory of pipelines. See [`Catalog::own_ids`].
pub const OWN_SET: &str = "own";

/// Returns the supposed id and the path of a pipeline with a wrong name: `ID.yaml`, `ID.yml` or `ID/pipeline.yml`.
pub(crate) fn misplaced_pipeline(path: &Path) -> Option<(String, PathBuf)> {
    let is_yaml = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some("yaml" | "yml")) && path.is_file()
    };
    let inside = path.join("pipeline.yml");
    let (id, file) = match is_yaml(path) {
        true => (path.file_stem()?, path.to_owned()),
        false => (path.file_name()?, inside),
    };
    is_yaml(&file).then(|| (id.to_string_lossy().into_owned(), file))
}

/// Returns the help for a pipeline with a wrong name.
pub(crate) fn rename_pipeline(id: &str, path: &Path) -> String {
    let new = format!("{id}/{PIPELINE_FILE}");
    format!(
        "the file {} is not read; rename it to `{new}`",
        path.display()
    )
}

/// Returns the names of the sets.
pub fn set_names() -> impl Iterator<Item = &'static str> {
    prep_splits::set_names().chain([SCORED, OWN_SET])
}

/// Returns the ids of a set. `all` contains all competitions, unlike the benchmark's list `all`, which contains only
/// the scored competitions.
///
/// # Errors
/// Returns an error if there is no such set. The error suggests a similar name, or lists all names.
pub fn competition_set(name: &str) -> Result<Vec<&'static str>, Error> {
    let lists: &[&str] = match name {
        SCORED => &["all"],
        ALL => &["all", "dev"],
        other => &[other],
    };
    let found = lists.iter().filter_map(|list| prep_splits::set(list));
    let found: Vec<&str> = found.flatten().copied().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names: Vec<&str> = set_names().collect();
    let near = prep_spec::nearest(name, names.iter().copied());
    let error = Error::request(format!("there is no set `{name}`"));
    let error = error.help(format!("the sets are {}", names.join(", ")));
    Err(error.suggest(near))
}

/// Upstream's metadata of its 82 competitions, sorted by id.
const TABLE: &str = include_str!("../data/benchmark.csv");

/// Upstream's files that list competitions. Each line of this table contains the name of one such file, and the set or
/// the single competition that the file lists.
const LISTS: &str = include_str!("../data/lists.csv");

/// Upstream's metadata of one competition. Paths are relative to `prepared`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompetitionDefinition {
    pub id: &'static str,
    pub name: &'static str,
    /// `code` for competitions whose submissions were notebooks, otherwise `simple`.
    pub kind: &'static str,
    /// Upstream's name of the metric.
    pub metric: &'static str,
    pub answers: &'static str,
    pub sample_submission: &'static str,
    /// A submission with the best score.
    pub gold_submission: &'static str,
}

/// Returns the definitions of all competitions of the benchmark, sorted by id.
pub fn definitions() -> impl Iterator<Item = CompetitionDefinition> {
    TABLE.lines().skip(1).filter_map(|line| {
        let mut cells = line.split(',');
        let mut cell = || cells.next();
        Some(CompetitionDefinition {
            id: cell()?,
            name: cell()?,
            kind: cell()?,
            metric: cell()?,
            answers: cell()?,
            sample_submission: cell()?,
            gold_submission: cell()?,
        })
    })
}

/// Returns the definition of the competition with this id.
pub fn definition(id: &str) -> Option<CompetitionDefinition> {
    definitions().find(|definition| definition.id == id)
}

/// Returns the metadata, the description, the leaderboard and the checksums of a competition for programs that were written
/// for upstream.
///
/// For a competition of the benchmark, returns upstream's metadata. For any other competition, reads the metadata from its
/// pipeline, and returns `None` if the pipeline cannot be loaded or has no section `grade`.
pub fn upstream_facts(entry: &CatalogEntry) -> Option<Value> {
    let (name, facts) = match definition(&entry.id) {
        Some(definition) => {
            let facts = json!({
                "name": definition.name,
                "competition_type": definition.kind,
                "metric": definition.metric,
                "answers": definition.answers,
                "sample_submission": definition.sample_submission,
                "gold_submission": definition.gold_submission,
                "benchmark": true,
            });
            (definition.name.to_owned(), facts)
        }
        None => pipeline_metadata(&entry.load(BASE_VARIANT).ok()?)?,
    };
    let description = match entry.description.as_deref() {
        Some(text) if !text.trim().is_empty() => text.to_owned(),
        _ => format!("# {name}\n"),
    };
    let checksums = entry.checksums.as_deref();
    let checksums = checksums.and_then(|text| serde_json::from_str(text).ok());
    let files = json!({
        "description": description,
        "leaderboard": entry.leaderboard.as_deref().unwrap_or("score\n"),
        "checksums": checksums.unwrap_or_else(|| json!({})),
    });
    let mut all = facts;
    if let (Some(all), Value::Object(files)) = (all.as_object_mut(), files) {
        all.extend(files);
    }
    Some(all)
}

/// Returns the name of a competition and its metadata, in upstream's form, from its pipeline.
fn pipeline_metadata(pipeline: &Pipeline) -> Option<(String, Value)> {
    let grade = &pipeline.grade.as_ref()?.value;
    let answers = &grade.answers.value;
    let mut outputs = pipeline.public.iter().map(|output| &output.path.value);
    let is_sample =
        |path: &&String| path.to_lowercase().contains("sample") && path.ends_with(".csv");
    let sample = outputs.find(is_sample);
    let sample = sample.map_or("sample_submission.csv", String::as_str);
    let metric = grade.rules.get("metric").and_then(Value::as_str);
    let facts = json!({
        "name": pipeline.name,
        "competition_type": "simple",
        "metric": metric.unwrap_or("score"),
        "answers": answers,
        "sample_submission": format!("public/{sample}"),
        "gold_submission": answers,
        "benchmark": false,
    });
    Some((pipeline.name.clone(), facts))
}

/// Returns upstream's lists of competitions: the name of each file, and its ids in the order of the file.
pub fn lists() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    LISTS.lines().skip(1).filter_map(|line| {
        let (name, listed) = line.split_once(',')?;
        let mut ids = match prep_splits::set(listed) {
            Some(set) => set.to_vec(),
            None => vec![listed],
        };
        // Upstream sorts the list of all competitions by id. Its other lists have a manual order.
        if listed == "all" {
            ids.sort_unstable();
        }
        Some((name, ids))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_competitions_are_built_in_with_leaderboard_and_size() {
        let catalog = Catalog::embedded();
        let ids: Vec<&str> = ["all", "dev"]
            .iter()
            .filter_map(|set| prep_splits::set(set))
            .flatten()
            .copied()
            .collect();
        assert_eq!(ids.len(), 82);
        for id in ids {
            let entry = catalog.get(id).unwrap();
            assert!(entry.leaderboard.is_some(), "{id}");
            assert_eq!(
                entry.size().is_none(),
                prep_splits::sets_of(id).any(|set| set == "dev"),
                "{id}"
            );
        }
    }

    #[test]
    fn misspelled_and_partial_ids_get_a_suggestion() {
        let error = Catalog::embedded()
            .get("spooky-author-identificaton")
            .unwrap_err();
        assert_eq!(error.failure, prep_core::Failure::Usage);
        assert_eq!(
            error.help,
            Some("did you mean `spooky-author-identification`?".into())
        );
        let catalog = Catalog::embedded();
        assert_eq!(catalog.suggestion("Titanic"), Some("spaceship-titanic"));
        assert_eq!(catalog.suggestion("herbarium"), None, "three ids match");
        assert_eq!(
            catalog.suggestion("dog"),
            None,
            "too short for a suggestion"
        );
    }

    #[test]
    fn a_directory_adds_competitions_and_replaces_built_in_ones() {
        let dir = tempfile::tempdir().unwrap();
        let mut catalog = Catalog::embedded();
        assert!(catalog.clone().add_directory(dir.path()).is_err());
        for id in ["new", "AI4Code"] {
            std::fs::create_dir(dir.path().join(id)).unwrap();
            std::fs::write(dir.path().join(id).join("pipeline.yaml"), "name: X").unwrap();
        }
        std::fs::write(dir.path().join("README"), "").unwrap();
        catalog.add_directory(dir.path()).unwrap();
        assert_eq!(catalog.get("new").unwrap().leaderboard, None);
        let replaced = catalog.get("AI4Code").unwrap();
        assert_eq!(replaced.pipeline.as_deref(), Some("name: X"));
        let others = [
            &replaced.leaderboard,
            &replaced.checksums,
            &replaced.description,
        ];
        assert_eq!(others, [&None; 3]);
        let inside = catalog.add_directory(&dir.path().join("new")).unwrap_err();
        let parent = Some(dir.path().display().to_string());
        assert_eq!(inside.help, Some(Remedy::NamePipelines { parent }));
    }
}

#[cfg(test)]
mod benchmark_tests {
    use super::*;
    use crate::catalog::Catalog;

    #[test]
    fn lists_contain_known_competitions() {
        let names: Vec<&str> = lists().map(|(name, _)| name).collect();
        assert_eq!(names.len(), 7);
        for (name, ids) in lists() {
            assert!(!ids.is_empty(), "{name}");
            for id in ids {
                assert!(definition(id).is_some(), "{name}: {id}");
            }
        }
    }

    #[test]
    fn definitions_have_the_answer_paths_of_the_pipelines() {
        let catalog = Catalog::embedded();
        assert_eq!(definitions().count(), 82);
        assert!(definitions().is_sorted_by_key(|definition| definition.id));
        for definition in definitions() {
            let entry = catalog.get(definition.id).unwrap();
            assert!(entry.description.is_some() && entry.checksums.is_some());
            let Ok(pipeline) = entry.load(prep_spec::BASE_VARIANT) else {
                continue;
            };
            let grade = pipeline.grade.unwrap();
            assert_eq!(
                grade.value.answers.value, definition.answers,
                "{}",
                definition.id
            );
        }
    }
}
