//! Checks the environment without using the network: directories, links, locks and disk space. The command line prints
//! the results.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use prep_cache::{LinkMode, Store, Unwritable};
use prep_core::{Failure, Remedy, units};
use prep_spec::{BASE_VARIANT, joined};
use serde::Serialize;

use crate::catalog::Catalog;
use crate::error::Error;
use crate::prepared::{self, PreparedData, PreparedState};
use crate::sealed::AnswersState;
use crate::settings::Settings;
use crate::stages::resolve::Plan;
use crate::task::Task;
use crate::writable::find_writable;

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    Ok,
    /// The checked feature works, but slower or less safely than it could.
    Warning,
    /// A command will fail because of the problem that the check found.
    Error,
    /// The check only found a setting. Using the setting would need a request, which was not sent or did not succeed.
    Unverified,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckResult {
    /// The name of the check.
    pub check: &'static str,
    #[serde(rename = "state")]
    pub health: Health,
    pub text: String,
    /// The suggested action.
    #[serde(skip)]
    pub help: Option<Remedy>,
    /// The kind of failure, if the check found an error.
    #[serde(skip)]
    pub failure: Failure,
}

impl CheckResult {
    pub fn new(check: &'static str, health: Health, text: impl Into<String>) -> CheckResult {
        CheckResult {
            check,
            health,
            text: text.into(),
            help: None,
            failure: Failure::Machine,
        }
    }

    pub fn ok(check: &'static str, text: impl Into<String>) -> CheckResult {
        CheckResult::new(check, Health::Ok, text)
    }

    /// Returns the result of a check that found an error.
    pub fn failed(check: &'static str, error: Error) -> CheckResult {
        CheckResult {
            failure: error.failure,
            help: error.help,
            ..CheckResult::new(check, Health::Error, error.message)
        }
    }

    #[must_use]
    pub fn help(mut self, help: impl Into<Remedy>) -> CheckResult {
        self.help = Some(help.into());
        self
    }

    /// Sets the kind of failure, which is otherwise [`Failure::Machine`].
    #[must_use]
    pub fn failure(mut self, failure: Failure) -> CheckResult {
        self.failure = failure;
        self
    }
}

/// Checks the file systems of the cache and of the data directory: whether they are writable, whether locks work, and
/// whether published files are links or copies. Writes some small files and removes them. If a directory does not exist,
/// writes them to its nearest parent.
pub fn file_systems(settings: &Settings) -> Vec<CheckResult> {
    let mut findings = Vec::new();
    for (check, dir) in [("cache", &settings.store_dir), ("data", &settings.data_dir)] {
        findings.push(match find_writable(dir) {
            Ok(place) => match find_unwritable(check, dir) {
                Some(finding) => finding,
                None => sharing(check, dir).unwrap_or_else(|| locks(check, dir, &place)),
            },
            Err(error) => CheckResult::failed(check, error),
        });
    }
    if findings
        .iter()
        .all(|finding| finding.health != Health::Error)
    {
        findings.push(links(settings));
    }
    findings
}

/// Depth of the directories in the data directory to which a run writes: `PACK/ID/prepared/public`.
const DATA_DEPTH: usize = 4;

/// Reports directories and files below `dir` that the current user cannot write, for example because another user created
/// them. `check` is `cache` if `dir` is the cache, and `data` if `dir` is the data directory. Returns `None` if the user can
/// write all of them.
fn find_unwritable(check: &'static str, dir: &Path) -> Option<CheckResult> {
    let found = examine(check, dir, Unwritable::default());
    unwritable(check, &found)
}

/// Adds directories and files below `dir` to `found` that a run must write, but cannot write.
fn examine(check: &'static str, dir: &Path, mut found: Unwritable) -> Unwritable {
    if check == "cache" {
        Store::examine(dir, &mut found);
    } else {
        found.examine_directories(dir, DATA_DEPTH);
        found.examine(&dir.join(crate::grading::LOG_FILE));
    }
    found
}

