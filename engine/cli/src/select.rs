//! Selects the competitions of a command.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Catalog, Error, OWN_SET, Unit};
use prep_core::units;
use prep_spec::{BUILT_IN_PACK, Day};

use crate::error::CliError;
use crate::session::CliSession;

/// Heading of the options of [`Selection`] in the help.
/// Each option states this heading. If the struct stated the heading, clap would also apply it to all later options.
const HEADING: &str = "Competitions";

/// Options that select competitions.
#[derive(Debug, Default, Clone, Args)]
pub struct Selection {
    /// Ids of competitions
    #[arg(value_name = "ID")]
    pub ids: Vec<String>,
    /// A competition, the same as ID
    #[arg(
        long = "competition",
        short = 'c',
        value_name = "ID",
        alias = "competition-id",
        help_heading = HEADING,
        hide_short_help = true
    )]
    pub competitions: Vec<String>,
    /// The 22 competitions of low complexity, the same as --set low
    #[arg(long, help_heading = HEADING)]
    pub lite: bool,
    /// All 82 competitions, and those of --pipelines
    #[arg(long, short = 'a', help_heading = HEADING)]
    pub all: bool,
    /// A named set: scored (75), low, lite, medium, high, dev (7), systemcard, own
    ///
    /// Separate several sets with commas, for example low,medium. The set `own` contains the competitions of --pipelines
    /// that are not built in. A pack is a directory of competitions by one author. The set PACK contains all of these
    /// competitions, and PACK/NAME is a set that the pack defines.
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = HEADING)]
    pub set: Vec<String>,
    /// Only competitions that closed on Kaggle after this day
    ///
    /// DAY has the form 2025-12-31. Without another selection, the option selects from all competitions. A competition is
    /// left out if no pack states when it closed.
    #[arg(long, value_name = "DAY", help_heading = HEADING)]
    pub closed_after: Option<Day>,
    /// A text file with one id per line
    ///
    /// Empty lines and lines that start with # are skipped.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub ids_from: Option<PathBuf>,
}

impl Selection {
    pub fn is_empty(&self) -> bool {
        !self.lite
            && !self.all
            && self.ids.is_empty()
            && self.competitions.is_empty()
            && self.set.is_empty()
            && self.closed_after.is_none()
            && self.ids_from.is_none()
    }

    /// Returns the selected ids. If the user selects nothing, returns the ids from `otherwise`.
    pub fn ids_or(
        &self,
        session: &CliSession,
        otherwise: impl FnOnce() -> Result<Vec<String>, CliError>,
    ) -> Result<Vec<String>, CliError> {
        match self.is_empty() {
            true => otherwise(),
            false => self.ids(session),
        }
    }

    /// Returns the ids without duplicates: first those of sets, then those of the file of `--ids-from`, then single ids.
    /// Does not check that these competitions exist. An empty selection is an error.
    pub fn ids(&self, session: &CliSession) -> Result<Vec<String>, CliError> {
        if self.is_empty() {
            return Err(CliError::usage("no competition is selected").help(
                "name a competition, or a set with --lite, --all, --set NAME or --ids-from FILE",
            ));
        }
        let is_by_name =
            !self.lite && !self.all && self.set.is_empty() && self.closed_after.is_none();
        let (ids, undated) = match is_by_name {
            // Does not open the catalog, because that reads the directories of pipelines and packs.
            true => (distinct(self.named_ids()?), 0),
            false => self.ids_in(&session.catalog()?)?,
        };
        if undated > 0 {
            session.printer.message(format!(
                "{} left out, because no pack states when they closed",
                units::count(undated as u64, "competition")
            ));
        }
        Ok(ids)
    }

    /// Returns the ids in the file of `--ids-from` and the single ids.
    fn named_ids(&self) -> Result<Vec<String>, CliError> {
        let list = self.ids_from.as_deref().map(read_list).transpose()?;
        let list = list.unwrap_or_default().into_iter();
        let ids = self.ids.iter().chain(&self.competitions);
        Ok(list.chain(ids.map(|id| plain(id))).collect())
    }

