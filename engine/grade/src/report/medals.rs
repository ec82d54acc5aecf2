//! Kaggle's medals: where a score stands on a competition's leaderboard.
//!
//! Thresholds are the scores at certain ranks, which depend on the number of teams
//! (<https://www.kaggle.com/progression>):
//!
//! | teams | gold | silver | bronze |
//! |---|---|---|---|
//! | 1 to 99 | top 10 % | top 20 % | top 40 % |
//! | 100 to 249 | 10 | top 20 % | top 40 % |
//! | 250 to 999 | 10 + 0.2 % | 50 | 100 |
//! | 1000 or more | 10 + 0.2 % | top 5 % | top 10 % |

use crate::metrics::Direction;

/// A leaderboard: the scores of all teams, best first.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaderboard {
    scores: Vec<f64>,
    /// They take sorting, and are asked for with every submission.
    thresholds: Thresholds,
}

/// Why a leaderboard cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaderboardError {
    #[error("the leaderboard's first line is `{found}`, expected the header `score`")]
    Header { found: String },
    #[error("line {line} of the leaderboard: `{found}` is no number")]
    Score { line: usize, found: String },
    #[error("the leaderboard has no scores")]
    Empty,
    #[error(
        "the score at rank {rank} is better than the one before it: {better} scores are better, and the best comes first"
    )]
    Order { rank: usize, better: &'static str },
}

/// The scores that earn a medal, and the median.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    pub gold: f64,
    pub silver: f64,
    pub bronze: f64,
    pub median: f64,
}

/// What a score earns: one medal at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Medals {
    pub gold: bool,
    pub silver: bool,
    pub bronze: bool,
    pub above_median: bool,
}

impl Medals {
    pub fn any(self) -> bool {
        self.gold || self.silver || self.bronze
    }
}

impl Leaderboard {
    /// Reads a CSV with the one column `score`, in rank order.
    ///
    /// # Errors
    /// With the line that is not a number.
    pub fn parse(text: &str) -> Result<Self, LeaderboardError> {
        let mut lines = text.lines().enumerate();
        let header = lines.next().map_or("", |(_, line)| line.trim());
        if header != "score" {
            return Err(LeaderboardError::Header {
                found: header.to_owned(),
            });
        }
        let score = |(index, line): (usize, &str)| {
            let error = || LeaderboardError::Score {
                line: index + 1,
                found: line.to_owned(),
            };
            line.trim()
                .parse::<f64>()
                .ok()
                .filter(|score| score.is_finite())
                .ok_or_else(error)
        };
        Self::new(
            lines
                .filter(|(_, line)| !line.trim().is_empty())
                .map(score)
                .collect::<Result<_, _>>()?,
        )
    }

    /// A leaderboard of scores in rank order.
    ///
    /// # Errors
    /// When there are none.
    pub fn new(scores: Vec<f64>) -> Result<Self, LeaderboardError> {
        match scores.is_empty() {
            true => Err(LeaderboardError::Empty),
            false => Ok(Leaderboard {
                thresholds: thresholds(&scores),
                scores,
            }),
        }
    }

    /// Whether the scores are in rank order, if scores in this direction are better.
    ///
    /// # Errors
    /// With the first rank that is not.
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
            // The first pair is ranks 1 and 2.
            Some((index, _)) => Err(LeaderboardError::Order {
                rank: index + 2,
                better,
            }),
            None => Ok(()),
        }
    }

    /// The scores of all teams, best first.
    pub fn scores(&self) -> &[f64] {
        &self.scores
    }

    /// Number of teams.
    pub fn teams(&self) -> usize {
        self.scores.len()
    }

    /// Whether lower scores are better: the first one is lower than the last.
    pub fn is_lower_better(&self) -> bool {
        self.scores.first() < self.scores.last()
    }

    /// The scores that earn a medal.
    pub fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    /// What a score earns. A score is as good as a threshold that it equals; NaN earns nothing.
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

fn thresholds(scores: &[f64]) -> Thresholds {
    let teams = scores.len();
    // The products are rounded down as doubles, as in the benchmark: 0.002 is a little more than 1/500.
    let share = |part: f64| (teams as f64 * part) as usize;
    let (gold, silver, bronze) = match teams {
        0..100 => (share(0.1), share(0.2), share(0.4)),
        100..250 => (10, share(0.2), share(0.4)),
        250..1000 => (10 + share(0.002), 50, 100),
        1000.. => (10 + share(0.002), share(0.05), share(0.1)),
    };
    // Ranks start at 1, and rank 0 (of a small leaderboard's top 10 %) is the first.
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