/// Reports directories and files that the current user cannot write: their number, the owner of one of them, and commands
/// that change owner and mode. Returns `None` if `found` is empty.
pub fn unwritable(check: &'static str, found: &Unwritable) -> Option<CheckResult> {
    let first = found.first.as_ref()?;
    if prep_cache::is_read_only(first) {
        let text = format!(
            "{} is on a file system that is mounted read-only",
            first.display()
        );
        let help = "mount the file system writable, or use a directory on another one";
        return Some(CheckResult::new(check, Health::Error, text).help(help));
    }
    let described = prep_cache::ownership(first);
    let described = described.unwrap_or_else(|| first.display().to_string());
    let text = match found.count {
        1 => format!("cannot be written: {described}"),
        count => format!("{count} directories or files cannot be written, for example {described}"),
    };
    let help = prep_cache::group_remedy(first).unwrap_or_else(|| {
        format!(
            "change its owner or mode. If a group shares the directory DIR, {}, and use the setting `shared` for all users",
            prep_cache::share_commands("GROUP", "DIR")
        )
    });
    Some(CheckResult::new(check, Health::Error, text).help(help))
}

/// Returns a warning or an error if the group of `dir` can write `dir`, but cannot write directories in `dir` that exist or
/// that the current user creates. Otherwise returns `None`.
fn sharing(check: &'static str, dir: &Path) -> Option<CheckResult> {
    let metadata = dir.metadata().ok()?;
    let found = examine(check, dir, Unwritable::by_group_of(dir)?);
    if let Some(first) = found.first.as_deref().and_then(prep_cache::ownership) {
        let (shown, group) = (
            dir.display().to_string(),
            prep_cache::group_name(metadata.gid()),
        );
        let count = match found.count {
            1 => "a directory or file in it has".to_owned(),
            count => format!("{count} directories or files in it have"),
        };
        let text = format!(
            "the group {group} shares {shown}, but {count} another group or no setgid bit: {first}"
        );
        // The bit shows that users share the directory.
        let health = match metadata.mode() & prep_cache::SETGID {
            0 => Health::Warning,
            _ => Health::Error,
        };
        let help = prep_cache::share_commands(&group, &shown);
        return Some(CheckResult::new(check, health, text).help(help));
    }
    let probe = tempfile::tempdir_in(dir).ok()?;
    let created = probe.path().join("probe");
    std::fs::create_dir(&created).ok()?;
    let created = created.metadata().ok()?;
    let shown = dir.display();
    let warning = |text: String, help: String| {
        Some(CheckResult::new(check, Health::Warning, text).help(help))
    };
    if created.gid() != metadata.gid() {
        let text = format!(
            "{shown} can be written by its group, but new directories in it belong to another group"
        );
        return warning(text, format!("run `chmod g+s {shown}`"));
    }
    if created.mode() & prep_cache::GROUP_MAY_WRITE == 0 {
        let text = format!(
            "{shown} can be written by its group, but the group cannot write directories that you create in it"
        );
        let help = "if other users share it, set PREP_SHARED=yes, or `shared = true` in prep.toml";
        return warning(text, help.to_owned());
    }
    None
}

/// Checks that locks in the directory `dir` work: a lock that is held cannot be acquired a second time. `place` is `dir`, or
/// its nearest parent if `dir` does not exist.
fn locks(check: &'static str, dir: &Path, place: &Path) -> CheckResult {
    let shown = dir.display();
    let works = match is_lock_exclusive(place) {
        Ok(works) => works,
        Err(error) => return CheckResult::failed(check, error),
    };
    match (works, prep_cache::is_shared(place)) {
        (true, false) => CheckResult::ok(check, format!("{shown}, locks work")),
        (true, true) => CheckResult::ok(
            check,
            format!(
                "{shown} may be seen by other machines; locks are leases, which take up to half a minute to expire"
            ),
        ),
        (false, _) => CheckResult::new(
            check,
            Health::Error,
            format!("{shown} has no working locks"),
        )
        .help("use a directory on another file system"),
    }
}

