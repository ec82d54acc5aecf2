//! Kaggle's medals.
//!
//! The threshold of a medal is the score at the rank in this table (<https://www.kaggle.com/progression>). A percentage
//! is a fraction of the number of teams.
//!
//! | teams | gold | silver | bronze |
//! |---|---|---|---|
//! | 1 to 99 | top 10 % | top 20 % | top 40 % |
//! | 100 to 249 | 10 | top 20 % | top 40 % |
//! | 250 to 999 | 10 + 0.2 % | 50 | 100 |
//! | 1000 or more | 10 + 0.2 % | top 5 % | top 10 % |

use prep_failure::Quoted;

use crate::metrics::Direction;

/// A leaderboard: the scores of all teams, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaderboard {
    scores: Vec<f64>,
    /// The thresholds are stored, because every submission needs them, and computing the median is expensive.
    thresholds: Thresholds,
}

/// An error in a leaderboard.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages describe the fields")]
pub enum LeaderboardError {
    #[error(
        "the first line is {}, expected a header with the column `score`",
        Quoted(found)
    )]
    Header { found: String },
    #[error("{} is not a number", Quoted(found))]
    Score { line: usize, found: String },
    #[error("the leaderboard has no scores")]
    Empty,
    #[error(
        "the score at rank {rank} is better than the previous one; {better} scores are better, and the leaderboard must list the best score first"
    )]
    Order { rank: usize, better: &'static str },
}

impl LeaderboardError {
    /// Returns the line of `text`, from 1, that has the mistake.
    pub fn line_in(&self, text: &str) -> usize {
        let LeaderboardError::Order { rank, .. } = self else {
            return match self {
                LeaderboardError::Score { line, .. } => *line,
                _ => 1,
            };
        };
        let mut lines = text.lines().enumerate().skip(1);
        let mut scores = lines.by_ref().filter(|(_, line)| !line.trim().is_empty());
        scores.nth(rank - 1).map_or(1, |(index, _)| index + 1)
    }
}

/// The worst scores that earn each medal, and the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// The worst score with a gold medal.
    pub gold: f64,
    /// The worst score with a silver medal.
    pub silver: f64,
    /// The worst score with a bronze medal.
    pub bronze: f64,
    /// The median of all scores.
    pub median: f64,
}

/// The medal of a score: at most one of `gold`, `silver` and `bronze`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Medals {
    /// Whether the score earns gold.
    pub gold: bool,
    /// Whether the score earns silver.
    pub silver: bool,
    /// Whether the score earns bronze.
    pub bronze: bool,
    /// Whether the score is better than the median.
    pub above_median: bool,
}

impl Medals {
    /// Returns whether the score earns any medal.
    pub fn any(self) -> bool {
        self.gold || self.silver || self.bronze
    }
}

