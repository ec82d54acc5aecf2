//! `prep seal`: encrypts the private files of prepared competitions for graders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use prep_app::{Error, Identity, Recipient, SealedAnswers};
use prep_core::units;
use serde_json::json;

use crate::error::Exit;
use crate::options::VariantArg;
use crate::remote::{RemoteArgs, RemoteSettings};
use crate::select::Selection;
use crate::session::{CliSession, VerbResult};

/// Encrypt answers, so that only a grader can use them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep seal --new-identity grader.txt
  prep seal spaceship-titanic --for age1...
  prep seal --lite --for age1... --keep-plain
  prep grade spaceship-titanic submission.csv --identity grader.txt

The private files become DATA/ID/private.age, a tar archive in the format of age (age-encryption.org/v1). `grade`, \
`validate`, `serve` and `mcp` open it with --identity, and keep the plain answers in memory only.

The cache, the bundles and other variants also contain answers: seal each variant. On a machine where agents run, keep only \
DATA/ID without the bundle. If you lose the identity, `prep run ID --unseal` makes the plain answers again.")]
pub struct SealArgs {
    #[command(flatten)]
    selection: Selection,
    /// Public key of a grader (age1...); can be repeated
    #[arg(
        long = "for",
        alias = "recipient",
        value_name = "KEY",
        required_unless_present = "new_identity"
    )]
    recipients: Vec<Recipient>,
    /// Keep the plain private files next to the sealed ones
    #[arg(long)]
    keep_plain: bool,
    /// Create a secret key in FILE and print its public key; seal nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["recipients", "keep_plain"])]
    new_identity: Option<PathBuf>,
    #[command(flatten)]
    variant: VariantArg,
}

impl SealArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        if let Some(path) = &self.new_identity {
            return new_identity(session, path);
        }
        let ids = self.selection.ids(session)?;
        let catalog = session.catalog()?;
        let remote = RemoteSettings::resolve(
            &RemoteArgs::default(),
            &session.places,
            &session.settings.data_dir,
        )?;
        let outcomes = session.for_each_id_shown("sealing", &ids, |id| {
            Ok(prep_app::seal(
                &catalog,
                &session.settings,
                (id, &self.variant.variant),
                &self.recipients,
                self.keep_plain,
            )?)
        });
        if session.printer.json {
            let competitions = outcomes.json(|_, sealed: &SealedAnswers| json!(sealed));
            session
                .printer
                .json(&json!({ "competitions": competitions }))?;
        } else {
            let lines = outcomes.results().map(|(_, sealed)| line(sealed));
            session.printer.result(&lines.collect::<String>())?;
        }
        warn(
            session,
            outcomes.results().map(|(_, sealed)| sealed),
            &remote,
        );
        Ok(outcomes.exit())
    }
}

/// Warns about other places that still contain answers: files, variants and the remote.
fn warn<'a>(
    session: &CliSession,
    all: impl Iterator<Item = &'a SealedAnswers>,
    remote: &RemoteSettings,
) {
    let (mut left, mut variants) = (BTreeSet::new(), BTreeMap::new());
    for sealed in all {
        left.extend(sealed.left.iter().map(|path| path.display().to_string()));
        for variant in &sealed.plain_variants {
            let ids: &mut Vec<&str> = variants.entry(variant).or_default();
            ids.push(&sealed.id);
        }
    }
    if left.is_empty() {
        return;
    }
    let left: Vec<String> = left.into_iter().collect();
    session.printer.warning(format!(
        "these files and directories also contain answers, so agents must not be able to read them: {}",
        left.join(", ")
    ));
    for (variant, ids) in variants {
        session.printer.warning(format!(
            "the variant {variant} has plain answers; `prep seal {} --variant {variant} --for KEY` seals them",
            ids.join(" ")
        ));
    }
    let address = remote.url.as_ref();
    let address = address.and_then(|(url, _)| prep_remote::Address::parse(url).ok());
    if let Some(address) = address {
        session.printer.warning(format!(
            "the remote {} may also contain answers, so agents must not be able to read its directory `private`",
            address.without_secrets()
        ));
    }
}

fn line(sealed: &SealedAnswers) -> String {
    let plain = match sealed.plain {
        true => "; the plain files stay",
        false => "",
    };
    format!(
        "{}: {}, {} sealed in {}{plain}\n",
        sealed.id,
        units::count(sealed.files, "file"),
        units::bytes(sealed.bytes),
        sealed.path.display()
    )
}

/// Writes a secret key into a file that only its owner can read.
fn new_identity(session: &CliSession, path: &Path) -> VerbResult {
    let (text, recipient) =
        Identity::generate().map_err(|error| Error::writing("create", path, &error))?;
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(|error| Error::writing("create", path, &error))?;
    session
        .printer
        .message(format!("keep {} secret", path.display()));
    let public = recipient.to_string();
    let json = || json!({ "public": public, "path": path });
    session.printer.show(json, || format!("{public}\n"))?;
    Ok(Exit::Success)
}
