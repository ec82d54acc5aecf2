//! Options that several verbs share: the variant, the directory of bundles, and how competitions are prepared.

use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{
    Error, Expand, GradeOverrides, GradingLog, Identity, PreparationOptions, RememberedOptions,
    Settings, Verify,
};
use prep_remote::SigningKey;
use prep_spec::{BASE_VARIANT, Corrections};

use crate::error::{CliError, Exit};
use crate::forms;
use crate::global::{named, switch};
use crate::output::printer::write_atomically;
use crate::session::CliSession;

/// Heading of the preparation options in the help.
/// Each option states this heading. If the struct stated the heading, clap would also apply it to all later options.
const HEADING: &str = "Preparation";

/// The variant of the pipelines.
#[derive(Debug, Default, Clone, Args)]
pub struct VariantArg {
    /// v1 (as upstream), fixed (all corrections), or e.g. fixed:63,30 (only these)
    ///
    /// `v1` is byte-identical to upstream. `fixed` has all corrections, `fixed:63,30` only those for upstream's issues
    /// 63 and 30. A correction without an issue has a word as its name. `prep list --json` shows all names.
    #[arg(long, value_name = "NAME", default_value = BASE_VARIANT, value_parser = variant_name, help_heading = HEADING)]
    pub variant: String,
}

/// Parses a variant, and sorts its corrections.
pub fn variant_name(text: &str) -> Result<String, String> {
    Corrections::parse(text).map(|variant| variant.to_string())
}

impl VariantArg {
    pub fn settings(&self, session: &CliSession) -> Settings {
        session.settings.of_variant(&self.variant)
    }
}

/// A directory with bundles.
#[derive(Debug, Default, Clone, Args)]
pub struct SourceArg {
    /// Directory with bundles that you have: DIR/ID.zip or DIR/ID/ID.zip
    ///
    /// An input of a pipeline other than the bundle is DIR/FILE or DIR/ID/FILE. If DIR lacks a bundle or another input, prep
    /// searches the data directory.
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    source: Option<PathBuf>,
}

impl SourceArg {
    pub fn dir(&self) -> Option<&Path> {
        self.source.as_deref()
    }

    /// Returns the directory from the option, otherwise from the settings.
    pub fn or_setting<'a>(&'a self, session: &'a CliSession) -> Option<&'a Path> {
        self.dir().or(session.remembered.source.as_deref())
    }
}

/// Options of preparation: the variant, the bundle, what is verified, and whether archives are unpacked.
#[derive(Debug, Default, Clone, Args)]
pub struct PreparationArgs {
    #[command(flatten)]
    pub variant: VariantArg,
    #[command(flatten)]
    pub source: SourceArg,
    /// If the bundle is missing, use the latest results in the cache
    ///
    /// The cache may have results of a bundle that was never used in this data directory. Without this option, prep does
    /// not use such results. With this option, prep shows the bundle's checksum and path, and the date of the results.
    #[arg(long, help_heading = HEADING)]
    pub from_cache: bool,
    /// Download only the members of a bundle that the pipeline reads
    ///
    /// The MD5 of such a partial bundle is not checked. A complete bundle on this machine is still used and checked.
    #[arg(long, value_name = SWITCH, value_parser = switch(), num_args = 0..=1, require_equals = true, default_missing_value = "yes", hide_possible_values = true, help_heading = HEADING)]
    pub partial: Option<bool>,
    /// Accept a bundle whose MD5 is not the published one
    ///
    /// For example, accept a bundle that was compressed again. Outputs must still have their published checksums.
    #[arg(long, value_name = SWITCH, value_parser = switch(), num_args = 0..=1, require_equals = true, default_missing_value = "yes", hide_possible_values = true, help_heading = HEADING)]
    pub skip_bundle_verification: Option<bool>,
    /// Do not compare bundles and outputs with published checksums
    ///
    /// If the last run used this option or `--skip-bundle-verification`, `--skip-verification=no` turns off both.
    #[arg(long, value_name = SWITCH, value_parser = switch(), num_args = 0..=1, require_equals = true, default_missing_value = "yes", hide_possible_values = true, help_heading = HEADING)]
    pub skip_verification: Option<bool>,
    #[command(flatten)]
    pub expand: ExpandArgs,
    /// Use no options of the last run
    ///
    /// Without this option, a competition is prepared with the options of its last run in this data directory: --source,
    /// --partial, --skip-verification, --skip-bundle-verification, --expand-archives, --link-mode and --descriptions.
    /// Options that you give, and settings, have precedence.
    #[arg(long, hide_short_help = true, help_heading = HEADING)]
    pub forget_options: bool,
}

const SWITCH: &str = "yes|no";

impl PreparationArgs {
    pub fn options(&self, session: &CliSession) -> PreparationOptions {
        self.options_with(session, RememberedOptions::default())
    }

    /// Same as [`options`](Self::options), with `further`, the options that only one verb has.
    pub fn options_with(
        &self,
        session: &CliSession,
        further: RememberedOptions,
    ) -> PreparationOptions {
        let given = RememberedOptions {
            source: self.source.dir().map(ToOwned::to_owned),
            partial: self.partial,
            verify: verify(self.skip_verification, self.skip_bundle_verification),
            expand_archives: self.expand.expand_archives,
            ..further
        };
        let options = session.options_with(given);
        PreparationOptions {
            variant: self.variant.variant.clone(),
            from_cache: self.from_cache,
            recalls: !self.forget_options,
            ..options
        }
    }
}

