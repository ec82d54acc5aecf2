//! Resolves directories and limits from options, variables, `prep.toml` and the system.
//! No other module reads the environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::time::Duration;

use prep_app::{LinkMode, RememberedOptions, Settings};
use prep_core::units;
use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

use crate::error::{CliError, raise_open_files};
use crate::global::{Color, Global, at_least_one, positive_size, yes_or_no};
use crate::options::verify;
use crate::output::printer::Printer;
use crate::prep_toml::{ConfigFile, ConfigFiles};
use crate::session::{CliSession, Directories, Kaggle};

/// Assumed memory, in bytes, if the system does not report its memory.
const ASSUMED_MEMORY_BYTES: u64 = 8 << 30;

impl Environment {
    /// Returns the value of a variable. An empty variable is treated as unset.
    fn set(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.set(name).map(PathBuf::from)
    }

    /// Returns the directory that the variable names. If the variable is not set or not an absolute path, returns the
    /// directory `usual` in the home directory.
    fn base(&self, variable: &str, usual: &str) -> Option<PathBuf> {
        let set = self.path(variable).filter(|path| path.is_absolute());
        set.or_else(|| self.home.as_ref().map(|home| home.join(usual)))
    }

    fn cache_home(&self) -> Option<PathBuf> {
        let is_mac = cfg!(target_os = "macos");
        self.base(
            "XDG_CACHE_HOME",
            if is_mac { "Library/Caches" } else { ".cache" },
        )
    }

    /// Returns the default directory of packs. It is not in the cache, because `prep` cannot compute packs again.
    fn packs(&self) -> Option<PathBuf> {
        let is_mac = cfg!(target_os = "macos");
        let usual = if is_mac {
            "Library/Application Support"
        } else {
            ".local/share"
        };
        Some(self.base("XDG_DATA_HOME", usual)?.join("prep/packs"))
    }

    fn places(&self) -> Directories {
        Directories {
            variable: self.variable,
            config_dir: self
                .base("XDG_CONFIG_HOME", ".config")
                .map(|config| config.join("prep")),
            site_dirs: match self.set("XDG_CONFIG_DIRS") {
                Some(set) => std::env::split_paths(&set)
                    .filter(|path| path.is_absolute())
                    .collect(),
                None => vec![PathBuf::from("/etc/xdg")],
            },
            home: self.home.clone(),
            current_dir: self.current_dir.clone(),
            origins: Vec::new(),
        }
    }

    /// Returns Kaggle's settings, including the directories in which Kaggle's own client searches for its files.
    fn kaggle(&self) -> Kaggle {
        let config = self
            .path("XDG_CONFIG_HOME")
            .or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        let directories = [
            self.home.as_ref().map(|home| home.join(".kaggle")),
            config.map(|config| config.join("kaggle")),
        ];
        Kaggle {
            endpoint: self
                .set("KAGGLE_API_ENDPOINT")
                .and_then(|value| value.into_string().ok())
                .unwrap_or_else(|| prep_fetch::ENDPOINT.to_owned()),
            variable: self.variable,
            home: self.home.clone(),
            config_dirs: directories.into_iter().flatten().collect(),
        }
    }
}

/// Chooses the value of each setting from options, variables and files.
struct Chooser<'a> {
    environment: &'a Environment,
    files: ConfigFiles,
    /// The settings that have a value, each with its origin.
    origins: Vec<(&'static str, String)>,
}

