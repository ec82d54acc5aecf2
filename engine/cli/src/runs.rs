//! Lists the runs in directories of runs for `prep grade`. Warns about runs that are left out, and about runs that are graded
//! as failed although they seem to contain a submission.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::Catalog;
use prep_core::units;
use prep_experiments::{ListPlaces, Submission};
use prep_spec::{joined, nearest};

use crate::error::{CliError, Exit};
use crate::session::CliSession;

/// Paths relative to the directory of a run.
#[derive(Debug, Clone, Args)]
pub struct PlacesArgs {
    /// Path of the submission in the directory of a run
    #[arg(long = "submission-path", value_name = "PATH", default_value = "submission/submission.csv", help_heading = HEADING)]
    submission: PathBuf,
    /// Path of the agent's log in the directory of a run
    #[arg(long = "logs-path", value_name = "PATH", default_value = "logs/agent.log", help_heading = HEADING)]
    logs: PathBuf,
    /// Path of the agent's code in the directory of a run
    #[arg(long = "code-path", value_name = "PATH", default_value = "code/train.py", help_heading = HEADING)]
    code: PathBuf,
}

const HEADING: &str = "Runs";

/// Maximum number of directories in a message.
const MAX_NAMES: usize = 3;

/// How many levels below a directory run groups are searched for.
const MAX_DEPTH: usize = 2;

/// Returns whether the path names a directory of runs: the directory itself, or its file `metadata.json`.
pub fn is_runs_directory(path: &Path) -> bool {
    path.is_dir() || path.file_name().is_some_and(|name| name == "metadata.json")
}

/// The runs in the directories that the user named, and what is not a run there.
#[derive(Default)]
struct FoundRuns {
    runs: Vec<Submission>,
    /// Subdirectories that contain runs, but that the user did not name.
    inner_groups: Vec<PathBuf>,
    /// Directories with a submission that are not runs because of their names.
    unnamed: Vec<PathBuf>,
    /// Directories with a submission that are not runs because the `metadata.json` of their group does not list them.
    unlisted: Vec<PathBuf>,
}

/// Returns the list of submissions as JSON Lines, and the directories of the runs. Returns an error if no run is of a known
/// competition.
pub fn list(
    session: &CliSession,
    catalog: &Catalog,
    paths: &[PathBuf],
    args: &PlacesArgs,
) -> Result<(String, Vec<PathBuf>), CliError> {
    let places = ListPlaces {
        submission: args.submission.clone(),
        logs: args.logs.clone(),
        code: args.code.clone(),
    };
    let mut found = FoundRuns::default();
    for path in paths {
        let group = prep_experiments::list(path, &places).map_err(CliError::of_experiments)?;
        match group.has_metadata {
            true => found.unlisted.extend(group.others),
            false => found.unnamed.extend(group.others),
        }
        let inner_groups = inner_groups(path, catalog, &places, MAX_DEPTH);
        let has_run = group.runs.iter().any(|run| is_known(run, catalog));
        let has_only_groups = !has_run && !inner_groups.is_empty();
        found.inner_groups.extend(inner_groups);
        found.runs.extend(group.runs);
        if has_only_groups {
            return Err(found.no_run(std::slice::from_ref(path), catalog));
        }
    }
    let is_named = |group: &PathBuf| paths.iter().any(|path| path.starts_with(group));
    found.inner_groups.retain(|group| !is_named(group));
    if !found.runs.iter().any(|run| is_known(run, catalog)) {
        return Err(found.no_run(paths, catalog));
    }
    session.printer.warnings(&found.warnings(catalog, args));
    let missing = found
        .runs
        .iter()
        .filter(|run| run.submission_path.is_none());
    session.printer.message(format!(
        "{}, {} of them without a submission",
        units::count(found.runs.len() as u64, "run"),
        missing.count()
    ));
    let text = found.runs.iter().map(|run| run.line() + "\n").collect();
    let directories = found.runs.into_iter().map(|run| run.directory);
    Ok((text, directories.collect()))
}

fn is_known(run: &Submission, catalog: &Catalog) -> bool {
    catalog.find(&run.competition_id).is_some()
}

/// Returns the directories with runs in `path`, at most `depth` levels down. A directory that cannot be listed has none.
fn inner_groups(path: &Path, catalog: &Catalog, places: &ListPlaces, depth: usize) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let mut inner: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    inner.retain(|path| path.is_dir() && !is_run(path, catalog));
    inner.sort();
    let groups = inner.into_iter().flat_map(|path| {
        let group = prep_experiments::list(&path, places).unwrap_or_default();
        match group.runs.iter().any(|run| is_known(run, catalog)) {
            true => vec![path],
            false if depth > 1 => inner_groups(&path, catalog, places, depth - 1),
            false => Vec::new(),
        }
    });
    groups.collect()
}

/// Returns whether the name of a directory is that of a run of a known competition.
fn is_run(path: &Path, catalog: &Catalog) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    let id = name.and_then(|name| Some(name.split_once('_')?.0));
    id.is_some_and(|id| catalog.find(id).is_some())
}

fn similar_id<'c>(id: &str, catalog: &'c Catalog) -> Option<&'c str> {
    nearest(id, catalog.iter().map(|entry| entry.id.as_str()))
}