/// Returns whether a lock in the directory `dir` cannot be acquired a second time while it is held.
fn is_lock_exclusive(dir: &Path) -> Result<bool, Error> {
    let probe =
        tempfile::tempdir_in(dir).map_err(|error| Error::writing("write to", dir, &error))?;
    let path = probe.path().join("lock");
    let first = prep_cache::try_lock_at(&path)?;
    let second = prep_cache::try_lock_at(&path)?;
    Ok(first.is_some() && second.is_none())
}

/// Checks whether published files are hard links, reflinks or copies of files in the cache. Files that other users added
/// to the cache may have to be copied, even if the user's own files can be linked.
fn links(settings: &Settings) -> CheckResult {
    let check = "links";
    let (own, other) = match link_modes(settings) {
        Ok(modes) => modes,
        Err(error) => return CheckResult::failed(check, error),
    };
    if own == LinkMode::HardLink && other == Some(LinkMode::Copy) {
        let text = "published files are hard links to the cache if you added their objects, and copies if other users did, \
                    because the system only permits links to your own files";
        let help = "if copies take too much space, set `fs.protected_hardlinks` of Linux to 0, or use a file system with reflinks";
        return CheckResult::new(check, Health::Warning, text).help(help);
    }
    match own {
        LinkMode::HardLink => CheckResult::ok(check, "published files are hard links to the cache"),
        LinkMode::Reflink => CheckResult::ok(check, "published files share their blocks with the cache"),
        LinkMode::Copy => CheckResult::new(
            check,
            Health::Warning,
            "published files are copies: each takes space in the cache and again in the data directory",
        )
        .help(Remedy::UseOneFileSystem),
    }
}

/// Publishes two files into a temporary directory, and returns how each of them was published. The first file belongs to
/// the current user. The second file is an object that another user added to the cache. The second value is `None` if the
/// cache contains no such object.
fn link_modes(settings: &Settings) -> Result<(LinkMode, Option<LinkMode>), Error> {
    let temporary = |dir: &Path| {
        let place = find_writable(dir)?;
        tempfile::tempdir_in(place).map_err(|error| Error::writing("write to", dir, &error))
    };
    let inside = temporary(&settings.store_dir)?;
    let outside = temporary(&settings.data_dir)?;
    let own = Store::open(inside.path())?;
    let digest = own.put(b"links of prep doctor")?;
    let mode = own.materialise(&digest, &outside.path().join("own"))?;
    let shared = Store::open_or_empty(&settings.store_dir)?;
    let other = shared.object_of_another_user();
    let other = other.map(|digest| shared.materialise(&digest, &outside.path().join("other")));
    Ok((mode, other.transpose()?))
}

/// Minimum number of free bytes on a disk. A disk with less free space is treated as full.
const MIN_FREE_BYTES: u64 = 1_000_000;

/// Returns the free space of the disks of the data directory and of the cache.
pub fn free_space(settings: &Settings) -> CheckResult {
    let dirs = [&settings.data_dir, &settings.store_dir];
    // A file system that stores no files, such as `proc`, reports 0 free bytes. `file_systems` reports such a directory.
    let free_space = |dir: &Path| {
        let is_known = |bytes: &u64| *bytes > 0 || find_writable(dir).is_ok();
        prep_fetch::free_space(dir).filter(is_known)
    };
    let [data, cache] = dirs.map(|dir| match free_space(dir) {
        _ if prep_cache::lacks_inodes(dir) => "0 inodes".to_owned(),
        Some(bytes) => units::bytes(bytes),
        None => "an unknown amount".to_owned(),
    });
    let text = format!("{data} free for prepared data, {cache} free for the cache");
    let is_full = |dir: &PathBuf| {
        prep_cache::lacks_inodes(dir) || free_space(dir).is_some_and(|free| free < MIN_FREE_BYTES)
    };
    match dirs.into_iter().any(is_full) {
        true => CheckResult::new("disk", Health::Error, text)
            .help("free some disk space, or use a directory on another disk"),
        false => CheckResult::ok("disk", text),
    }
}

