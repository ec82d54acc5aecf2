//! Finds the bundles that an account may download.
//!
//! Requests are sent one at a time with a pause, because Kaggle limits their number and does not document the limit.
//!
//! A user who accepted the rules of a competition cannot withdraw this acceptance. Therefore the file
//! `STORE/rules-v1/ACCOUNT.json` stores the competitions whose rules were accepted. `ACCOUNT` is a digest, so the file name
//! reveals no token.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use prep_cache::Digest;
use prep_core::Cancel;
use prep_fetch::{FetchError, Network};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::settings::Settings;

/// Interval at which a pause checks for cancellation.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Requests that find out whether an account may download bundles.
pub struct PermissionCheck<'a> {
    pub settings: &'a Settings,
    pub network: &'a Network,
    pub pause: Duration,
    /// Whether requests are also sent for competitions that are remembered as accepted.
    pub again: bool,
    pub cancel: &'a Cancel,
}

/// Whether an account may download the bundle of one competition.
#[derive(Debug)]
pub enum Permission {
    Granted {
        /// Whether an earlier check found that the rules are accepted, so no request was sent.
        remembered: bool,
    },
    /// The account may not download the bundle, for example because it has not accepted the rules.
    Refused(FetchError),
    /// No request was sent, because the user cancelled, or because an earlier request failed with an error that does not
    /// concern its competition. For example, Kaggle accepts no more requests, or there is no network.
    NotRequested,
}

impl PermissionCheck<'_> {
    /// Checks `competitions`, a list of names on Kaggle. After each request, calls `progress` with the number of checked
    /// competitions.
    ///
    /// # Errors
    /// Returns an error if there are no credentials, or the file of accepted competitions cannot be written.
    pub fn run(
        &self,
        competitions: &[String],
        progress: impl Fn(usize),
    ) -> Result<Vec<Permission>, Error> {
        let path = path(self.settings, &self.network.account_key()?);
        let mut remembered = match self.again {
            true => Accepted::default(),
            false => Accepted::read(&path),
        };
        let mut answers = Vec::new();
        let mut last = None;
        let mut is_ended = false;
        for (number, id) in competitions.iter().enumerate() {
            if remembered.accepted.contains(id) {
                answers.push(Permission::Granted { remembered: true });
                continue;
            }
            is_ended = is_ended || !self.wait(last);
            if is_ended {
                answers.push(Permission::NotRequested);
                continue;
            }
            let answer = match self.network.check_access(id, self.cancel) {
                Ok(_) => {
                    remembered.accepted.insert(id.clone());
                    add(&path, id)?;
                    Permission::Granted { remembered: false }
                }
                Err(error) => {
                    // Any other error, for example no network, would occur again for the next competition.
                    is_ended = !matches!(
                        error,
                        FetchError::RulesNotAccepted { .. }
                            | FetchError::MayNotParticipate { .. }
                            | FetchError::Forbidden { .. }
                            | FetchError::NoSuchCompetition { .. }
                    );
                    match error {
                        FetchError::Cancelled => Permission::NotRequested,
                        error => Permission::Refused(error),
                    }
                }
            };
            answers.push(answer);
            last = Some(Instant::now());
            progress(number + 1);
        }
        Ok(answers)
    }

    /// Waits until the pause after the request at `last` is over. Returns `false` if the user cancelled.
    fn wait(&self, last: Option<Instant>) -> bool {
        while let Some(last) = last
            && !self.cancel.is_cancelled()
            && last.elapsed() < self.pause
        {
            let left = self.pause.saturating_sub(last.elapsed());
            std::thread::sleep(CANCEL_CHECK_INTERVAL.min(left));
        }
        !self.cancel.is_cancelled()
    }
}

/// Competitions whose bundles an account may download.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Accepted {
    accepted: BTreeSet<String>,
}

impl Accepted {
    /// Reads the file. A missing or damaged file is treated as empty, so that requests are sent again.
    fn read(path: &Path) -> Accepted {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }
}

/// Returns the path of the file with the accepted competitions of an account.
fn path(settings: &Settings, account: &str) -> PathBuf {
    let digest = Digest::of_bytes(account.as_bytes()).to_string();
    let name = format!("{}.json", digest.get(..16).unwrap_or(&digest));
    settings.store_dir.join("rules-v1").join(name)
}

/// Adds a competition to the file. Reads the file first, because another process may have changed it.
fn add(path: &Path, id: &str) -> Result<(), Error> {
    let mut accepted = Accepted::read(path);
    accepted.accepted.insert(id.to_owned());
    let dir = path.parent().unwrap_or(Path::new("."));
    let written = prep_cache::create_directory(dir).and_then(|()| {
        let mut file = tempfile::NamedTempFile::new_in(dir)?;
        file.write_all(serde_json::to_string_pretty(&accepted)?.as_bytes())?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(|error| Error::writing("write", path, &error))
}
