//! `prep serve`: validates submissions over HTTP.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use prep_app::Error;
use prep_core::units;
use prep_serve::{Event, Options, ServeError, Server};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::CliError;
use crate::exit::Exit;
use crate::options::Which;
use crate::session::{Ended, Session};
use crate::values::at_least_one;

/// Validate submissions over HTTP, as the benchmark's server does for agents in containers; never tells a score
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep serve -c spaceship-titanic
  prep serve -c spaceship-titanic --host 0.0.0.0 --data-dir /private/data
  curl -F file=@submission.csv http://localhost:5000/validate
  curl http://localhost:5000/health

POST /validate takes a submission in the field `file` and answers {\"result\": \"Submission is valid.\"} or \
{\"result\": \"Submission invalid! ...\"}. Answers that something else prepared are taken as they are. Without \
-c, the header exp-id names the competition, and answers have `is_valid`. Requests are listed on stderr.")]
pub struct Serve {
    /// The competition
    #[arg(long, short = 'c', value_name = "ID")]
    competition: Option<String>,
    /// Port to listen on; 0 takes one that is free
    #[arg(long, value_name = "PORT", default_value_t = 5000)]
    port: u16,
    /// Address to listen on; 0.0.0.0 is every one of this machine
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1")]
    host: String,
    /// Also answer POST /grade with the report, score included: for harnesses that no agent reaches
    #[arg(long)]
    scores: bool,
    /// Largest upload
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = units::parse_bytes)]
    max_upload: u64,
    /// Seconds without a byte after which a client is given up; an upload may take ten times as long
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    timeout: u64,
    /// Connections at the same time; further ones wait
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = at_least_one)]
    clients: usize,
    #[command(flatten)]
    which: Which,
}

impl Serve {
    pub fn call(&self, session: &Session) -> Ended {
        let settings = &self.which.settings(session);
        let catalog = session.catalog()?;
        if let Some(id) = &self.competition {
            catalog.get(id)?.pipeline()?;
        }
        let options = Options {
            address: (self.host.clone(), self.port),
            competition: self.competition.clone(),
            scores: self.scores,
            max_upload: self.max_upload,
            timeout: Duration::from_secs(self.timeout.max(1)),
            clients: self.clients,
            graders: settings.jobs,
            uploads: std::env::temp_dir(),
        };
        let printer = session.printer.clone();
        let log = Arc::new(move |event: &Event| {
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
        server.run(stopped()).map_err(failed)?;
        Ok(Exit::Success)
    }
}

/// Ctrl-C or SIGTERM, which is how a server ends.
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
        // Signals then end the process by themselves.
        _ => std::future::pending().await,
    }
}

/// `127.0.0.1:1234 POST /validate 200 1.2 MB valid 0.03 s`.
fn line(event: &Event) -> String {
    let mut text = format!("{} {} {}", event.client, event.request, event.status);
    if let Some(bytes) = event.bytes {
        text.push_str(&format!(" {}", units::bytes(bytes)));
    }
    if let Some(valid) = event.valid {
        text.push_str(if valid { " valid" } else { " invalid" });
    }
    format!("{text} {:.2} s", event.time.as_secs_f64())
}

#[allow(clippy::needless_pass_by_value)] // for map_err
fn failed(error: ServeError) -> CliError {
    Error::new(prep_core::Failure::Machine, error.to_string()).into()
}