fn names(paths: &[PathBuf]) -> String {
    joined(
        paths.iter().map(|path| path.display().to_string()),
        MAX_NAMES,
    )
}

impl FoundRuns {
    /// Returns the ids in the names of runs that are not competitions.
    fn unknown_ids<'a>(&'a self, catalog: &'a Catalog) -> BTreeSet<&'a str> {
        let unknown = self.runs.iter().filter(|run| !is_known(run, catalog));
        unknown.map(|run| run.competition_id.as_str()).collect()
    }

    /// Returns the error that there is no run. Its help names what the user probably meant.
    fn no_run(&self, paths: &[PathBuf], catalog: &Catalog) -> CliError {
        let run = paths.iter().find(|path| is_run(path, catalog));
        let groups = self.inner_groups.last().and_then(|group| group.parent());
        let mut unknown = self.unknown_ids(catalog).into_iter();
        let near = unknown.find_map(|id| similar_id(id, catalog));
        let help = match (
            run,
            groups,
            self.unnamed.first(),
            self.unlisted.first(),
            near,
        ) {
            (Some(run), ..) => {
                format!(
                    "{} is a run; name the directory of its run group",
                    run.display()
                )
            }
            (_, Some(path), ..) => {
                format!(
                    "{} contains run groups; write {}",
                    path.display(),
                    path.join("*/").display()
                )
            }
            (.., Some(run), _, _) => format!(
                "rename {} to ID_anything, where ID is the competition",
                run.display()
            ),
            (.., Some(run), _) => format!(
                "add the name of {} to `runs` in the metadata.json of its group, or remove that file",
                run.display()
            ),
            (.., Some(near)) => format!("did you mean {near}_anything?"),
            _ => "a run is a directory ID_anything, where ID is a competition".to_owned(),
        };
        CliError::new(Exit::Input, format!("there is no run in {}", names(paths))).help(help)
    }

    /// Returns warnings about runs that are left out or graded as failed.
    fn warnings(&self, catalog: &Catalog, args: &PlacesArgs) -> Vec<String> {
        let mut warnings: Vec<String> = self.misplaced(args).into_iter().collect();
        let missing = self.runs.iter().filter(|run| !run.directory.exists());
        let missing: Vec<PathBuf> = missing.map(|run| run.directory.clone()).collect();
        for (directories, problem) in [
            (
                &missing,
                "metadata.json lists runs whose directories do not exist",
            ),
            (
                &self.unnamed,
                "these directories contain submissions, but are left out because a run is named ID_anything",
            ),
            (
                &self.unlisted,
                "these directories contain submissions, but are left out because metadata.json does not list them",
            ),
            (
                &self.inner_groups,
                "these directories contain runs, but are left out because they are not named as run groups in this command",
            ),
        ] {
            if !directories.is_empty() {
                warnings.push(format!("{problem}: {}", names(directories)));
            }
        }
        let paths = self.runs.iter().filter_map(|run| run.directory.to_str());
        let agents = prep_experiments::agents(paths);
        if agents.len() > 1 {
            warnings.push(format!(
                "the run groups are those of different agents: {}; grade the run groups of each agent into a directory of their own",
                joined(agents.into_iter(), MAX_NAMES)
            ));
        }
        warnings.extend(self.unknown_ids(catalog).into_iter().map(|id| {
            let help = match similar_id(id, catalog) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "a directory of runs must contain directories named ID_anything".to_owned(),
            };
            format!("there is no competition `{id}`; {help}")
        }));
        warnings
    }

    /// Returns the warning about runs whose submissions are at another place, or about runs that all lack a submission.
    fn misplaced(&self, args: &PlacesArgs) -> Option<String> {
        let place = args.submission.display();
        let runs = self.runs.iter();
        let misplaced = runs.filter_map(|run| Some((run.misplaced.as_ref()?, &run.directory)));
        let misplaced: Vec<(&PathBuf, &PathBuf)> = misplaced.collect();
        let Some((first, run)) = misplaced.first() else {
            let is_empty =
                |run: &Submission| run.submission_path.is_none() && run.directory.exists();
            return self.runs.iter().all(is_empty).then(|| {
                format!(
                    "no run has a submission at RUN/{place}; name the path with --submission-path"
                )
            });
        };
        let found = misplaced.iter().map(|(path, _)| path.display().to_string());
        let found = joined(found, MAX_NAMES);
        let runs = match misplaced.len() {
            1 => "1 run has no submission at its place, so it is graded as a failed run".to_owned(),
            more => format!(
                "{more} runs have no submission at their place, so they are graded as failed runs"
            ),
        };
        // With --submission-path, the submissions of all runs must be at the same place.
        let inner = misplaced.iter();
        let inner = inner.filter_map(|(path, run)| path.strip_prefix(run).ok());
        let inner: BTreeSet<&Path> = inner.collect();
        let remedy = match inner.first() {
            Some(inner_path) if inner.len() == 1 && misplaced.len() == self.runs.len() => {
                format!("write `--submission-path {}`", inner_path.display())
            }
            _ => format!(
                "move the files to that path, for example {} to {}",
                first.display(),
                run.join(&args.submission).display()
            ),
        };
        Some(format!(
            "{runs}: expected RUN/{place}, found {found}; {remedy}"
        ))
    }
}
