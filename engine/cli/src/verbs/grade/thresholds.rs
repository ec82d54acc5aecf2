//! `prep grade ID` and `prep grade --leaderboard FILE`: show the scores that earn medals, or the medal of a score.

use prep_app::Catalog;
use prep_grade::report::JsonObject;

use super::GradeArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::grading;
use crate::session::{CliSession, VerbResult};

pub fn show(
    session: &CliSession,
    catalog: &Catalog,
    id: Option<&str>,
    args: &GradeArgs,
) -> VerbResult {
    if args.given.answers.is_some() {
        return Err(CliError::usage("no submission to grade").help("name one after the id"));
    }
    let leaderboard = match (&args.given.leaderboard, id) {
        (Some(path), _) => prep_app::read_leaderboard(path)?,
        (None, id) => prep_app::leaderboard(catalog.get(id.unwrap_or_default())?)?,
    };
    let thresholds = leaderboard.thresholds();
    let medals = args.score.map(|score| leaderboard.medals(score));
    if session.printer.json {
        let mut entry = JsonObject::from_iter([
            ("id", id.into()),
            ("gold_threshold", thresholds.gold.into()),
            ("silver_threshold", thresholds.silver.into()),
            ("bronze_threshold", thresholds.bronze.into()),
            ("median_threshold", thresholds.median.into()),
            ("is_lower_better", leaderboard.is_lower_better().into()),
        ]);
        if let (Some(score), Some(medals)) = (args.score, medals) {
            for (name, value) in [
                ("score", score.into()),
                ("gold_medal", medals.gold.into()),
                ("silver_medal", medals.silver.into()),
                ("bronze_medal", medals.bronze.into()),
                ("above_median", medals.above_median.into()),
            ] {
                entry.insert(name.into(), value);
            }
        }
        let text = grading::envelope(vec![entry], JsonObject::new());
        session.printer.result(&text)?;
        return Ok(Exit::Success);
    }
    let mut text = grading::thresholds(thresholds);
    if let (Some(score), Some(medals)) = (args.score, medals) {
        let medal = match grading::medal_of(medals) {
            "-" => "no medal",
            medal => medal,
        };
        let side = match medals.above_median {
            true => "above the median",
            false => "not above the median",
        };
        text = format!("{score}: {medal}, {side}\n{text}");
    }
    session.printer.result(&text)?;
    Ok(Exit::Success)
}
