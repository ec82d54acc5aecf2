//! Where things are and how much may be used. The only place that reads the environment, the home folder and the machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use prep_fetch::{CredentialsError, Found};

use crate::args::{Color, Global};
use crate::error::CliError;

/// Everything that an option, a variable or the machine decides.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `DATA/ID/prepared`, `DATA/ID/ID.zip`.
    pub data_dir: PathBuf,
    /// The content-addressed store.
    pub store_dir: PathBuf,
    /// Pipelines besides the built-in ones.
    pub pipelines: Option<PathBuf>,
    /// Steps side by side, and threads of one step.
    pub jobs: usize,
    /// Bytes.
    pub memory: u64,
    pub color: Color,
    /// Changes whenever the program does: its version and the stamp of its file.
    pub program: String,
    /// Changes whenever the machine starts; none where that cannot be told.
    pub boot: Option<String>,
    pub kaggle: Kaggle,
}

/// Kaggle's API, and where credentials for it may be.
#[derive(Debug, Clone)]
pub struct Kaggle {
    pub endpoint: String,
    variable: fn(&str) -> Option<OsString>,
    config_dirs: Vec<PathBuf>,
}

impl Kaggle {
    /// The credentials, from variables or files.
    ///
    /// # Errors
    /// When there are none, or those that are found first cannot be used.
    pub fn credentials(&self) -> Result<Found, CredentialsError> {
        let variable = |name: &str| (self.variable)(name)?.into_string().ok();
        prep_fetch::find(&variable, &self.config_dirs)
    }
}

/// What the machine and the process's surroundings offer.
pub struct Surroundings {
    pub variable: fn(&str) -> Option<OsString>,
    pub home: Option<PathBuf>,
    pub processors: usize,
    /// Bytes of memory that this process may use, if that can be told.
    pub memory: Option<u64>,
    pub program: String,
    pub boot: Option<String>,
}

/// Memory where the machine's is unknown.
const UNKNOWN_MEMORY: u64 = 8 << 30;

impl Surroundings {
    /// Those of this process.
    pub fn of_process() -> Surroundings {
        Surroundings {
            variable: |name| std::env::var_os(name),
            home: std::env::home_dir(),
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            memory: machine_memory(),
            program: program_stamp(),
            boot: boot(),
        }
    }

    /// A variable that is set and not empty.
    fn set(&self, name: &str) -> Option<OsString> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.set(name).map(PathBuf::from)
    }

    /// The user's folder for caches: `XDG_CACHE_HOME`, else the system's usual place below the home folder.
    fn cache_home(&self) -> Option<PathBuf> {
        let usual = if cfg!(target_os = "macos") {
            "Library/Caches"
        } else {
            ".cache"
        };
        self.path("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| self.home.as_ref().map(|home| home.join(usual)))
    }

    /// Kaggle's own client looks for its files in these folders.
    fn kaggle(&self) -> Kaggle {
        let config = self
            .path("XDG_CONFIG_HOME")
            .or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        let folders = [
            self.home.as_ref().map(|home| home.join(".kaggle")),
            config.map(|config| config.join("kaggle")),
        ];
        Kaggle {
            endpoint: self
                .set("KAGGLE_API_ENDPOINT")
                .and_then(|value| value.into_string().ok())
                .unwrap_or_else(|| prep_fetch::ENDPOINT.to_owned()),
            variable: self.variable,
            config_dirs: folders.into_iter().flatten().collect(),
        }
    }
}

impl Settings {
    /// Options before variables before defaults.
    ///
    /// # Errors
    /// When a folder is neither named nor can be derived from a home folder.
    pub fn resolve(global: &Global, around: &Surroundings) -> Result<Settings, CliError> {
        let folder = |option: &Option<PathBuf>, variable: &str, default: &str, flag: &str| {
            option
                .clone()
                .or_else(|| around.path(variable))
                .or_else(|| around.cache_home().map(|home| home.join(default)))
                .ok_or_else(|| {
                    CliError::usage("there is no home folder to keep data in")
                        .help(format!("name a folder with {flag} or {variable}"))
                })
        };
        let no_color = around.set("NO_COLOR").is_some();
        Ok(Settings {
            data_dir: folder(
                &global.data_dir,
                "MLE_BENCH_DATA_DIR",
                "mle-bench/data",
                "--data-dir",
            )?,
            store_dir: folder(&global.cache_dir, "PREP_CACHE_DIR", "prep", "--cache-dir")?,
            pipelines: global
                .pipelines
                .clone()
                .or_else(|| around.path("PREP_PIPELINES")),
            jobs: global.jobs.unwrap_or(around.processors).max(1),
            memory: global
                .memory
                .unwrap_or_else(|| around.memory.unwrap_or(UNKNOWN_MEMORY) / 2),
            color: match global.color {
                Color::Auto if no_color => Color::Never,
                color => color,
            },
            program: around.program.clone(),
            boot: around.boot.clone(),
            kaggle: around.kaggle(),
        })
    }
}

