//! Downloading: how much may be used, whose credentials, and asking for many competitions at once.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use prep_fetch::{FetchError, LazyNetwork, Network, Options};

use crate::Session;
use crate::error::CliError;
use crate::exit::Exit;
use crate::{args, units};

/// Competitions that are asked about at the same time.
const SIDE_BY_SIDE: usize = 8;

/// Limits of all downloads together.
#[derive(Debug, Default, Clone, Args)]
#[command(next_help_heading = "Downloads")]
pub struct Limits {
    /// Bytes per second of all downloads together, as 20MB
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub max_rate: Option<u64>,
    /// Connections of all downloads together [default: 16]
    #[arg(long, value_name = "N", value_parser = args::at_least_one)]
    pub connections: Option<usize>,
}

/// What the network is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Nothing: `--no-download`.
    Nothing,
    /// A question to which somebody waits for the answer.
    Question,
    /// A download, which outlives ten minutes without a network.
    Download,
}

impl Purpose {
    /// That of a plan, or of a listing.
    pub fn question_unless(no_download: bool) -> Purpose {
        match no_download {
            true => Purpose::Nothing,
            false => Purpose::Question,
        }
    }
}

/// Attempts until a question is given up.
const ATTEMPTS: u32 = 3;

/// The network, set up when it is first needed; whose credentials it uses is said then.
pub fn network(session: &Session, limits: &Limits, purpose: Purpose) -> LazyNetwork {
    let (session, limits) = (session.clone(), limits.clone());
    LazyNetwork::new(move || connect(&session, &limits, purpose))
}

fn connect(session: &Session, limits: &Limits, purpose: Purpose) -> Result<Network, FetchError> {
    let usual = Options::default();
    let attempts = match purpose {
        Purpose::Nothing => return Err(FetchError::NotAllowed),
        Purpose::Question => ATTEMPTS,
        Purpose::Download => usual.attempts,
    };
    let kaggle = &session.settings.kaggle;
    let found = kaggle.credentials()?;
    let options = Options {
        endpoint: kaggle.endpoint.clone(),
        connections: limits.connections.unwrap_or(usual.connections),
        max_rate: limits.max_rate,
        attempts,
        ..usual
    };
    let network = Network::new(options, found.credentials)?;
    session
        .printer
        .message(format!("Kaggle credentials: {}", found.origin));
    for warning in &found.warnings {
        session.printer.warning(warning);
    }
    Ok(network)
}

impl From<FetchError> for CliError {
    fn from(error: FetchError) -> CliError {
        let exit = Exit::of(error.failure());
        // The first line is the cause, what follows is the way out.
        let text = error.to_string();
        let error = CliError::new(exit, text.lines().next().unwrap_or_default());
        match text.split_once('\n') {
            Some((_, help)) => error.help(help),
            None => error,
        }
    }
}

/// Calls `ask` for every item, several at the same time; results are in the order of the items.
pub fn ask_all<I: Sync, T: Send>(items: &[I], ask: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let answers = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE.min(items.len()) {
            scope.spawn(|| {
                while let Some((place, item)) = {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    items.get(place).map(|item| (place, item))
                } {
                    let answer = ask(item);
                    if let Ok(mut answers) = answers.lock() {
                        answers.push((place, answer));
                    }
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap_or_default();
    answers.sort_by_key(|(place, _)| *place);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_keep_the_order_of_the_questions() {
        let items: Vec<usize> = (0..100).collect();
        let answers = ask_all(&items, |item| item * 2);
        assert_eq!(answers, (0..100).map(|item| item * 2).collect::<Vec<_>>());
        assert!(ask_all(&[], |item: &usize| *item).is_empty());
    }

    #[test]
    fn what_follows_the_cause_is_help() {
        let error = CliError::from(FetchError::RulesNotAccepted { id: "x".into() });
        assert_eq!(error.exit, Exit::Input);
        assert!(error.message.ends_with("/competitions/x/rules"), "{error}");
        assert!(error.help.unwrap().contains("phone"));
    }
}
