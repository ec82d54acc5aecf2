//! `prep serve`: validates submissions over HTTP. `prep mcp`: serves tools for agents.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use prep_app::{Error, SubmissionDirectory};
use prep_core::units;
use prep_mcp::McpOptions;
use prep_serve::{ServeError, Server, ServerEvent, ServerOptions};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::{CliError, Exit};
use crate::global::{integer, positive_size};
use crate::options::{IdentityArg, LogArgs, VariantArg};
use crate::remedy;
use crate::session::{CliSession, VerbResult};

/// Validate submissions over HTTP, without scores
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep serve spaceship-titanic
  prep serve spaceship-titanic --host 0.0.0.0 --data-dir /private/data
  curl -F file=@submission.csv http://localhost:5000/validate
  curl http://localhost:5000/health

This is the server that upstream runs next to an agent. POST /validate takes a submission in the field `file` and \
returns {\"result\": \"Submission is valid.\"} or {\"result\": \"Submission invalid! ...\"}. Without an ID, the header \
exp-id names the competition, and responses also have `is_valid`. Answers that another program prepared are used \
without verification. Requests are logged on stderr, gradings of POST /grade in DATA/grades.jsonl. A request to a loopback \
address must name localhost, a loopback address or a name without a dot as its host.")]
pub struct ServeArgs {
    /// The competition
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Port to listen on; 0 for any free one
    #[arg(long, value_name = "PORT", default_value_t = 5000, value_parser = integer::<u16>)]
    port: u16,
    /// Address to listen on; 0.0.0.0 for all addresses of this machine
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// Also serve POST /grade with scores; only if no agent can reach the server
    #[arg(long)]
    scores: bool,
    /// Largest upload, such as 1GB
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = positive_size)]
    max_upload: u64,
    /// Seconds without data before a client is disconnected
    ///
    /// In each period of SECONDS, a client must send at least 4 KiB per second on average. An entire upload may take ten
    /// such periods.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = integer::<u64>)]
    timeout: u64,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    identity: IdentityArg,
}

impl ServeArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &self.identity.session(session)?;
        let settings = &self.variant.settings(session);
        let catalog = session.catalog()?;
        if let Some(id) = &self.id {
            catalog.get(id)?.pipeline()?;
        }
        let options = ServerOptions {
            address: (self.host.clone(), self.port),
            competition: self.id.clone(),
            scores: self.scores,
            max_upload: self.max_upload,
            timeout: Duration::from_secs(self.timeout.max(1)),
            graders: settings.jobs,
            uploads: std::env::temp_dir(),
            log: self.log.log(session, false),
        };
        let printer = session.printer.clone();
        let log = Arc::new(move |event: &ServerEvent| {
            if let Some(trouble) = &event.trouble {
                printer.warning(trouble);
            }
            printer.message(line(event));
        });
        let server = Server::bind(options, settings.clone(), catalog, log).map_err(failed)?;
        let address = server.address().map_err(|error| failed(error.into()))?;
        session
            .printer
            .message(format!("listening on http://{address}"));
        if let Some(error) = server.trouble() {
            let error = CliError::from(error);
            let help = error.action().map(|help| format!("; {help}"));
            let warning = format!(
                "nothing can be graded yet: {}{}",
                error.message,
                help.unwrap_or_default()
            );
            session.printer.warning(warning);
        }
        server.run(stopped()).map_err(failed)?;
        Ok(Exit::Success)
    }
}

/// Waits for a signal that ends the server: Ctrl-C or SIGTERM.
async fn stopped() {
    let (interrupt, terminate) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
    );
    match (interrupt, terminate) {
        (Ok(mut interrupt), Ok(mut terminate)) => {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        }
        // Without handlers, signals end the process.
        _ => std::future::pending().await,
    }
}

/// Returns for example `127.0.0.1:1234 POST /validate 200 1.2 MB valid 0.03 s`.
fn line(event: &ServerEvent) -> String {
    let mut text = format!("{} {} {}", event.client, event.request, event.status);
    if let Some(bytes) = event.bytes {
        text.push_str(&format!(" {}", units::bytes(bytes)));
    }
    if let Some(valid) = event.valid {
        text.push_str(if valid { " valid" } else { " invalid" });
    }
    format!("{text} {:.2} s", event.time.as_secs_f64())
}

#[allow(clippy::needless_pass_by_value)] // the signature is that of a function for `map_err`
fn failed(error: ServeError) -> CliError {
    Error::new(prep_core::Failure::Machine, prep_core::chain(&error)).into()
}

/// Serve tools for agents: list, describe, validate (MCP)
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep mcp
  prep mcp --submissions /submissions --data-dir /data
  claude mcp add prep -- prep mcp

The server speaks the Model Context Protocol on stdin and stdout. Its tools are `list`, `describe` and `validate`; with \
--scores also `grade`. Use --scores only if agents may see scores during their search. Gradings are logged in DATA/grades.jsonl.")]
pub struct McpArgs {
    /// Also offer the tool `grade`, which returns scores and medals
    #[arg(long)]
    scores: bool,
    /// Read submissions only below this directory [default: the current one]
    ///
    /// Links are not followed, and no file in the data directory or the cache is read.
    #[arg(
        long,
        value_name = "DIR",
        default_value = ".",
        hide_default_value = true
    )]
    submissions: PathBuf,
    #[command(flatten)]
    variant: VariantArg,
    #[command(flatten)]
    log: LogArgs,
    #[command(flatten)]
    identity: IdentityArg,
}

impl McpArgs {
    pub fn call(&self, session: &CliSession) -> VerbResult {
        let session = &self.identity.session(session)?;
        let settings = &session.settings;
        let forbidden = vec![settings.data_dir.clone(), settings.store_dir.clone()];
        let submissions = SubmissionDirectory::new(&self.submissions, forbidden)?;
        let options = McpOptions {
            catalog: session.catalog()?,
            settings: self.variant.settings(session),
            variant: self.variant.variant.clone(),
            submissions,
            scores: self.scores,
            log: self.log.log(session, false),
            words: |one| remedy::words(one).unwrap_or_default(),
        };
        prep_mcp::serve(&options, std::io::stdin().lock(), std::io::stdout().lock())
            .map_err(|error| CliError::new(Exit::Machine, format!("cannot continue: {error}")))?;
        Ok(Exit::Success)
    }
}
