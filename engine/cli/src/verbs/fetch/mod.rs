//! `prep fetch`: downloads bundles without preparing anything.

mod rules;

use clap::Args;
use prep_app::{BundleListing, ListedSource, PreparationOptions, RememberedOptions, Verify};
use prep_core::units;
use serde_json::json;

use self::rules::RulesArgs;
use crate::downloads::{DownloadLimits, Purpose};
use crate::interrupt;
use crate::options::SourceArg;
use crate::output::table::PrintedTable;
use crate::remote::RemoteArgs;
use crate::select::{Selection, UnitArg};
use crate::session::{CliSession, VerbResult};

/// Download bundles, list their files, or check rules
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep fetch --lite --max-rate 20MB
  prep fetch --check-rules --lite --open
  prep fetch --list plant-pathology-2020-fgvc7 --json | jq '.competitions[0].files | length'

The command prints the path of each bundle. A bundle that you have is checked and not downloaded again. With a remote, bundles are sent to its mirror, and bundles that the mirror has are not downloaded.",
    after_long_help = LONG_EXAMPLES)]
pub struct FetchArgs {
    #[command(flatten)]
    selection: Selection,
    /// List the files of bundles; download nothing
    #[arg(long, conflicts_with = "check_rules")]
    list: bool,
    /// With --list: send no request to Kaggle
    #[arg(long, requires = "list")]
    no_download: bool,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    source: SourceArg,
    /// Accept a bundle whose MD5 is not the published one
    #[arg(long)]
    skip_bundle_verification: bool,
    /// With a remote: delete the local bundle once it is in the mirror
    #[arg(long, help_heading = "Downloads")]
    discard_bundle: bool,
    #[command(flatten)]
    unit: UnitArg,
    #[command(flatten)]
    limits: DownloadLimits,
    #[command(flatten)]
    remote: RemoteArgs,
}

const LONG_EXAMPLES: &str = "\
Examples:
  prep fetch --lite --max-rate 20MB
  prep fetch --check-rules --lite --open
  prep fetch --check-rules --all --json | jq -r '.competitions[] | select(.state == \"not_accepted\") | .url'
  prep fetch --list plant-pathology-2020-fgvc7 --json | jq '.competitions[0].files | length'

The command prints the path of each bundle. A bundle that you have is checked and not downloaded again. With a remote, bundles are sent to its mirror, and bundles that the mirror has are not downloaded.

--check-rules downloads one byte of each bundle, because an address alone does not prove access. Kaggle limits requests, \
so prep asks for one competition at a time and stops at the first \"too many requests\". prep remembers accepted rules for \
the account; run the command again to check the rest. The exit code is 0 if you may download all bundles, 7 if Kaggle \
limits requests or cannot be reached, and 4 if you must accept rules, Kaggle refuses the credentials or does not know a \
competition.

--list asks Kaggle for the listing of a bundle that you do not have. The id may be that of any competition. `used` marks \
the files that the pipeline reads; `prep run --partial` downloads only those.";

impl FetchArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let ids = self.selection.ids(session)?;
        if self.list {
            return list(session, &ids, &self.source, self.no_download);
        }
        if self.rules.check_rules {
            return self.rules.check(session, &ids);
        }
        let session = &session.linked(&self.remote)?;
        let given = RememberedOptions {
            source: self.source.dir().map(ToOwned::to_owned),
            verify: self.skip_bundle_verification.then_some(Verify::Outputs),
            ..RememberedOptions::default()
        };
        let options = PreparationOptions {
            keep_bundles: !self.discard_bundle,
            ..session.options_with(given)
        };
        let task = session.task(options, &self.limits, Purpose::Download)?;
        let ids = self.unit.part(session, &task.catalog, ids)?;
        for id in &ids {
            task.catalog.get(id)?;
        }
        if session.settings.remote.is_none() {
            prep_app::require_credentials_for(&task, &ids)?;
        }
        let (_watching, cancel) = interrupt::watched(&session.printer)?;
        let fetched = session.for_each_id(&ids, |id| {
            let path = match session.settings.remote {
                None => Some(prep_app::fetch(&task, id, &cancel)?),
                Some(_) => {
                    prep_app::mirror(&task, id, &cancel)?;
                    None
                }
            };
            if !session.printer.json {
                session.printer.result(&match &path {
                    Some(path) => format!("{}\n", path.display()),
                    None => format!("{id} is in the mirror\n"),
                })?;
            }
            Ok(path)
        });
        fetched.print_json(&session.printer, |id, path| match path {
            Some(path) => json!({ "id": id, "path": path }),
            None => json!({ "id": id, "mirrored": true }),
        })?;
        Ok(fetched.exit())
    }
}

/// Lists the files of the bundles of `ids`.
pub fn list(
    session: &CliSession,
    ids: &[String],
    source: &SourceArg,
    no_download: bool,
) -> VerbResult {
    let options = session.options_with(RememberedOptions {
        source: source.dir().map(ToOwned::to_owned),
        ..RememberedOptions::default()
    });
    let purpose = Purpose::request_unless(no_download);
    let task = session.task(options, &DownloadLimits::default(), purpose)?;
    let listings = session.for_each_id(ids, |id| {
        let listing = prep_app::listing(&task, id)?;
        if !session.printer.json {
            session.printer.result(&render(&listing))?;
            session.printer.message(sum(&listing));
        }
        Ok(listing)
    });
    listings.print_json(&session.printer, |_, listing| json!(listing))?;
    Ok(listings.exit())
}

fn render(listing: &BundleListing) -> String {
    let mut table = PrintedTable::with_header(">size  >in bundle  used  file");
    for row in &listing.files {
        table.row(vec![
            units::bytes(row.bytes),
            units::bytes(row.compressed_bytes),
            if row.used { "used" } else { "-" }.to_owned(),
            row.path.clone(),
        ]);
    }
    let mut text = table.render();
    if !listing.sources.is_empty() {
        text.push_str(&format!("\n{}", render_sources(&listing.sources)));
    }
    text
}

fn render_sources(rows: &[ListedSource]) -> String {
    let mut table = PrintedTable::with_header(">size  source  place");
    for row in rows {
        let source = &row.source;
        let place = match (&source.path, &source.url) {
            (Some(path), _) => path.display().to_string(),
            (None, Some(url)) => url.clone(),
            (None, None) => "a missing directory".to_owned(),
        };
        let file = source.file.as_deref().unwrap_or_default();
        table.row(vec![
            row.bytes.map_or("-".to_owned(), units::bytes),
            format!("{}:{file}", source.name),
            place,
        ]);
    }
    table.render()
}

/// Summarizes a listing in one sentence.
fn sum(listing: &BundleListing) -> String {
    let place = match &listing.bundle {
        Some(path) => path.display().to_string(),
        None => "on Kaggle".to_owned(),
    };
    let mut text = format!(
        "{} in {} ({place})",
        units::count(listing.files.len() as u64, "file"),
        units::bytes(listing.bytes)
    );
    if let Some(used) = listing.used_bytes {
        text.push_str(&format!("; the pipeline uses {}", units::bytes(used)));
    }
    text
}
