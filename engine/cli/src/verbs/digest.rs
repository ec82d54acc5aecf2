//! `prep digest`: prints digests of the data that a score depends on.

use std::io::ErrorKind;

use clap::Args;
use prep_app::{DatasetDigests, Sha256, TreeDigest, combined_digest};
use prep_core::units;
use serde_json::{Value, json};

use crate::error::Exit;
use crate::options::VariantArg;
use crate::output::table::PrintedTable;
use crate::remedy;
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Print digests of the data that scores depend on
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep digest spaceship-titanic
  prep digest --lite
  prep digest spaceship-titanic --json | jq -r .competitions[0].public.sha256

The digests are SHA-256 of the public files, answers, leaderboard, and rules with metric. They are equal on every \
machine; quote the first 12 digits of the first digest. The description is one of the public files. Runs whose \
descriptions have the same digest had the same prompt. You can compute the digest of the public files without prep:
  cd DATA/ID/prepared/public
  find . -type f -exec sha256sum {} + | LC_ALL=C sort -k 2 | sha256sum
Without an ID, the command shows all prepared competitions.")]
pub struct DigestArgs {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    variant: VariantArg,
}

impl DigestArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let catalog = session.catalog()?;
        let settings = self.variant.settings(session);
        let ids = self.selection.ids_or(session, || {
            let all = catalog.iter().map(|entry| entry.id.clone());
            // Selects each directory, even if another program prepared the data. If prep may not read a directory, `facts`
            // returns the error.
            let exists = |id: &String| match settings.prepared_dir(id).metadata() {
                Ok(found) => found.is_dir(),
                Err(error) => error.kind() == ErrorKind::PermissionDenied,
            };
            Ok(all.filter(exists).collect())
        })?;
        let outcomes = session.for_each_id_shown("reading", &ids, |id| {
            Ok(prep_app::facts(&catalog, &settings, id)?)
        });
        let results = outcomes.results();
        let found: Vec<_> = results.map(|(id, (facts, _))| (id, facts)).collect();
        if session.printer.json {
            session.printer.json(&json!({
                "competitions": outcomes.json(to_json),
                "digest": root(&found),
                "short": root(&found).short(),
                "program": prep_app::VERSION,
            }))?;
        } else if let [(id, facts)] = found.as_slice() {
            session.printer.result(&in_full(id, facts))?;
        } else if !found.is_empty() {
            session.printer.table(&table(&found))?;
            let count = units::count(found.len() as u64, "competition");
            let root = root(&found);
            session.printer.result(&format!("\n{count}: {root}\n"))?;
        } else if outcomes.exit() == Exit::Success {
            session
                .printer
                .message("no competition is prepared in the data directory");
        }
        for (id, (_, difference)) in outcomes.results() {
            if let Some(difference) = difference {
                session.printer.warning(format!(
                    "the digest of `{id}` is not that of the published data: {difference}; `{}` publishes the data again",
                    remedy::command("run", id)
                ));
            }
        }
        Ok(outcomes.exit())
    }
}

fn root(found: &[(&str, &DatasetDigests)]) -> Sha256 {
    combined_digest(found.iter().map(|(id, facts)| (*id, facts.digest())))
}

fn to_json(id: &str, (facts, difference): &(DatasetDigests, Option<String>)) -> Value {
    json!({
        "id": id,
        "variant": facts.variant,
        "short": facts.digest().short(),
        "digest": facts.digest(),
        "public": facts.public,
        "description": facts.description,
        "answers": facts.answers,
        "leaderboard": facts.leaderboard,
        "rules": facts.rules,
        "difference": difference,
    })
}

fn table(found: &[(&str, &DatasetDigests)]) -> PrintedTable {
    let mut table = PrintedTable::with_header(
        "competition  variant  digest  public  answers  leaderboard  rules",
    )
    .optional(&["rules", "leaderboard", "answers", "public"]);
    let short = |digest: Option<Sha256>| digest.map_or_else(|| "-".to_owned(), |one| one.short());
    for (id, facts) in found {
        table.row(vec![
            (*id).to_owned(),
            facts.variant.clone(),
            facts.digest().short(),
            facts.public.sha256.short(),
            facts.answers.sha256.short(),
            short(facts.leaderboard),
            short(facts.rules),
        ]);
    }
    table
}

/// Formats all digests of a competition, unshortened.
fn in_full(id: &str, facts: &DatasetDigests) -> String {
    let digest = facts.digest();
    let mut text = format!(
        "prep {} / {id} {} / sha256:{}\n\n",
        prep_app::VERSION,
        facts.variant,
        digest.short()
    );
    let tree = |tree: TreeDigest| {
        let files = units::count(tree.files, "file");
        let bytes = units::bytes(tree.bytes);
        format!("{}  {files}, {bytes}", tree.sha256)
    };
    let or_none = |digest: Option<Sha256>| digest.map_or_else(|| "none".to_owned(), String::from);
    for (name, value) in [
        ("digest", digest.to_string()),
        ("public", tree(facts.public)),
        ("description", or_none(facts.description)),
        ("answers", tree(facts.answers)),
        ("leaderboard", or_none(facts.leaderboard)),
        ("rules", or_none(facts.rules)),
        ("variant", facts.variant.clone()),
    ] {
        text.push_str(&format!("{name:<12} {value}\n"));
    }
    text
}