/// Reports damaged objects in the quarantine of the cache, if there are any.
pub fn quarantine(settings: &Settings) -> Option<CheckResult> {
    let store = Store::open_existing(&settings.store_dir).ok()??;
    // The check of the cache's directories reports a directory that cannot be listed.
    let found = store.quarantined().ok().filter(|found| found.files > 0)?;
    let objects = units::count(found.files, "damaged object");
    let text = format!("the cache has {objects} ({})", units::bytes(found.bytes));
    let help = "check the disk of the cache; `prep cache gc` deletes damaged objects after a day";
    Some(CheckResult::new("quarantine", Health::Warning, text).help(help))
}

/// Checks the prepared data of all competitions: whether their manifests can be read, and whether published files were
/// changed since. Also checks whether any variant of a competition with sealed (encrypted) answers still has plain
/// answers.
pub fn prepared_data(settings: &Settings, catalog: &Catalog) -> Vec<CheckResult> {
    let (mut unreadable, mut plain, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    // `file_systems` reports a data directory that the user may not enter. One more error per competition would hide that
    // report.
    if prep_cache::closed_directory(&settings.data_dir).is_some() {
        return Vec::new();
    }
    let mut sealed = 0;
    let variants = settings.variants();
    let shown = |id: &str, variant: &str| match variant {
        BASE_VARIANT => id.to_owned(),
        variant => format!("{id} (variant {variant})"),
    };
    for entry in catalog.iter() {
        let id = &entry.id;
        let mut states = Vec::new();
        for variant in &variants {
            let data_dir = settings.data_dir_of(variant);
            let manifest = match prepared::manifest(&data_dir, id) {
                Ok(None) => continue,
                manifest => manifest,
            };
            let data =
                manifest.and_then(|one| PreparedData::new(one.as_ref(), &data_dir, settings));
            match data.map(|data| data.state) {
                Ok(state @ (PreparedState::Changed | PreparedState::Incomplete)) => {
                    let problem = state.problem().unwrap_or_default();
                    changed.push(format!("{} {problem}", shown(id, variant)));
                }
                Ok(_) => {}
                Err(error) => unreadable.push(error),
            }
            states.push((variant, AnswersState::of(&data_dir, id)));
        }
        let is_plain = |state: &AnswersState| *state == AnswersState::Plain;
        sealed += states.iter().filter(|(_, state)| !is_plain(state)).count();
        if states.iter().all(|(_, state)| is_plain(state)) {
            continue;
        }
        let kept = states
            .iter()
            .filter(|(_, state)| *state != AnswersState::Sealed);
        plain.extend(kept.map(|(variant, _)| shown(id, variant)));
    }
    let mut findings: Vec<CheckResult> = unreadable
        .into_iter()
        .map(|error| CheckResult::failed("prepared", error))
        .collect();
    if !changed.is_empty() {
        let help = "`prep list` shows the files, and `prep run` restores them";
        let found = CheckResult::new("prepared", Health::Warning, changed.join(", "));
        findings.push(found.help(help));
    }
    if !plain.is_empty() {
        let text = format!(
            "sealed competitions that still have plain answers: {}",
            plain.join(", ")
        );
        let help = "seal these competitions and variants (`prep seal --variant`), and do not keep the plain files";
        findings.push(CheckResult::new("answers", Health::Warning, text).help(help));
    } else if sealed > 0 {
        findings.push(CheckResult::ok("answers", format!("sealed: {sealed}")));
    }
    findings
}

/// Checks the inputs of competitions that are to be prepared: their bundles, and the disk space for missing bundles and
/// prepared data. Also returns whether a bundle has to be downloaded.
///
/// # Errors
/// Returns an error if a competition or the directory of bundles does not exist, or if a manifest cannot be read.
pub fn inputs(task: &Task, ids: &[String]) -> Result<(Vec<CheckResult>, bool), Error> {
    let plan = Plan::preview(task, ids)?;
    let mirrored = plan.mirrored(task);
    let missing = plan.missing();
    let missing = missing.iter().filter(|input| input.source.is_none());
    let missing = missing.filter(|input| !mirrored.contains(&input.competition.id));
    let missing = missing.count();
    let mut findings = bundles(&plan, missing, task);
    findings.push(disk(&plan, task)?);
    Ok((findings, missing > 0))
}

/// Opens the bundles that are on this machine. Returns a result for each kind of failure, with the bundles that cannot be read
/// and the competitions that cannot be planned. `missing` is the number of bundles to download.
fn bundles(plan: &Plan, missing: usize, task: &Task) -> Vec<CheckResult> {
    let check = "bundles";
    let competitions = plan.all.competitions.iter();
    let with_bundle = competitions.filter(|one| one.pipeline.bundle.is_some());
    let paths = with_bundle.clone().filter_map(|one| one.bundle.as_ref());
    let files = paths.clone().filter(|path| path.is_file());
    let limits = task.settings.inspection_limits(1);
    let failed = files.filter_map(|path| crate::bundles::list(path, &limits).err());
    let refused = plan.refused.iter().map(|(_, error)| error.clone());
    let mut failed: Vec<Error> = failed.chain(refused).collect();
    let mut found = format!("{} of {} found", paths.count(), with_bundle.count());
    if missing > 0 {
        found.push_str(&format!(", {missing} must be downloaded"));
    }
    if failed.is_empty() {
        return vec![CheckResult::ok(check, found)];
    }
    found.push_str("; ");
    let mut findings = Vec::new();
    while let Some(first) = failed.first().cloned() {
        let is_same = |error: &Error| error.failure == first.failure;
        let (same, other) = failed.into_iter().partition::<Vec<_>, _>(is_same);
        let message = joined(same.into_iter().map(|error| error.message), MAX_ERRORS);
        let message = format!("{}{message}", std::mem::take(&mut found));
        findings.push(CheckResult::failed(check, Error { message, ..first }));
        failed = other;
    }
    findings
}

/// Maximum number of errors of bundles that are listed for a kind of failure.
const MAX_ERRORS: usize = 10;

fn disk(plan: &Plan, task: &Task) -> Result<CheckResult, Error> {
    let check = "disk";
    let Some(peak) = plan.peak(task, |one| one.published_bytes())? else {
        let free = prep_fetch::free_space(&task.settings.data_dir);
        let free = free.map_or_else(|| "an unknown amount".to_owned(), units::bytes);
        return Ok(CheckResult::ok(
            check,
            format!("{free} free, and no bundle is missing"),
        ));
    };
    Ok(match peak.check(&task.settings.data_dir) {
        Ok(None) => CheckResult::ok(check, peak.text()),
        Ok(Some(warning)) => {
            CheckResult::new(check, Health::Warning, warning).help(Remedy::DiscardBundles)
        }
        Err(error) => CheckResult::failed(check, error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usable_directories_pass_and_are_not_created() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings {
            data_dir: dir.path().join("data"),
            store_dir: dir.path().join("store"),
            pipelines: None,
            packs: None,
            jobs: 1,
            memory: 1 << 30,
            program: String::new(),
            boot: None,
            remote: None,
            identity: None,
        };
        let findings = file_systems(&settings);
        let checks: Vec<_> = findings.iter().map(|one| (one.check, one.health)).collect();
        let ok = Health::Ok;
        assert_eq!(
            checks,
            [("cache", ok), ("data", ok), ("links", ok)],
            "{findings:?}"
        );
        for path in [&settings.data_dir, &settings.store_dir] {
            assert!(!path.exists(), "{}", path.display());
        }
        // A file has the name of the data directory.
        std::fs::write(&settings.data_dir, "").unwrap();
        let findings = file_systems(&settings);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert_eq!(findings[1].health, Health::Error);
        assert!(findings[1].help.is_some());
    }
}