impl Chooser<'_> {
    /// Returns the value of the option. Without the option, returns the value of the variable, and otherwise the value in
    /// a configuration file. Returns `None` if none of them is set, because then the default applies.
    fn choose<T>(
        &mut self,
        name: &'static str,
        option: Option<T>,
        variable: (&str, impl FnOnce(OsString) -> Result<T, CliError>),
        key: impl Fn(&ConfigFile) -> Option<T>,
    ) -> Result<Option<T>, CliError> {
        let (variable, parse) = variable;
        let found = match (option, self.environment.set(variable)) {
            (Some(value), _) => Some((value, "option".to_owned())),
            (None, Some(text)) => Some((parse(text)?, variable.to_owned())),
            (None, None) => self.files.first(name, key),
        };
        Ok(found.map(|(value, origin)| {
            self.origins.push((name, origin));
            value
        }))
    }

    fn path(
        &mut self,
        name: &'static str,
        option: Option<&PathBuf>,
        variable: &str,
        key: fn(&ConfigFile) -> &Option<PathBuf>,
    ) -> Result<Option<PathBuf>, CliError> {
        let parse = |text| Ok(PathBuf::from(text));
        let found = self.choose(name, option.cloned(), (variable, parse), |file| {
            key(file).clone()
        })?;
        let is_expanded = |part: std::path::Component| {
            let part = part.as_os_str().as_encoded_bytes();
            !matches!(part.first(), Some(b'$' | b'~'))
        };
        match found {
            Some(path) if !path.components().all(is_expanded) && !path.exists() => {
                let origin = self.origins.last().map_or("", |(_, origin)| origin);
                let message = format!(
                    "`{name}` is `{}` ({origin}), but prep expands no variables",
                    path.display()
                );
                Err(CliError::usage(message)
                    .help("write the path in full; in prep.toml, it may start with `~/`"))
            }
            found => Ok(found),
        }
    }
}

impl Chooser<'_> {
    /// Chooses a yes-or-no setting from its variable and the configuration files. The verbs apply its command-line option
    /// later.
    fn switch(
        &mut self,
        name: &'static str,
        variable: &'static str,
        key: fn(&ConfigFile) -> Option<bool>,
    ) -> Result<Option<bool>, CliError> {
        let parse = |text: OsString| parse_variable(variable, &text, yes_or_no);
        self.choose(name, None, (variable, parse), key)
    }
}

fn parse_variable<T>(
    name: &str,
    text: &OsStr,
    parse: fn(&str) -> Result<T, String>,
) -> Result<T, CliError> {
    let text = text.to_string_lossy();
    parse(&text).map_err(|error| CliError::usage(format!("{name} is `{text}`: {error}")))
}

impl CliSession {
    /// Resolves all settings and returns warnings. Precedence: options, variables, files, defaults.
    /// The default directories are in the home directory. If they are needed and no home directory is set, returns an error.
    pub fn resolve(
        global: &Global,
        environment: &Environment,
        command: fn() -> clap::Command,
    ) -> Result<(CliSession, Vec<String>), CliError> {
        let mut places = environment.places();
        let mut chooser = Chooser {
            environment,
            files: (environment.files)(&places, None)?,
            origins: Vec::new(),
        };
        let directory = |chosen: Option<PathBuf>, default: &str, help: &str| {
            chosen
                .or_else(|| environment.cache_home().map(|home| home.join(default)))
                .ok_or_else(|| {
                    CliError::usage("a directory has no default, because no home directory is set")
                        .help(help)
                })
        };
        let data_dir = directory(
            chooser.path("data_dir", global.data_dir.as_ref(), DATA_DIR, |file| {
                &file.data_dir
            })?,
            "mle-bench/data",
            "name the data directory with --data-dir or MLE_BENCH_DATA_DIR",
        )?;
        require_data_dir(&data_dir)?;
        // The data directory is now known, so its file applies to the other settings.
        chooser.files = (environment.files)(&places, Some(&data_dir))?;
        let store_dir = directory(
            chooser.path("cache_dir", global.cache_dir.as_ref(), CACHE_DIR, |file| {
                &file.cache_dir
            })?,
            "prep",
            "name the cache directory with --cache-dir or PREP_CACHE_DIR",
        )?;
        let pipelines =
            chooser.path("pipelines", global.pipelines.as_ref(), PIPELINES, |file| {
                &file.pipelines
            })?;
        let packs = chooser.path("packs", None, PACKS, |file| &file.packs)?;
        let packs = packs.or_else(|| environment.packs());
        let source = chooser.path("source", None, SOURCE, |file| &file.source)?;
        let link_mode = chooser.choose(
            "link_mode",
            None,
            (LINK_MODE, |text| {
                parse_variable(LINK_MODE, &text, LinkMode::from_str)
            }),
            |file| file.link_mode,
        )?;
        let descriptions = chooser.path("descriptions", None, DESCRIPTIONS, |file| {
            &file.descriptions
        })?;
        let skip = chooser.switch("skip_verification", SKIP_VERIFICATION, |file| {
            file.skip_verification
        })?;
        let skip_bundle = chooser.switch(
            "skip_bundle_verification",
            SKIP_BUNDLE_VERIFICATION,
            |file| file.skip_bundle_verification,
        )?;
        let jobs = chooser.choose(
            "jobs",
            global.jobs,
            (JOBS, |text| parse_variable(JOBS, &text, at_least_one)),
            |file| file.jobs,
        )?;
        let memory = chooser.choose(
            "memory",
            global.memory,
            (MEMORY, |text| parse_variable(MEMORY, &text, positive_size)),
            |file| file.memory,
        )?;
        let is_shared = chooser.switch("shared", SHARED, |file| file.shared)?;
        let seconds = chooser.choose(
            "status_seconds",
            None,
            (STATUS_SECONDS, |text| {
                parse_variable(STATUS_SECONDS, &text, at_least_one)
            }),
            |_| None,
        )?;
        let mut printer = Printer::new(global, color(global, environment));
        if let Some(seconds) = seconds {
            printer.line_interval = Duration::from_secs(seconds as u64);
        }
        let wanted = jobs.unwrap_or(environment.processors).max(1);
        let jobs = environment
            .open_files
            .map_or(wanted, |files| jobs_within(files, wanted));
        let ignored = chooser
            .files
            .ignored
            .as_ref()
            .map(|path| format!("{} is ignored, because you may not read it", path.display()));
        let few_files = environment.open_files.and_then(|files| {
            let needed = open_files_of(1);
            let limit = match () {
                () if files < needed => format!("but a run needs {needed}"),
                () if jobs < wanted => format!(
                    "which is enough for {} instead of {wanted}",
                    units::count(jobs as u64, "job")
                ),
                () => return None,
            };
            let raise = raise_open_files!();
            Some(format!(
                "only {files} files may be open at once, {limit}; {raise}"
            ))
        });
        let settings = Settings {
            data_dir,
            store_dir,
            pipelines,
            packs,
            jobs,
            memory: memory
                .unwrap_or_else(|| environment.memory.unwrap_or(ASSUMED_MEMORY_BYTES) / 2),
            program: environment.program.clone(),
            boot: environment.boot.clone(),
            remote: None,
            identity: None,
        };
        places.origins = chooser.origins;
        let session = CliSession {
            settings,
            remembered: RememberedOptions {
                source,
                link_mode,
                descriptions,
                verify: verify(skip, skip_bundle),
                ..RememberedOptions::default()
            },
            is_shared: is_shared.unwrap_or_default(),
            kaggle: environment.kaggle(),
            places,
            printer,
            unusable: chooser.files.denied,
            command,
        };
        Ok((session, ignored.into_iter().chain(few_files).collect()))
    }
}

