//! A pipeline's grader: its rules, then its metric.

use serde_json::Value;

use crate::answers::{self, AnswersError};
use crate::error::GradeSpecErrors;
use crate::frame::Frame;
use crate::metrics::{Direction, MetricKind};
use crate::pair::Pair;
use crate::refusal::Refusal;
use crate::rules::{Rows, same_rows};
use crate::spec::{self, GradeSpec};
use crate::submission;

/// With fewer rows, a mistake in a cell is told before a wrong number of rows, as the rules have it.
const MANY: usize = 1_000_000;

/// Grades submissions of one competition.
#[derive(Debug)]
pub struct Grader {
    spec: GradeSpec,
}

/// What came out of grading.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Score {
        /// The score as computed.
        value: f64,
        /// The score at five decimals, as it is reported and compared with the leaderboard.
        rounded: f64,
    },
    Refused(Refusal),
}

impl Outcome {
    /// The reported score, if there is one. It may be NaN or infinite.
    pub fn rounded(&self) -> Option<f64> {
        match self {
            Outcome::Score { rounded, .. } => Some(*rounded),
            Outcome::Refused(_) => None,
        }
    }
}

impl Grader {
    /// Reads the `grade:` section of a pipeline.
    ///
    /// # Errors
    /// Every mistake, with the path of the key at fault and a name that may have been meant.
    pub fn parse(section: &Value) -> Result<Self, GradeSpecErrors> {
        Ok(Grader {
            spec: spec::parse(section)?,
        })
    }

    /// The columns that rules and metric name, each once, in order of appearance.
    pub fn columns_used(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for name in self
            .spec
            .rules
            .iter()
            .flat_map(|rule| rule.columns())
            .chain(self.spec.metric.columns())
        {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The metric's kind: its name, description and usual direction.
    pub fn metric(&self) -> &'static MetricKind {
        self.spec.kind
    }

    /// Whether higher or lower scores are better.
    pub fn direction(&self) -> Direction {
        self.spec.direction
    }

    /// Reads the answers, as the section says.
    ///
    /// # Errors
    /// When they are not what the section expects.
    pub fn read_answers(&self, bytes: &[u8]) -> Result<Frame, AnswersError> {
        answers::read(bytes, self.spec.answer_rows.as_ref())
    }

    /// Whether the answers are JSON lines rather than a CSV.
    pub fn answers_are_json(&self) -> bool {
        self.spec.answer_rows.is_some()
    }

    /// Reads a submission's bytes, checks and scores it. If the first rules refuse its shape, its cells are not read: a file
    /// of many millions of rows takes no more memory than its bytes.
    pub fn grade_bytes(&self, answers: &Frame, bytes: &[u8]) -> Outcome {
        let submission = submission::parse_if(bytes, |shape| self.check_shape(answers, shape));
        match submission {
            Ok(submission) => self.grade(answers, &submission),
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// What the rules before the first that looks at cells say of a submission; and later ones, of one that has millions of
    /// rows too many for them.
    fn check_shape(&self, answers: &Frame, shape: &Frame) -> Result<(), Refusal> {
        let mut pair = Pair::new(answers, shape)?;
        let rules = self.spec.rules.iter();
        let mut about_shape = rules.clone().take_while(|rule| rule.is_about_shape());
        about_shape.try_for_each(|rule| rule.apply(&mut pair))?;
        let mut said = rules.map(|rule| rule.rows());
        match said.find(|rows| *rows != Rows::Kept) {
            Some(Rows::Times(times)) if shape.rows > MANY => {
                let expected = answers.rows.saturating_mul(times);
                same_rows::check(shape.rows, expected)
            }
            _ => Ok(()),
        }
    }

    /// Checks the submission by the rules, in order, and scores it.
    pub fn grade(&self, answers: &Frame, submission: &Frame) -> Outcome {
        match self.try_grade(answers, submission) {
            Ok(outcome) => outcome,
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    fn try_grade(&self, answers: &Frame, submission: &Frame) -> Result<Outcome, Refusal> {
        let mut pair = Pair::new(answers, submission)?;
        for rule in &self.spec.rules {
            rule.apply(&mut pair)?;
        }
        let score = self.spec.metric.score(&pair)?;
        Ok(Outcome::Score {
            value: score.value,
            rounded: score.rounded(),
        })
    }
}
