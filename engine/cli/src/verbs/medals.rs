//! `prep medals`: what a score earns.

use std::path::PathBuf;

use clap::Args;
use prep_grade::report::{Object, pretty};

use crate::exit::Exit;
use crate::session::{Ended, Session};

/// Show which medal a score earns, and the scores that earn each
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  prep medals 0.81 spaceship-titanic
  prep medals 0.81 --leaderboard scores.csv")]
pub struct Medals {
    /// The score
    #[arg(value_name = "SCORE", allow_negative_numbers = true)]
    score: f64,
    /// The competition whose leaderboard counts
    #[arg(value_name = "ID", required_unless_present = "leaderboard")]
    id: Option<String>,
    /// Another leaderboard: a CSV with the column `score`, best first
    #[arg(long, value_name = "FILE.csv", conflicts_with = "id")]
    leaderboard: Option<PathBuf>,
}

impl Medals {
    pub fn call(&self, session: &Session) -> Ended {
        let leaderboard = match (&self.leaderboard, &self.id) {
            (Some(path), _) => prep_app::read_leaderboard(path)?,
            (None, id) => {
                let catalog = session.catalog()?;
                prep_app::leaderboard(catalog.get(id.as_deref().unwrap_or_default())?)?
            }
        };
        let thresholds = leaderboard.thresholds();
        let medals = leaderboard.medals(self.score);
        let keys = Object::from_iter([
            ("gold_medal", medals.gold.into()),
            ("silver_medal", medals.silver.into()),
            ("bronze_medal", medals.bronze.into()),
            ("above_median", medals.above_median.into()),
            ("gold_threshold", thresholds.gold.into()),
            ("silver_threshold", thresholds.silver.into()),
            ("bronze_threshold", thresholds.bronze.into()),
            ("median_threshold", thresholds.median.into()),
            ("is_lower_better", leaderboard.is_lower_better().into()),
        ]);
        session.printer.result(&(pretty(keys) + "\n"))?;
        Ok(Exit::Success)
    }
}