impl Leaderboard {
    /// Parses a CSV with the column `score` (in upper or lower case). The best score must be first. Ignores other columns
    /// and a byte order mark.
    pub fn parse(text: &str) -> Result<Self, LeaderboardError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().enumerate();
        let header = lines.next().map_or("", |(_, line)| line.trim());
        let is_score = |name: &String| name.trim().eq_ignore_ascii_case("score");
        let Some(column) = cells(header).iter().position(is_score) else {
            return Err(LeaderboardError::Header {
                found: header.to_owned(),
            });
        };
        let score = |(index, line): (usize, &str)| {
            let cells = cells(line);
            let cell = cells.get(column).map_or("", |cell| cell.trim());
            let score = cell.parse::<f64>().ok();
            let score = score.filter(|score| score.is_finite());
            score.ok_or_else(|| LeaderboardError::Score {
                line: index + 1,
                found: cell.to_owned(),
            })
        };
        Self::new(
            lines
                .filter(|(_, line)| !line.trim().is_empty())
                .map(score)
                .collect::<Result<_, _>>()?,
        )
    }

    /// Creates a leaderboard from scores. The best score must be first. An empty list is an error.
    pub fn new(scores: Vec<f64>) -> Result<Self, LeaderboardError> {
        match scores.is_empty() {
            true => Err(LeaderboardError::Empty),
            false => Ok(Leaderboard {
                thresholds: thresholds(&scores),
                scores,
            }),
        }
    }

    /// Returns the fraction of the leaderboard's scores that are worse than `score`. For NaN, returns 0.
    pub fn fraction_worse(&self, score: f64) -> f64 {
        let is_worse = |one: &&f64| match self.is_lower_better() {
            true => **one > score,
            false => **one < score,
        };
        let worse = self.scores.iter().filter(is_worse).count();
        worse as f64 / self.scores.len() as f64
    }

    /// Checks that the best score is first. Returns an error for the first rank that is out of order.
    pub fn check_order(&self, direction: Direction) -> Result<(), LeaderboardError> {
        let (better, is_better): (_, fn(f64, f64) -> bool) = match direction {
            Direction::LowerIsBetter => ("lower", |one, before| one < before),
            Direction::HigherIsBetter => ("higher", |one, before| one > before),
        };
        let pairs = self.scores.iter().zip(self.scores.iter().skip(1));
        match pairs
            .enumerate()
            .find(|(_, (before, one))| is_better(**one, **before))
        {
            Some((index, _)) => Err(LeaderboardError::Order {
                rank: index + 2,
                better,
            }),
            None => Ok(()),
        }
    }

    /// Returns the scores of all teams, best first.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Returns the number of teams.
    pub fn teams(&self) -> usize {
        self.scores.len()
    }

    /// Returns whether lower scores are better, according to the first and the last score.
    pub fn is_lower_better(&self) -> bool {
        self.scores.first() < self.scores.last()
    }

    /// Returns the scores that earn a medal.
    pub fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    /// Returns the medal of a score. A score equal to a threshold earns the medal, and NaN earns nothing.
    pub fn medals(&self, score: f64) -> Medals {
        let thresholds = self.thresholds;
        let lower = self.is_lower_better();
        let reaches = |threshold: f64| {
            if lower {
                score <= threshold
            } else {
                score >= threshold
            }
        };
        let gold = reaches(thresholds.gold);
        let silver = !gold && reaches(thresholds.silver);
        let bronze = !gold && !silver && reaches(thresholds.bronze);
        let above_median = if lower {
            score < thresholds.median
        } else {
            score > thresholds.median
        };
        Medals {
            gold,
            silver,
            bronze,
            above_median,
        }
    }
}

/// Returns the cells of a line of CSV, without quotes. Only commas outside of quotes separate cells.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut is_quoted) = (vec![String::new()], false);
    for character in line.chars() {
        match (character, cells.last_mut()) {
            ('"', _) => is_quoted = !is_quoted,
            (',', _) if !is_quoted => cells.push(String::new()),
            (other, Some(cell)) => cell.push(other),
            (_, None) => {}
        }
    }
    cells
}

fn thresholds(scores: &[f64]) -> Thresholds {
    let teams = scores.len();
    // As in MLE-bench, the number of teams is multiplied by a double, and the product is rounded down. An exact fraction could
    // give a different rank. For example, the double 0.002 is slightly larger than 1/500.
    let part_of_teams = |part: f64| (teams as f64 * part) as usize;
    let (gold, silver, bronze) = match teams {
        0..100 => (part_of_teams(0.1), part_of_teams(0.2), part_of_teams(0.4)),
        100..250 => (10, part_of_teams(0.2), part_of_teams(0.4)),
        250..1000 => (10 + part_of_teams(0.002), 50, 100),
        1000.. => (
            10 + part_of_teams(0.002),
            part_of_teams(0.05),
            part_of_teams(0.1),
        ),
    };
    // Ranks start at 1. On a small leaderboard, the top 10 % can be rank 0, which is treated as rank 1.
    let at = |rank: usize| scores.get(rank.max(1) - 1).copied().unwrap_or(f64::NAN);
    Thresholds {
        gold: at(gold),
        silver: at(silver),
        bronze: at(bronze),
        median: median(scores),
    }
}

fn median(scores: &[f64]) -> f64 {
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    if sorted.len() % 2 == 1 {
        at(half)
    } else {
        (at(half - 1) + at(half)) / 2.0
    }
}
