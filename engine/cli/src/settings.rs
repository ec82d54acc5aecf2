//! Directories and limits: from options, else from variables, else from the system.

use std::ffi::OsString;
use std::path::PathBuf;

use prep_app::Settings;
use prep_core::units;
use prep_fetch::{CredentialsError, Found};

use crate::error::CliError;
use crate::global::{Color, Global};
use crate::machine::Surroundings;
use crate::places::Places;

/// Everything that an option, a variable or the machine decides.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// What the library wants to know.
    pub settings: Settings,
    pub color: Color,
    pub kaggle: Kaggle,
    pub places: Places,
    /// What the user should know of them.
    pub warning: Option<String>,
}

/// Kaggle's API, and where credentials for it may be.
#[derive(Debug, Clone)]
pub struct Kaggle {
    pub endpoint: String,
    variable: fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
    config_dirs: Vec<PathBuf>,
}

impl Kaggle {
    /// The credentials, from variables or files.
    ///
    /// # Errors
    /// When there are none, or those that are found first cannot be used.
    pub fn credentials(&self) -> Result<Found, CredentialsError> {
        let variable = |name: &str| (self.variable)(name)?.into_string().ok();
        prep_fetch::find(&prep_fetch::Places {
            variable: &variable,
            home: self.home.as_deref(),
            config_dirs: &self.config_dirs,
        })
    }
}

/// Memory where the machine's is unknown.
const UNKNOWN_MEMORY: u64 = 8 << 30;

impl Surroundings {
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

    /// `XDG_CONFIG_HOME/prep`, else `.config/prep` in the home folder.
    fn places(&self, global: &Global) -> Places {
        let options = [
            ("data-dir", global.data_dir.is_some()),
            ("cache-dir", global.cache_dir.is_some()),
            ("pipelines", global.pipelines.is_some()),
            ("jobs", global.jobs.is_some()),
            ("memory", global.memory.is_some()),
        ];
        let options = options.into_iter().filter(|(_, is_set)| *is_set);
        let options = options.map(|(name, _)| name);
        let variables = [
            ("data-dir", "MLE_BENCH_DATA_DIR"),
            ("cache-dir", "PREP_CACHE_DIR"),
            ("pipelines", "PREP_PIPELINES"),
        ];
        let variables = variables.into_iter();
        let variables = variables.filter(|(_, variable)| self.set(variable).is_some());
        let config = self
            .path("XDG_CONFIG_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| self.home.as_ref().map(|home| home.join(".config")));
        Places {
            variable: self.variable,
            config_dir: config.map(|config| config.join("prep")),
            home: self.home.clone(),
            options: options.collect(),
            variables: variables.collect(),
        }
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
            home: self.home.clone(),
            config_dirs: folders.into_iter().flatten().collect(),
        }
    }
}

impl Resolved {
    /// Options before variables before defaults.
    ///
    /// # Errors
    /// When a folder is neither named nor can be derived from a home folder.
    pub fn resolve(global: &Global, around: &Surroundings) -> Result<Resolved, CliError> {
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
        let wanted = global.jobs.unwrap_or(around.processors).max(1);
        let jobs = around
            .open_files
            .map_or(wanted, |files| jobs_within(files, wanted));
        let warning = (jobs < wanted).then(|| {
            format!(
                "only {} files may be open at once, which is enough for {} instead of {wanted}; `ulimit -n` raises that",
                around.open_files.unwrap_or_default(),
                units::count(jobs as u64, "job"),
            )
        });
        let settings = Settings {
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
            jobs,
            memory: global
                .memory
                .unwrap_or_else(|| around.memory.unwrap_or(UNKNOWN_MEMORY) / 2),
            program: around.program.clone(),
            boot: around.boot.clone(),
            remote: None,
        };
        Ok(Resolved {
            settings,
            color: match global.color {
                Color::Auto if no_color => Color::Never,
                color => color,
            },
            kaggle: around.kaggle(),
            places: around.places(global),
            warning,
        })
    }
}

/// Files that are open whatever runs: standard streams, the store's locks, the network.
const FILES_ALWAYS: u64 = 24;
/// Files that a step may have open for each of its threads.
const FILES_PER_JOB: u64 = 8;