/// Returns an error if the directory is that of a competition, or a directory in it. A user may have named it instead of
/// the data directory that contains it.
fn require_data_dir(data_dir: &Path) -> Result<(), CliError> {
    let found = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_owned());
    for home in found.ancestors().take(3) {
        let prepared = home.join("prepared");
        let sections = ["public", "private"].map(|section| prepared.join(section));
        let is_inside = found == home || found == prepared || sections.contains(&found);
        if is_inside && sections.iter().any(|section| section.is_dir()) {
            let message = format!(
                "{} is the directory of a competition, not a data directory",
                data_dir.display()
            );
            // Directories of variants and packs may be between the data directory and the competition.
            let mut parents = home.ancestors().skip(1);
            let parent = parents.find(|parent| parent.join("prep.lock").exists());
            let parent = parent.or(home.parent()).unwrap_or(home);
            let help = format!("name the directory that contains it, {}", parent.display());
            return Err(CliError::usage(message).help(help));
        }
    }
    Ok(())
}

fn color(global: &Global, environment: &Environment) -> Color {
    match global.color {
        Color::Auto if environment.set("NO_COLOR").is_some() => Color::Never,
        color => color,
    }
}

const DATA_DIR: &str = "MLE_BENCH_DATA_DIR";
const CACHE_DIR: &str = "PREP_CACHE_DIR";
const PIPELINES: &str = "PREP_PIPELINES";
const PACKS: &str = "PREP_PACKS";
const SOURCE: &str = "PREP_SOURCE";
const LINK_MODE: &str = "PREP_LINK_MODE";
const DESCRIPTIONS: &str = "PREP_DESCRIPTIONS";
const SKIP_VERIFICATION: &str = "PREP_SKIP_VERIFICATION";
const SKIP_BUNDLE_VERIFICATION: &str = "PREP_SKIP_BUNDLE_VERIFICATION";
const JOBS: &str = "PREP_JOBS";
const MEMORY: &str = "PREP_MEMORY";
const SHARED: &str = "PREP_SHARED";
/// Programs that show their own progress bar set this variable.
const STATUS_SECONDS: &str = "PREP_STATUS_SECONDS";