/// Combines `--skip-verification` and `--skip-bundle-verification` into one remembered option.
/// Returns `None` if neither is given. If one of the two is given, the last run's values of both do not apply.
pub fn verify(skip: Option<bool>, skip_bundle: Option<bool>) -> Option<Verify> {
    match (skip, skip_bundle) {
        (None, None) => None,
        (Some(true), _) => Some(Verify::Nothing),
        (_, Some(true)) => Some(Verify::Outputs),
        _ => Some(Verify::All),
    }
}

/// Whether archives in `public` are unpacked.
#[derive(Debug, Default, Clone, Args)]
pub struct ExpandArgs {
    /// Unpack archives in `public`: train.zip as train/ [HOW: beside, instead, no]
    ///
    /// `beside` keeps the archive, `instead` replaces it. prep still compares the archives with the published checksums.
    /// A later run with `no` removes the directories.
    #[arg(long, value_name = "HOW", value_parser = named(EXPAND), num_args = 0..=1, require_equals = true, default_missing_value = "beside", hide_possible_values = true, help_heading = HEADING)]
    pub expand_archives: Option<Expand>,
}

const EXPAND: [(&str, Expand); 3] = [
    ("beside", Expand::Beside),
    ("instead", Expand::Instead),
    ("no", Expand::No),
];

/// Whether gradings are logged.
#[derive(Debug, Clone, Default, Args)]
pub struct LogArgs {
    /// Do not log gradings in DATA/grades.jsonl
    #[arg(long)]
    no_log: bool,
}

impl LogArgs {
    /// Returns the log. A failed write is an error if `is_required` is true, otherwise a warning.
    pub fn log(&self, session: &CliSession, is_required: bool) -> GradingLog {
        let printer = session.printer.clone();
        match self.no_log {
            true => GradingLog::disabled(),
            false => GradingLog::new(move |error| match is_required {
                true => Err(error.help(
                    "make the log writable, or sign the report without a log entry: --no-log",
                )),
                false => {
                    printer.warning(error);
                    Ok(())
                }
            }),
        }
    }
}

/// Whether reports are signed.
#[derive(Debug, Clone, Default, Args)]
pub struct SignArgs {
    /// Sign the report with this key, created by `prep remote key new NAME`
    #[arg(long, value_name = "KEY")]
    sign: Option<String>,
}

impl SignArgs {
    pub fn is_requested(&self) -> bool {
        self.sign.is_some()
    }

    /// Reads the key, if reports are signed. Rejects a key that other users can read.
    pub fn key(&self, session: &CliSession) -> Result<Option<SigningKey>, CliError> {
        let load = |name: &String| Ok(SigningKey::load(&session.keys()?, name)?);
        self.sign.as_ref().map(load).transpose()
    }
}

/// Option that names the identity of a grader.
#[derive(Debug, Clone, Default, Args)]
pub struct IdentityArg {
    /// File with the secret key that opens sealed answers; - for stdin
    #[arg(long, value_name = "FILE")]
    identity: Option<PathBuf>,
}

impl IdentityArg {
    /// Returns a session whose settings contain the identity, if the option is given.
    pub fn session(&self, session: &CliSession) -> Result<CliSession, CliError> {
        let mut session = session.clone();
        let Some(path) = &self.identity else {
            return Ok(session);
        };
        let text = match path.as_os_str() == "-" {
            true => std::io::read_to_string(std::io::stdin()),
            false => std::fs::read_to_string(path),
        };
        let text = text.map_err(|error| Error::reading("read the identity", path, &error))?;
        let identity = Identity::parse(&text);
        let wrong = |error| CliError::new(Exit::Input, format!("{}: {error}", path.display()));
        session.settings.identity = Some(identity.map_err(wrong)?);
        if path.as_os_str() != "-" {
            prep_remote::require_closed(path)?;
        }
        Ok(session)
    }
}

/// Options that replace the answers and the leaderboard.
#[derive(Debug, Clone, Default, Args)]
pub struct GivenArgs {
    /// Compare with these answers instead of the prepared ones; not verified
    #[arg(long, value_name = "FILE")]
    pub answers: Option<PathBuf>,
    /// Rank on this leaderboard: a CSV with the column `score`, best first
    #[arg(long, value_name = "FILE.csv")]
    pub leaderboard: Option<PathBuf>,
}

impl GivenArgs {
    /// Returns an error if an option does not apply to a single submission that is graded with the answers of `--answers`
    /// or, without this option, with the prepared answers.
    pub fn check_forms(&self, verb: &str) -> Result<(), CliError> {
        if self.leaderboard.is_some() && self.answers.is_none() {
            return Err(CliError::usage("--leaderboard needs --answers")
                .help("add --answers FILE; with the prepared answers, `prep` always uses the leaderboard of the competition"));
        }
        let prepared = self.answers.is_none().then_some(forms::PREPARED_ANSWERS);
        forms::check(
            verb,
            &[&[forms::SUBMISSION][..], prepared.as_slice()].concat(),
        )
    }

    /// Returns the answers and the leaderboard that the user named, or `None` without `--answers`.
    pub fn overrides(&self) -> Option<GradeOverrides> {
        Some(GradeOverrides {
            answers: self.answers.clone()?,
            leaderboard: self.leaderboard.clone(),
        })
    }
}

/// Where a text result is written.
#[derive(Debug, Default, Clone, Args)]
pub struct OutputArg {
    /// Write to FILE instead of stdout
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl OutputArg {
    pub fn path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// Writes `text` to the file that the option names, otherwise to stdout.
    pub fn write(&self, session: &CliSession, text: &str) -> Result<(), CliError> {
        match &self.output {
            Some(path) => Ok(write_atomically(path, |out| {
                out.write_all(text.as_bytes())
            })?),
            None => session.printer.result(text),
        }
    }
}
