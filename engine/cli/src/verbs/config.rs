//! `prep config`: what is in force, and what says so.

use clap::Args;
use serde_json::json;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::table::{Align, Table};
use crate::prep_toml::FILE;
use crate::remote::{InForce, RemoteArgs, Said};
use crate::session::{Ended, Session};
use prep_core::units;

/// Show the settings that are in force, and what says so: options, variables, prep.toml
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep config
  prep config --remote s3://bucket/team --json

prep.toml is read in the user's folder (~/.config/prep) and in the data folder:
  [remote]
  url = \"s3://bucket/team\"           # where results are looked for and offered
  key = \"laptop\"                     # which key of `prep key` signs; the only one, if there is one
  trusted = [\"ed25519:...\"]          # whose results are believed
  same_as = [\"https://host/team\"]    # other addresses of the same remote
  mirror = true                      # bundles that were downloaded are sent there
  endpoint = \"https://s3.lab.org\"    # an S3 server that is not Amazon's
  region = \"eu-central-1\"
Credentials do not belong there: they are taken from where each cloud's own tools have them.")]
pub struct ConfigArgs {
    #[command(flatten)]
    remote: RemoteArgs,
}

struct Line {
    name: &'static str,
    value: String,
    by: String,
}

impl ConfigArgs {
    pub fn call(&self, session: &Session) -> Ended {
        let lines = self.lines(session)?;
        if session.printer.json {
            let lines: Vec<_> = lines
                .iter()
                .map(|line| json!({ "name": line.name, "value": line.value, "from": line.by }))
                .collect();
            session.printer.json(&json!({ "settings": lines }))?;
        } else {
            let mut table = Table::new(&[
                ("setting", Align::Left),
                ("value", Align::Left),
                ("from", Align::Left),
            ]);
            for Line { name, value, by } in lines {
                table.row(vec![name.to_owned(), value, by]);
            }
            session.printer.table(&table)?;
        }
        Ok(Exit::Success)
    }

    fn lines(&self, session: &Session) -> Result<Vec<Line>, CliError> {
        let (settings, places) = (&session.settings, &session.places);
        let path = |path: &std::path::Path| path.display().to_string();
        let by = |name: &str| places.said_by(name).to_owned();
        let own = [
            ("data-dir", path(&settings.data_dir)),
            ("cache-dir", path(&settings.store_dir)),
            (
                "pipelines",
                settings.pipelines.as_deref().map(path).unwrap_or_default(),
            ),
            ("jobs", settings.jobs.to_string()),
            ("memory", units::bytes(settings.memory)),
        ];
        let mut lines: Vec<Line> = own
            .into_iter()
            .map(|(name, value)| Line {
                name,
                value,
                by: by(name),
            })
            .collect();
        let force = InForce::of(&self.remote, places, &settings.data_dir)?;
        // Without what may be a secret.
        let address = |url: &Said<String>| -> Result<Said<String>, CliError> {
            let address = prep_remote::Address::parse(&url.value);
            Ok(Said {
                value: address.map_err(prep_app::Error::from)?.shown(),
                by: url.by.clone(),
            })
        };
        let mut push = |name, said: Option<Said<String>>| {
            let (value, by) = said.map_or_else(Default::default, |said| (said.value, said.by));
            lines.push(Line { name, value, by });
        };
        push("remote.url", force.url.as_ref().map(address).transpose()?);
        let key = force.signing(places)?.map(|key| Said {
            value: format!("{} {}", key.name(), key.public()),
            by: force
                .key
                .as_ref()
                .map_or_else(|| "the only key there is".to_owned(), |key| key.by.clone()),
        });
        push("remote.key", key);
        for trusted in &force.trusted {
            let Said { value, by } = trusted.clone();
            let value = value.to_string();
            push("remote.trusted", Some(Said { value, by }));
        }
        for same_as in &force.same_as {
            push("remote.same_as", Some(address(same_as)?));
        }
        let mirror = force.mirror.as_ref().map(|mirror| Said {
            value: mirror.value.to_string(),
            by: mirror.by.clone(),
        });
        let usual = || Said {
            value: "false".to_owned(),
            by: "default".to_owned(),
        };
        push("remote.mirror", Some(mirror.unwrap_or_else(usual)));
        push("remote.endpoint", force.endpoint.clone());
        push("remote.region", force.region.clone());
        if let Some(folder) = &places.config_dir {
            session.printer.detail(format!(
                "{FILE} is read in {} and in {}",
                folder.display(),
                settings.data_dir.display()
            ));
        }
        Ok(lines)
    }
}