const PREFIXES: [&str; 2] = ["PREP_", "MLE_BENCH_"];

/// Returns a message about each environment variable that begins with `PREP_`, but is not in the manual.
pub fn unknown_variables() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    let mut messages: Vec<String> = names.filter_map(unknown_variable).collect();
    messages.sort();
    messages
}

/// Returns a message if no variable has this name. The variable that the user means may have another prefix.
fn unknown_variable(name: String) -> Option<String> {
    let plain = |name: &'static str| PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    let words = include_str!("verbs/manual.txt").split_whitespace();
    let with_plain = |word| Some((word, plain(word)?));
    let known: Vec<(&str, &str)> = words.filter_map(with_plain).collect();
    let own = name.strip_prefix(PREFIXES[0])?;
    if known.iter().any(|(known, _)| *known == name) {
        return None;
    }
    let near = prep_spec::nearest(own, known.iter().map(|(_, plain)| *plain));
    let near = known.iter().find(|(_, plain)| Some(*plain) == near);
    let near = near.map_or(String::new(), |(near, _)| {
        format!("; did you mean `{near}`?")
    });
    Some(format!("`{name}` has no meaning, so it is ignored{near}"))
}

/// Number of files that are always open: standard streams, locks of the cache, the network.
const BASE_OPEN_FILES: u64 = 24;
/// Number of files that a step may have open per thread.
const OPEN_FILES_PER_JOB: u64 = 8;

/// Returns the number of open files that `jobs` jobs need.
pub fn open_files_of(jobs: u64) -> u64 {
    BASE_OPEN_FILES + OPEN_FILES_PER_JOB * jobs
}

/// Returns the largest number of jobs for `files` open files: at most `wanted`, and at least one.
fn jobs_within(files: u64, wanted: usize) -> usize {
    let possible = files.saturating_sub(BASE_OPEN_FILES) / OPEN_FILES_PER_JOB;
    let possible = usize::try_from(possible).unwrap_or(usize::MAX);
    wanted.min(possible).max(1)
}

/// The environment variables, directories and limits of the process.
pub struct Environment {
    /// Returns the value of an environment variable.
    pub variable: fn(&str) -> Option<OsString>,
    pub home: Option<PathBuf>,
    pub current_dir: Option<PathBuf>,
    pub processors: usize,
    /// Memory that this process may use, in bytes. `None` if unknown.
    pub memory: Option<u64>,
    /// Maximum number of open files. `None` without a limit.
    pub open_files: Option<u64>,
    /// Identifies the build of this program.
    pub program: String,
    /// Identifies the current boot of the system.
    pub boot: Option<String>,
    /// Reads the configuration files.
    pub files: ReadFiles,
}

type ReadFiles = fn(&Directories, Option<&Path>) -> Result<ConfigFiles, CliError>;

impl Environment {
    pub fn of_process() -> Environment {
        Environment {
            variable: |name| std::env::var_os(name),
            home: std::env::home_dir(),
            current_dir: std::env::current_dir().ok(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory: usable_memory().map(|(bytes, _)| bytes),
            open_files: open_files(),
            program: program_stamp(),
            boot: prep_cache::boot(),
            files: ConfigFiles::read,
        }
    }

    /// Same as [`of_process`](Self::of_process), without the variables and configuration files of `prep`, which may contain
    /// mistakes.
    pub fn without_settings() -> Environment {
        Environment {
            variable: |name| {
                let is_setting = name.starts_with("PREP_") || name.starts_with("MLE_BENCH_");
                std::env::var_os(name).filter(|_| !is_setting)
            },
            files: |_, _| Ok(ConfigFiles::default()),
            ..Environment::of_process()
        }
    }
}

/// Lets the group write all files and directories that this process creates from now on.
/// Published files and objects in the cache stay read-only.
pub fn share_with_group() {
    let before = umask(Mode::empty());
    umask(before.difference(Mode::RWXG));
}

/// Raises the limit of open files to the maximum, and returns the new limit.
fn open_files() -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum,
        Err(_) => limit.current,
    }
}