    /// Returns the ids, and how many competitions `--closed-after` leaves out because no pack states when they closed.
    fn ids_in(&self, catalog: &Catalog) -> Result<(Vec<String>, usize), CliError> {
        let flags = [("lite", self.lite), ("all", self.all)];
        let flags = flags.iter().filter(|(_, on)| *on).map(|(name, _)| *name);
        let own = catalog.own_ids();
        let is_named = self.set.iter().any(|name| name == OWN_SET);
        if is_named && own.is_empty() {
            return Err(CliError::usage("the set `own` is empty")
                .help("name the directory of your pipelines with --pipelines"));
        }
        let mut ids: Vec<String> = Vec::new();
        let named = self.set.iter().map(String::as_str);
        for name in flags.chain(named.filter(|name| *name != OWN_SET)) {
            let set = catalog.set(name);
            ids.extend(set.map_err(|error| suggest_file(error.into(), name))?);
        }
        if self.all || is_named {
            ids.extend(own);
        }
        ids.extend(self.named_ids()?);
        if ids.is_empty() {
            ids.extend(catalog.iter().map(|entry| entry.id.clone()));
        }
        let mut ids = distinct(ids);
        let mut undated = 0;
        if let Some(day) = &self.closed_after {
            ids.retain(
                |id| match catalog.find(id).map(|entry| entry.dates().closed) {
                    // The id is unknown. The verb reports this when it uses the id.
                    None => true,
                    Some(closed) => {
                        undated += usize::from(closed.is_none());
                        closed.is_some_and(|closed| closed > *day)
                    }
                },
            );
        }
        Ok((ids, undated))
    }
}

/// Returns the id without the prefix of the built-in pack. The ids of this pack need no prefix.
fn plain(id: &str) -> String {
    let name = id.strip_prefix(BUILT_IN_PACK);
    name.and_then(|id| id.strip_prefix('/'))
        .unwrap_or(id)
        .to_owned()
}

/// Keeps the first of equal ids.
fn distinct(mut ids: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids
}

/// Returns the error for an unknown set. If `name` has a suffix, or is an existing file with or without the suffix `.txt`, the
/// help names the option for files.
pub fn suggest_file(error: CliError, name: &str) -> CliError {
    let (path, text_file) = (Path::new(name), format!("{name}.txt"));
    let file = match path.extension().is_some() || path.is_file() {
        true => name,
        false if Path::new(&text_file).is_file() => &text_file,
        false => return error,
    };
    error.help(format!("--ids-from {file} reads ids from a file"))
}

/// Reads ids from a text file, one per line, without duplicates. Fails if there is no id.
pub fn read_list(path: &Path) -> Result<Vec<String>, CliError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Error::reading("read the list", path, &error))?;
    let mut ids = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.contains([',', ';', '"', ' ', '\t']) {
            let path = path.display();
            let error = CliError::usage(format!("{path}:{number}: `{line}` is not an id"));
            return Err(error.help("write one id per line"));
        }
        ids.push(plain(line));
    }
    if ids.is_empty() {
        return Err(CliError::usage(format!(
            "the list {} names no competition",
            path.display()
        )));
    }
    Ok(distinct(ids))
}

/// Returns the file and the line of an id in a list that [`read_list`] has read.
pub fn place_in_list(path: &Path, id: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().position(|line| plain(line.trim()) == id)?;
    Some(format!("{}:{}", path.display(), line + 1))
}

/// The part of the selection that this process handles.
#[derive(Debug, Default, Clone, Args)]
pub struct UnitArg {
    /// Only part I of N of the selection: I/N, or N in a job array
    ///
    /// Slurm, Kubernetes and AWS Batch pass I to each job. The parts are balanced by the size of the bundles.
    #[arg(long, value_name = "UNIT", help_heading = HEADING)]
    unit: Option<Unit>,
}

impl UnitArg {
    /// Returns the ids of the unit, and prints how many there are. Without `--unit`, returns all ids.
    pub fn part(
        &self,
        session: &CliSession,
        catalog: &Catalog,
        ids: Vec<String>,
    ) -> Result<Vec<String>, CliError> {
        let Some(unit) = self.unit else {
            return Ok(ids);
        };
        let number = unit_number(unit, session)?;
        let selected = prep_app::unit(catalog, &ids, number, unit.of);
        let count = units::count(selected.len() as u64, "competition");
        session.printer.message(format!(
            "unit {number} of {}: {count} of {}",
            unit.of,
            ids.len()
        ));
        Ok(selected)
    }
}

