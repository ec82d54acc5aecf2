//! Options that say how competitions are prepared, and what they mean to the library.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use prep_app::{Expand, Options, Settings};
use prep_spec::{BASE_VARIANT, known_variants};

use crate::downloads;
use crate::remote::RemoteArgs;
use crate::session::Session;

/// Heading of these options in the help. A heading of the struct would also apply to the options after it.
const HEADING: &str = "Preparation";

/// Options that decide what a pipeline's steps are.
#[derive(Debug, Default, Clone, Args)]
pub struct How {
    /// v1: byte-identical to the benchmark; fixed: with its known mistakes corrected
    #[arg(long, value_name = "NAME", default_value = BASE_VARIANT, value_parser = PossibleValuesParser::new(known_variants()), help_heading = HEADING)]
    pub variant: String,
    /// Folder with bundles that are there already: DIR/ID.zip or DIR/ID/ID.zip (files of further sources: DIR/FILE or
    /// DIR/ID/FILE); the data folder is searched next, then the bundle is downloaded from Kaggle
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    pub source: Option<PathBuf>,
    /// Download nothing: a bundle that is not there is an error
    #[arg(long, help_heading = HEADING)]
    pub no_download: bool,
    /// Download only the members of a bundle that the pipeline reads; its MD5 cannot be checked then
    #[arg(long, help_heading = HEADING)]
    pub partial: bool,
    /// Accept a bundle with another MD5 than the published one (one that was zipped anew, say); what is made of it must
    /// still have the published checksums
    #[arg(long, help_heading = HEADING)]
    pub skip_bundle_verification: bool,
    /// Compare neither bundles nor outputs with the published checksums
    #[arg(long, help_heading = HEADING)]
    pub skip_verification: bool,
    /// Unpack zip, tar and 7z archives where they are published in `public`: train.zip as train/. What is made, and its
    /// checksums, stay the same; a run without this takes the folders away
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = "beside", help_heading = HEADING)]
    pub expand_archives: Option<ExpandArg>,
}

/// Where the folder of an archive stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExpandArg {
    // Without documentation, or all help gets long: beside the archive, or in its place.
    Beside,
    Instead,
}

impl From<ExpandArg> for Expand {
    fn from(argument: ExpandArg) -> Expand {
        match argument {
            ExpandArg::Beside => Expand::Beside,
            ExpandArg::Instead => Expand::Instead,
        }
    }
}

/// Which of the variants that lie side by side in a data folder is meant.
#[derive(Debug, Default, Clone, Args)]
pub struct Which {
    /// Of the data prepared as this variant: v1, or fixed (which is in DATA/fixed)
    #[arg(long, value_name = "NAME", default_value = BASE_VARIANT, value_parser = PossibleValuesParser::new(known_variants()))]
    pub variant: String,
}

impl Which {
    /// Settings with that variant's data folder.
    pub fn settings(&self, session: &Session) -> Settings {
        session.settings.of_variant(&self.variant)
    }
}

/// How a run goes about its work.
#[derive(Debug, Default, Clone, Args)]
pub struct Conduct {
    /// Go on with the other competitions when one fails (this is the default)
    #[arg(long, short = 'k', overrides_with = "fail_fast")]
    pub keep_going: bool,
    /// Start nothing new once a competition has failed
    #[arg(long, overrides_with = "keep_going")]
    pub fail_fast: bool,
    #[command(flatten)]
    pub limits: downloads::Limits,
    #[command(flatten)]
    pub remote: RemoteArgs,
    /// Keep bundles in the data folder (this is the default)
    #[arg(long, overrides_with = "discard_bundle", help_heading = "Downloads")]
    pub keep_bundle: bool,
    /// Remove DATA/ID/ID.zip and DATA/ID/sources once the competition is prepared; they are downloaded again if their files
    /// are needed
    #[arg(long, overrides_with = "keep_bundle", help_heading = "Downloads")]
    pub discard_bundle: bool,
}

impl How {
    /// With what a run does beyond that.
    pub fn options(&self, conduct: &Conduct) -> Options {
        Options {
            variant: self.variant.clone(),
            source: self.source.clone(),
            download: !self.no_download,
            partial: self.partial,
            check_bundle: !self.skip_bundle_verification,
            check_outputs: !self.skip_verification,
            expand: self.expand_archives.map(Expand::from),
            locked: false,
            available_only: false,
            keep_going: !conduct.fail_fast,
            keep_bundles: !conduct.discard_bundle,
        }
    }
}