/// The limit that determines how much memory a process can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryLimit {
    Ram,
    /// The limit of the control group, for example of a container or a job.
    ControlGroup,
    /// The limit of the address space (`ulimit -v`).
    AddressSpace,
}

/// Returns the memory that this process can use, in bytes, and what limits it:
/// the RAM, or a lower limit of the control group or of the process.
pub fn usable_memory() -> Option<(u64, MemoryLimit)> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = total.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let limit = |path: &str| {
        std::fs::read_to_string(Path::new(path))
            .ok()?
            .trim()
            .parse::<u64>()
            .ok()
    };
    let group = limit("/sys/fs/cgroup/memory.max")
        .or_else(|| limit("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
    let limits = [
        (Some(kibibytes * 1024), MemoryLimit::Ram),
        (group, MemoryLimit::ControlGroup),
        (getrlimit(Resource::As).current, MemoryLimit::AddressSpace),
    ];
    let limits = limits.into_iter();
    let limits = limits.filter_map(|(bytes, limit)| Some((bytes?, limit)));
    limits.min_by_key(|(bytes, _)| *bytes)
}

/// Identifies the program's file by its version, length and modification time.
fn program_stamp() -> String {
    let stamp = || {
        let file = std::env::current_exe().ok()?.metadata().ok()?;
        let modified = file
            .modified()
            .ok()?
            .duration_since(std::time::UNIX_EPOCH)
            .ok()?;
        Some(format!("{} {}", file.len(), modified.as_nanos()))
    };
    format!(
        "{} {}",
        env!("CARGO_PKG_VERSION"),
        stamp().unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_similar_variable_may_have_another_prefix() {
        for (name, expected) in [
            ("PREP_DATA_DIR", "did you mean `MLE_BENCH_DATA_DIR`?"),
            ("PREP_CACHEDIR", "did you mean `PREP_CACHE_DIR`?"),
            ("PREP_JOB", "did you mean `PREP_JOBS`?"),
            ("PREP_COLOUR", "so it is ignored"),
        ] {
            let message = unknown_variable(name.to_owned()).unwrap();
            assert!(message.ends_with(expected), "{message}");
        }
        assert_eq!(unknown_variable(JOBS.to_owned()), None);
        assert_eq!(unknown_variable("PATH".to_owned()), None);
    }

    fn bare(variable: fn(&str) -> Option<OsString>) -> Environment {
        Environment {
            variable,
            home: Some("/home/u".into()),
            current_dir: None,
            processors: 8,
            memory: Some(32 << 30),
            open_files: None,
            program: "p".into(),
            boot: None,
            files: ConfigFiles::read,
        }
    }

    fn resolve(
        global: &Global,
        environment: &Environment,
    ) -> Result<(CliSession, Vec<String>), CliError> {
        CliSession::resolve(global, environment, clap::Command::default)
    }

    fn session(global: &Global, environment: &Environment) -> CliSession {
        resolve(global, environment).unwrap().0
    }

    #[test]
    fn defaults_depend_on_the_home_directory_and_the_system() {
        let settings = session(&Global::default(), &bare(|_| None)).settings;
        assert!(settings.data_dir.starts_with("/home/u"));
        assert!(settings.data_dir.ends_with("mle-bench/data"));
        assert!(settings.store_dir.ends_with("prep"));
        assert_eq!((settings.jobs, settings.memory), (8, 16 << 30));
        assert_eq!(settings.pipelines, None);
        assert!(settings.packs.unwrap().ends_with("prep/packs"));
        assert_eq!(color(&Global::default(), &bare(|_| None)), Color::Auto);
    }

    #[test]
    fn options_precede_variables_and_variables_precede_defaults() {
        let environment = bare(|name| match name {
            "PREP_JOBS" => Some("5".into()),
            "PREP_MEMORY" => Some("9B".into()),
            "PREP_LINK_MODE" => Some("reflink".into()),
            "PREP_SHARED" | "PREP_SKIP_BUNDLE_VERIFICATION" => Some("yes".into()),
            "PREP_SKIP_VERIFICATION" => Some("no".into()),
            "PREP_STATUS_SECONDS" => Some("1".into()),
            other => Some(OsString::from(format!("/env/{other}"))),
        });
        let CliSession {
            settings,
            remembered,
            places,
            is_shared,
            printer,
            ..
        } = session(&Global::default(), &environment);
        assert!(is_shared);
        assert_eq!(
            remembered.source.as_deref(),
            Some(Path::new("/env/PREP_SOURCE"))
        );
        assert_eq!(remembered.verify, Some(prep_app::Verify::Outputs));
        assert_eq!(remembered.link_mode, Some(LinkMode::Reflink));
        assert_eq!((settings.jobs, settings.memory), (5, 9));
        assert_eq!(printer.line_interval, Duration::from_secs(1));
        assert_eq!(places.origin("jobs"), "PREP_JOBS");
        assert_eq!(settings.data_dir, Path::new("/env/MLE_BENCH_DATA_DIR"));
        assert_eq!(settings.store_dir, Path::new("/env/PREP_CACHE_DIR"));
        assert_eq!(
            settings.pipelines.as_deref(),
            Some(Path::new("/env/PREP_PIPELINES"))
        );
        assert_eq!(
            settings.packs.as_deref(),
            Some(Path::new("/env/PREP_PACKS"))
        );
        assert_eq!(color(&Global::default(), &environment), Color::Never);
        let global = Global {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            pipelines: Some("/p".into()),
            jobs: Some(3),
            memory: Some(7),
            color: Color::Always,
            ..Global::default()
        };
        let settings = session(&global, &environment).settings;
        assert_eq!(settings.data_dir, Path::new("/d"));
        assert_eq!(settings.store_dir, Path::new("/c"));
        assert_eq!(settings.pipelines.as_deref(), Some(Path::new("/p")));
        assert_eq!((settings.jobs, settings.memory), (3, 7));
        assert_eq!(color(&global, &environment), Color::Always);
    }

    #[test]
    fn empty_variables_and_relative_cache_homes_are_ignored() {
        let environment = bare(|name| match name {
            "XDG_CACHE_HOME" => Some("relative".into()),
            _ => Some(OsString::new()),
        });
        let settings = session(&Global::default(), &environment).settings;
        assert!(settings.store_dir.starts_with("/home/u"));
        let environment = bare(|name| (name == "XDG_CACHE_HOME").then(|| "/x".into()));
        let settings = session(&Global::default(), &environment).settings;
        assert_eq!(settings.store_dir, Path::new("/x/prep"));
    }

    #[test]
    fn kaggles_endpoint_and_credentials_come_from_its_variables() {
        let kaggle = session(&Global::default(), &bare(|_| None)).kaggle;
        assert_eq!(kaggle.endpoint, prep_fetch::ENDPOINT);
        assert_eq!(
            kaggle.config_dirs,
            [
                Path::new("/home/u/.kaggle"),
                Path::new("/home/u/.config/kaggle")
            ]
        );
        let environment = bare(|name| match name {
            "KAGGLE_API_ENDPOINT" => Some("http://localhost:1/api".into()),
            "KAGGLE_API_TOKEN" => Some("not-shown".into()),
            _ => None,
        });
        let kaggle = session(&Global::default(), &environment).kaggle;
        assert_eq!(kaggle.endpoint, "http://localhost:1/api");
        let found = kaggle.credentials().unwrap();
        assert_eq!(found.origin.to_string(), "KAGGLE_API_TOKEN");
    }

    #[test]
    fn the_limit_of_open_files_limits_the_jobs() {
        for (files, wanted, expected) in [
            (1024, 8, 8),
            (1_048_576, 64, 64),
            (64, 64, 5),
            (64, 2, 2),
            (16, 4, 1),
            (0, 0, 1),
        ] {
            assert_eq!(
                jobs_within(files, wanted),
                expected,
                "{files} files, {wanted} jobs wanted"
            );
        }
        let environment = Environment {
            open_files: Some(64),
            ..bare(|_| None)
        };
        let (resolved, warnings) = resolve(&Global::default(), &environment).unwrap();
        assert_eq!(resolved.settings.jobs, 5);
        let warning = warnings.join("; ");
        assert!(
            warning.contains("64 files") && warning.contains("5 jobs instead of 8"),
            "{warning}"
        );
    }

    #[test]
    fn directories_must_be_named_if_there_is_no_home_directory() {
        let environment = Environment {
            home: None,
            ..bare(|_| None)
        };
        let error = resolve(&Global::default(), &environment).unwrap_err();
        assert!(error.help.unwrap().contains("--data-dir"));
    }
}