/// Variables that schedulers set in a job of a job array: the job's number, and the lowest number in the array.
/// Without a second variable, the lowest number is 0.
const ARRAY_VARIABLES: [(&str, Option<&str>); 3] = [
    ("SLURM_ARRAY_TASK_ID", Some("SLURM_ARRAY_TASK_MIN")),
    ("JOB_COMPLETION_INDEX", None),
    ("AWS_BATCH_JOB_ARRAY_INDEX", None),
];

/// Returns the number of the unit. The first unit has the number 1.
fn unit_number(unit: Unit, session: &CliSession) -> Result<usize, CliError> {
    if let Some(number) = unit.number {
        return Ok(number);
    }
    let number = |name: &str| session.places.text(name)?.parse::<usize>().ok();
    let found = ARRAY_VARIABLES.iter().find_map(|(index, first)| {
        let first = first.and_then(number).unwrap_or(0);
        Some((index, number(index)?.checked_sub(first)?))
    });
    match found {
        Some((_, index)) if index < unit.of => Ok(index + 1),
        Some((name, index)) => Err(CliError::usage(format!(
            "this is job {} of the array (according to {name}), but --unit has {} parts",
            index + 1,
            unit.of
        ))),
        None => Err(CliError::usage(
            "--unit does not name a part, and no job array sets the number of this job",
        )
        .help(format!("write --unit I/{}, or start a job array", unit.of))),
    }
}

#[cfg(test)]
mod tests {
    use prep_app::competition_set;

    use super::*;

    #[test]
    fn selections_are_joined_without_duplicates() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list.txt");
        std::fs::write(&list, "# two\nb\r\n\n  a \n").unwrap();
        let selection = Selection {
            ids: vec!["a".into(), "mle-bench/spaceship-titanic".into()],
            competitions: vec!["c".into(), "a".into()],
            set: vec!["dev".into()],
            ids_from: Some(list),
            ..Selection::default()
        };
        let (ids, undated) = selection.ids_in(&Catalog::embedded()).unwrap();
        let dev = competition_set("dev").unwrap();
        assert_eq!(ids[..dev.len()], *dev);
        // `spaceship-titanic` is already in the set, so it is not added again.
        assert_eq!(ids[dev.len()..], ["b", "a", "c"]);
        assert_eq!(undated, 0);
    }

    #[test]
    fn a_list_of_other_content_is_an_error_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("list.txt");
        std::fs::write(&list, "# ids\nPassengerId,Transported\n").unwrap();
        let message = read_list(&list).unwrap_err().message;
        let expected = "list.txt:2: `PassengerId,Transported` is not an id";
        assert!(message.ends_with(expected), "{message}");
    }

    #[test]
    fn lite_is_low_all_is_82_and_scored_is_75() {
        let ids = |selection: Selection| selection.ids_in(&Catalog::embedded()).unwrap();
        let set = |name: &str| Selection {
            set: vec![name.into()],
            ..Selection::default()
        };
        let lite = Selection {
            lite: true,
            ..Selection::default()
        };
        assert_eq!(ids(lite).0, competition_set("low").unwrap());
        let all = Selection {
            all: true,
            ..Selection::default()
        };
        assert_eq!(ids(all).0, ids(set("mle-bench")).0);
        assert_eq!(ids(set("mle-bench")).0.len(), 82);
        assert_eq!(ids(set("mle-bench/scored")).0.len(), 75);
        assert_eq!(ids(set("scored")).0.len(), 75);
        let dated = Selection {
            closed_after: Some("2000-01-01".parse().unwrap()),
            ..Selection::default()
        };
        assert_eq!(ids(dated), (Vec::new(), 82));
    }

    #[test]
    fn the_error_of_an_unknown_set_lists_the_sets() {
        let help = competition_set("zzzzzz").unwrap_err().help;
        assert!(help.is_some_and(|help| {
            crate::remedy::words(&help).is_some_and(|help| help.contains("medium"))
        }));
    }
}