/// RAM, or the limit of the control group if that is lower.
fn machine_memory() -> Option<u64> {
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
    Some((kibibytes * 1024).min(group.unwrap_or(u64::MAX)))
}

/// The kernel's name for the time since the machine started. Linux has one.
fn boot() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let id = text.trim();
    (!id.is_empty()).then(|| id.to_owned())
}

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
    use super::*;

    fn bare(variable: fn(&str) -> Option<OsString>) -> Surroundings {
        Surroundings {
            variable,
            home: Some("/home/u".into()),
            processors: 8,
            memory: Some(32 << 30),
            program: "p".into(),
            boot: None,
        }
    }

    #[test]
    fn defaults_come_from_home_and_machine() {
        let settings = Settings::resolve(&Global::default(), &bare(|_| None)).unwrap();
        assert!(settings.data_dir.starts_with("/home/u"));
        assert!(settings.data_dir.ends_with("mle-bench/data"));
        assert!(settings.store_dir.ends_with("prep"));
        assert_eq!((settings.jobs, settings.memory), (8, 16 << 30));
        assert_eq!((settings.pipelines, settings.color), (None, Color::Auto));
    }

    #[test]
    fn variables_go_before_defaults_and_options_before_variables() {
        let around = bare(|name| Some(OsString::from(format!("/env/{name}"))));
        let settings = Settings::resolve(&Global::default(), &around).unwrap();
        assert_eq!(settings.data_dir, Path::new("/env/MLE_BENCH_DATA_DIR"));
        assert_eq!(settings.store_dir, Path::new("/env/PREP_CACHE_DIR"));
        assert_eq!(
            settings.pipelines.as_deref(),
            Some(Path::new("/env/PREP_PIPELINES"))
        );
        assert_eq!(settings.color, Color::Never);
        let global = Global {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            pipelines: Some("/p".into()),
            jobs: Some(3),
            memory: Some(7),
            color: Color::Always,
            ..Global::default()
        };
        let settings = Settings::resolve(&global, &around).unwrap();
        assert_eq!(settings.data_dir, Path::new("/d"));
        assert_eq!(settings.store_dir, Path::new("/c"));
        assert_eq!(settings.pipelines.as_deref(), Some(Path::new("/p")));
        assert_eq!(
            (settings.jobs, settings.memory, settings.color),
            (3, 7, Color::Always)
        );
    }

    #[test]
    fn empty_variables_and_relative_cache_homes_count_as_unset() {
        let around = bare(|name| match name {
            "XDG_CACHE_HOME" => Some("relative".into()),
            _ => Some(OsString::new()),
        });
        let settings = Settings::resolve(&Global::default(), &around).unwrap();
        assert!(settings.store_dir.starts_with("/home/u"));
        let around = bare(|name| (name == "XDG_CACHE_HOME").then(|| "/x".into()));
        let settings = Settings::resolve(&Global::default(), &around).unwrap();
        assert_eq!(settings.store_dir, Path::new("/x/prep"));
    }

    #[test]
    fn kaggle_is_asked_where_its_variables_say() {
        let settings = Settings::resolve(&Global::default(), &bare(|_| None)).unwrap();
        assert_eq!(settings.kaggle.endpoint, prep_fetch::ENDPOINT);
        assert_eq!(
            settings.kaggle.config_dirs,
            [
                Path::new("/home/u/.kaggle"),
                Path::new("/home/u/.config/kaggle")
            ]
        );
        let around = bare(|name| match name {
            "KAGGLE_API_ENDPOINT" => Some("http://localhost:1/api".into()),
            "KAGGLE_API_TOKEN" => Some("not shown".into()),
            _ => None,
        });
        let kaggle = Settings::resolve(&Global::default(), &around)
            .unwrap()
            .kaggle;
        assert_eq!(kaggle.endpoint, "http://localhost:1/api");
        let found = kaggle.credentials().unwrap();
        assert_eq!(found.origin.to_string(), "KAGGLE_API_TOKEN");
    }

    #[test]
    fn without_a_home_the_folders_must_be_named() {
        let around = Surroundings {
            home: None,
            ..bare(|_| None)
        };
        let error = Settings::resolve(&Global::default(), &around).unwrap_err();
        assert!(error.help.unwrap().contains("--data-dir"));
    }
}