/// As many jobs as get along with so many open files; one always.
fn jobs_within(files: u64, wanted: usize) -> usize {
    let possible = files.saturating_sub(FILES_ALWAYS) / FILES_PER_JOB;
    let possible = usize::try_from(possible).unwrap_or(usize::MAX);
    wanted.min(possible).max(1)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn bare(variable: fn(&str) -> Option<OsString>) -> Surroundings {
        Surroundings {
            variable,
            home: Some("/home/u".into()),
            processors: 8,
            memory: Some(32 << 30),
            open_files: None,
            program: "p".into(),
            boot: None,
        }
    }

    #[test]
    fn defaults_come_from_home_and_machine() {
        let Resolved {
            settings, color, ..
        } = Resolved::resolve(&Global::default(), &bare(|_| None)).unwrap();
        assert!(settings.data_dir.starts_with("/home/u"));
        assert!(settings.data_dir.ends_with("mle-bench/data"));
        assert!(settings.store_dir.ends_with("prep"));
        assert_eq!((settings.jobs, settings.memory), (8, 16 << 30));
        assert_eq!((settings.pipelines, color), (None, Color::Auto));
    }

    #[test]
    fn variables_go_before_defaults_and_options_before_variables() {
        let around = bare(|name| Some(OsString::from(format!("/env/{name}"))));
        let Resolved {
            settings, color, ..
        } = Resolved::resolve(&Global::default(), &around).unwrap();
        assert_eq!(settings.data_dir, Path::new("/env/MLE_BENCH_DATA_DIR"));
        assert_eq!(settings.store_dir, Path::new("/env/PREP_CACHE_DIR"));
        assert_eq!(
            settings.pipelines.as_deref(),
            Some(Path::new("/env/PREP_PIPELINES"))
        );
        assert_eq!(color, Color::Never);
        let global = Global {
            data_dir: Some("/d".into()),
            cache_dir: Some("/c".into()),
            pipelines: Some("/p".into()),
            jobs: Some(3),
            memory: Some(7),
            color: Color::Always,
            ..Global::default()
        };
        let Resolved {
            settings, color, ..
        } = Resolved::resolve(&global, &around).unwrap();
        assert_eq!(settings.data_dir, Path::new("/d"));
        assert_eq!(settings.store_dir, Path::new("/c"));
        assert_eq!(settings.pipelines.as_deref(), Some(Path::new("/p")));
        assert_eq!(
            (settings.jobs, settings.memory, color),
            (3, 7, Color::Always)
        );
    }

    #[test]
    fn empty_variables_and_relative_cache_homes_count_as_unset() {
        let around = bare(|name| match name {
            "XDG_CACHE_HOME" => Some("relative".into()),
            _ => Some(OsString::new()),
        });
        let settings = Resolved::resolve(&Global::default(), &around)
            .unwrap()
            .settings;
        assert!(settings.store_dir.starts_with("/home/u"));
        let around = bare(|name| (name == "XDG_CACHE_HOME").then(|| "/x".into()));
        let settings = Resolved::resolve(&Global::default(), &around)
            .unwrap()
            .settings;
        assert_eq!(settings.store_dir, Path::new("/x/prep"));
    }

    #[test]
    fn kaggle_is_asked_where_its_variables_say() {
        let settings = Resolved::resolve(&Global::default(), &bare(|_| None)).unwrap();
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
            "KAGGLE_API_TOKEN" => Some("not-shown".into()),
            _ => None,
        });
        let kaggle = Resolved::resolve(&Global::default(), &around)
            .unwrap()
            .kaggle;
        assert_eq!(kaggle.endpoint, "http://localhost:1/api");
        let found = kaggle.credentials().unwrap();
        assert_eq!(found.origin.to_string(), "KAGGLE_API_TOKEN");
    }

    #[test]
    fn jobs_get_along_with_the_files_that_may_be_open() {
        for (files, wanted, expected) in [
            (1024, 8, 8),
            (1_048_576, 64, 64),
            (64, 64, 5),
            (64, 2, 2),
            (16, 4, 1),
            (0, 0, 1),
        ] {
            assert_eq!(jobs_within(files, wanted), expected, "{files} {wanted}");
        }
        let around = Surroundings {
            open_files: Some(64),
            ..bare(|_| None)
        };
        let resolved = Resolved::resolve(&Global::default(), &around).unwrap();
        assert_eq!(resolved.settings.jobs, 5);
        let warning = resolved.warning.unwrap();
        assert!(
            warning.contains("64 files") && warning.contains("5 jobs instead of 8"),
            "{warning}"
        );
    }

    #[test]
    fn without_a_home_the_folders_must_be_named() {
        let around = Surroundings {
            home: None,
            ..bare(|_| None)
        };
        let error = Resolved::resolve(&Global::default(), &around).unwrap_err();
        assert!(error.help.unwrap().contains("--data-dir"));
    }
}
