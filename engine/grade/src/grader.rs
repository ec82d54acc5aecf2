//! Grades submissions by the rules and the metric of a pipeline.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::sync::Arc;

use prep_failure::QuotedValue;
use prep_formats::pandas::{CellValue, FileContent, Frame};
use prep_spec::{model::Query, nearest};
use serde_json::Value;

use crate::metrics::kind::LABELS;
use crate::metrics::{Direction, MetricKind, QueryEngine};
use crate::refusal::{Refusal, RefusalKind, RowPolicy};
use crate::rules::required_rows;
use crate::spec::kinds::{GradeSpecError, GradeSpecErrors, KeyPath, Problem};
use crate::spec::{self, GradeSpec, SpecRule};
use crate::table::answers::{self, AnswersError};
use crate::table::column::GradedColumn;
use crate::table::key::{Identifier, key};
use crate::table::pair::Pair;
use crate::table::submission::{self, ScannedSubmission};
use crate::table::threads::MANY_ROWS;
use crate::table::typed::LazySubmission;

/// Grades submissions of one competition.
#[derive(Debug)]
pub struct Grader {
    pub(crate) spec: GradeSpec,
    engine: Option<Arc<dyn QueryEngine>>,
}

/// The result of grading.
#[derive(Debug, Clone, PartialEq)]
pub enum GradeOutcome {
    /// The submission is valid.
    Score {
        /// The exact score.
        value: f64,
        /// The score rounded to five decimals, for the report and the leaderboard.
        rounded: f64,
    },
    /// The submission is invalid.
    Invalid(Refusal),
}

impl GradeOutcome {
    /// Returns the rounded score, if there is one. It may be NaN or infinite.
    pub fn rounded(&self) -> Option<f64> {
        match self {
            GradeOutcome::Score { rounded, .. } => Some(*rounded),
            GradeOutcome::Invalid(_) => None,
        }
    }
}

impl Grader {
    /// Parses the section `grade:` of a pipeline. Returns all errors of the section.
    pub fn parse(section: &Value) -> Result<Self, GradeSpecErrors> {
        Ok(Grader {
            spec: spec::parse(section)?,
            engine: None,
        })
    }

    /// Sets the engine for metrics that are queries. Without it, such a metric has no score.
    #[must_use]
    pub fn with_engine(self, engine: Arc<dyn QueryEngine>) -> Self {
        Grader {
            engine: Some(engine),
            ..self
        }
    }

    /// Returns the queries that compute the score, if the metric is not built in.
    pub fn queries(&self) -> Vec<&Query> {
        self.spec.metric.metric.queries()
    }

    /// If the metric compares several columns of classes, returns how many classes each row of the answers has. If the
    /// metric limits this number, also returns the limit, and each row must belong to at least one class. A metric without
    /// a limit compares classes if all answers are 0 or 1.
    pub fn classes_of_rows(&self, answers: &Frame) -> Option<(Vec<usize>, Option<usize>)> {
        let max = self.spec.metric.metric.max_classes();
        let names = answers.columns.iter().map(|column| column.name.clone());
        let classes = self.true_columns(Some(&names.collect::<Vec<_>>()));
        let columns = classes.iter().filter_map(|name| answers.column(name));
        let columns: Vec<_> = columns.collect();
        let is_zero = |cell| matches!(cell, CellValue::Int(0) | CellValue::Float(0.0));
        let count = |row| {
            let cells = columns.iter().map(|column| column.data.value(row));
            cells.filter(|cell| !is_zero(*cell)).count()
        };
        let is_class = |cell| matches!(cell, CellValue::Int(0 | 1));
        let are_classes = || {
            columns
                .iter()
                .all(|column| column.data.values().all(is_class))
        };
        let fits = classes.len() > 1 && (max.is_some() || are_classes());
        fits.then(|| ((0..answers.rows).map(count).collect(), max))
    }

    /// Returns the score of a submission that is identical to the answers. Returns `None` if this score depends on the
    /// answers, if queries compute the score, or if the direction is not the metric's usual one.
    pub fn best_score(&self) -> Option<f64> {
        let kind = self.metric();
        let is_usual = self.direction() == kind.direction && self.queries().is_empty();
        let best = kind.best_score.filter(|_| is_usual)?;
        Some(self.spec.scale * best + self.spec.offset)
    }

    /// Returns why a submission that is identical to the answers might not have the best score.
    pub fn imperfection(&self) -> Option<&'static str> {
        self.spec.metric.metric.imperfection()
    }

    /// Returns the description of the metric: its name, documentation and usual direction.
    pub fn metric(&self) -> &'static MetricKind {
        self.spec.metric.kind
    }

    /// Returns whether higher or lower scores are better.
    pub fn direction(&self) -> Direction {
        self.spec.direction
    }

    /// Reads the answers in the format that the section `grade:` defines.
    pub fn read_answers(&self, bytes: &[u8]) -> Result<Frame, AnswersError> {
        answers::read(bytes, self.spec.answer_rows.as_ref())
    }

    /// Returns whether the answers are JSON lines instead of a CSV file.
    pub fn answers_are_json(&self) -> bool {
        self.spec.answer_rows.is_some()
    }

    /// Returns whether rules drop rows of the answers, which then do not count for the score.
    pub fn drops_answers(&self) -> bool {
        self.spec.rules.iter().any(|rule| rule.rule.drops_answers())
    }

    /// Returns the indices, from 0 and ascending, of the rows of the answers that count for the score.
    pub fn scored_rows(&self, answers: &Frame) -> Result<Vec<u32>, Refusal> {
        let mut pair = Pair::new(answers, answers)?;
        let mut rules = self.spec.rules.iter().map(|rule| &rule.rule);
        rules.try_for_each(|rule| match rule.drops_answers() {
            true => rule.apply(&mut pair),
            false => Ok(()),
        })?;
        let mut rows: Vec<u32> = pair.answers.file_positions().collect();
        rows.sort_unstable();
        Ok(rows)
    }

    /// Checks and scores a submission that is in memory.
    pub fn grade_bytes(&self, answers: &Frame, bytes: &[u8]) -> GradeOutcome {
        let scanned = ScannedSubmission::scan(FileContent::Bytes(bytes));
        match scanned.and_then(|scanned| self.grade_scanned(answers, scanned)) {
            Ok(outcome) => outcome,
            Err(error) => GradeOutcome::Invalid(Refusal::new(
                RefusalKind::Unreadable,
                prep_failure::chain(&error),
            )),
        }
    }

    /// Checks and scores a submission whose rows were scanned, but whose cells are not in memory yet. Reads the cells of a
    /// column only when a rule or the metric needs them. Therefore a large file with wrong columns takes little memory.
    ///
    /// An error means that the file cannot be read, not that the submission is invalid.
    pub fn grade_scanned(
        &self,
        answers: &Frame,
        submission: ScannedSubmission<'_>,
    ) -> io::Result<GradeOutcome> {
        let scanned = match submission.into_frame() {
            Ok(scanned) => scanned,
            Err(refusal) => return Ok(GradeOutcome::Invalid(refusal)),
        };
        let shape = (scanned.names().count(), scanned.surplus_fields());
        let submission = LazySubmission::new(scanned);
        let pair = Pair::unread(answers, &submission);
        let outcome = pair.and_then(|pair| self.outcome(pair));
        let outcome = outcome.map_err(|refusal| submission::with_cause(refusal, shape));
        match submission.failure() {
            Some(error) => Err(error),
            None => Ok(outcome.unwrap_or_else(GradeOutcome::Invalid)),
        }
    }

    /// Checks the submission by all rules, in order, and scores it.
    pub fn grade(&self, answers: &Frame, submission: &Frame) -> GradeOutcome {
        let pair = Pair::new(answers, submission);
        let outcome = pair.and_then(|pair| self.outcome(pair));
        outcome.unwrap_or_else(GradeOutcome::Invalid)
    }

    /// Grades only some rows of a submission, as if the file contained no others. `rows` contains their indices, from
    /// 0, in the order in which they are graded. An index can be repeated.
    pub fn grade_rows(&self, answers: &Frame, submission: &Frame, rows: Vec<u32>) -> GradeOutcome {
        let outcome = Pair::new(answers, submission).and_then(|mut pair| {
            pair.submission.select(rows);
            self.outcome(pair)
        });
        outcome.unwrap_or_else(GradeOutcome::Invalid)
    }

    /// Returns an error for each column that the section `grade:` names and that is missing from a table that needs it.
    /// `answers` and `sample` are the columns of the answers and of the sample submission. `None` means that the columns of
    /// the table are unknown and not checked.
    ///
    /// * An identifier must be in both tables.
    /// * A column of the metric must be in the answers.
    /// * A column that a rule requires of submissions must be in the sample submission.
    /// * A column that a rule uses in another way must be in at least one of the two tables.
    pub fn missing_columns(
        &self,
        answers: Option<&[String]>,
        sample: Option<&[String]>,
    ) -> Vec<GradeSpecError> {
        let renamed = self.spec.rules.iter().filter(|rule| rule.name == "rename");
        let renamed: Vec<String> = renamed.flat_map(|rule| rule.columns.clone()).collect();
        let sample = sample.map(|sample| [sample, &renamed].concat());
        let sample = sample.as_deref();
        let both = answers.zip(sample);
        let both = both.map(|(one, other)| all_columns(one, other));
        let (answers, sample) = (
            ("the answers have no", answers),
            ("the sample submission has no", sample),
        );
        let either = (
            "neither the answers nor the sample submission has a",
            both.as_deref(),
        );
        let lack = |(_, known): &(_, Option<&[String]>), columns: &[String]| {
            known.is_some_and(|known| columns.iter().any(|one| !known.contains(one)))
        };
        let rules = self.spec.rules.iter().map(|rule| {
            let of = match rule.name {
                "columns" | "exact_columns" => sample,
                _ if !rule.rule.identifies_rows() || lack(&either, &rule.columns) => either,
                _ if lack(&answers, &rule.columns) => answers,
                _ => sample,
            };
            (&rule.path, &rule.columns, of)
        });
        let metric = KeyPath::default().key("metric");
        let of_metric = (&metric, &self.spec.metric.columns, answers);
        let mut found = Vec::new();
        for (path, columns, (table, known)) in rules.chain([of_metric]) {
            let Some(known) = known else { continue };
            for column in columns.iter().filter(|column| !known.contains(column)) {
                let problem = Problem::NoColumn {
                    table,
                    column: column.clone(),
                    known: known.to_vec(),
                };
                found.push(GradeSpecError {
                    suggestion: nearest(column, known.iter().map(String::as_str))
                        .map(str::to_owned),
                    ..GradeSpecError::new(path, problem)
                });
            }
        }
        found
    }

    /// Returns the columns with the true values, as opposed to identifiers, groups, weights and sizes. If queries
    /// compute the score, there are no such columns. `answers` contains all columns of the answers, if they are known.
    pub fn true_columns(&self, answers: Option<&[String]>) -> Vec<String> {
        let truth = self.spec.metric.truth.iter();
        truth.flat_map(|columns| columns.names(answers)).collect()
    }

    /// Returns a warning if a label of the submission differs only in case and spaces from a label of the answers. Other
    /// unknown labels may be those of rare classes. Does not read the submission if the metric does not compare labels.
    pub fn misspelled_label(
        &self,
        answers: &Frame,
        read: impl FnOnce() -> Option<Frame>,
    ) -> Option<String> {
        let mut parameters = self.metric().definition.parameters.iter();
        parameters.find(|one| one.name == LABELS.name)?;
        let submission = &read()?;
        let plain = |label: &str| label.trim().to_lowercase();
        self.true_columns(None).into_iter().find_map(|name| {
            let labels = |table: &Frame| {
                let column = table.column(&name);
                let cells = column.map(|column| (0..table.rows).filter_map(|row| column.text(row)));
                cells.into_iter().flatten().collect::<BTreeSet<_>>()
            };
            let (known, found) = (labels(answers), labels(submission));
            let near = |label: &str| known.iter().find(|one| plain(one) == plain(label));
            let mut unknown = found.difference(&known);
            let (label, near) = unknown.find_map(|label| Some((label, near(label)?)))?;
            let (label, near) = (QuotedValue(label), QuotedValue(near));
            Some(format!(
                "the submission has the label {label} in the column `{name}`, but the answers have {near}"
            ))
        })
    }

    /// Returns the columns by which rows of the answers are paired with rows of the submission. Rules pair rows, and so
    /// do the joins of the metric's queries.
    pub fn identifiers(&self) -> Vec<&str> {
        let queries = self.queries().into_iter();
        let joined = queries.flat_map(|query| query.tree().join_keys());
        self.identifiers_of_rules()
            .into_iter()
            .chain(joined)
            .collect()
    }

    /// Returns the columns by which rules pair rows of the answers with rows of the submission.
    pub fn identifiers_of_rules(&self) -> Vec<&str> {
        let rules = self.spec.rules.iter();
        let rules = rules.filter(|rule| rule.rule.identifies_rows());
        rules
            .flat_map(|rule| rule.columns.iter().map(String::as_str))
            .collect()
    }

    /// Returns whether several rows can have the same identifier. This is the case if the metric groups rows by it, or if a
    /// query pairs the rows.
    pub fn groups_rows(&self) -> bool {
        let ids = self.identifiers();
        let mut columns = self.spec.metric.columns.iter();
        !self.queries().is_empty() || columns.any(|column| ids.contains(&column.as_str()))
    }

    fn named_columns<'s>(&'s self, rules: &'s [SpecRule]) -> impl Iterator<Item = &'s str> {
        let of_rules = rules.iter().flat_map(|rule| &rule.columns);
        let names = of_rules.chain(&self.spec.metric.columns);
        names.map(String::as_str)
    }

    fn outcome<'p>(&'p self, mut pair: Pair<'p>) -> Result<GradeOutcome, Refusal> {
        pair.engine = self.engine.as_deref();
        pair.recognise(self.named_columns(&self.spec.rules));
        let outcome = self.apply(&mut pair);
        outcome.map_err(|refusal| pair.without_quotes(self.with_odd_id(&pair, refusal)))
    }

    /// If `refusal` is about the number of rows, adds an identifier to its message as an example. If rows are missing,
    /// the example has no row in the submission. If there are too many rows, the example is unknown or repeated.
    fn with_odd_id(&self, pair: &Pair<'_>, mut refusal: Refusal) -> Refusal {
        let (expected, found) = (pair.answers.len(), pair.submission.len());
        let is_short = (1..expected).contains(&found);
        let is_long = (expected + 1..=MANY_ROWS).contains(&found);
        let id = self.identifiers().into_iter().next();
        let id = id.filter(|_| (is_short || is_long) && refusal.kind == RefusalKind::RowCount);
        let Some((answers, submission)) = id.and_then(|id| pair.both(id).ok()) else {
            return refusal;
        };
        let added = if is_short {
            let known = identifiers_in(&submission);
            let missing = (0..expected).find(|row| !known.contains(&key(&answers, *row)));
            missing.map(|row| format!("there is no row for {}", answers.for_message(row)))
        } else {
            let mut known = identifiers_in(&answers);
            let is_unknown = |row: &usize| !known.contains(&key(&submission, *row));
            let unknown = (0..found).find(is_unknown).map(|row| ("an unknown", row));
            let mut rules = self.spec.rules.iter();
            let repeats = rules.any(|rule| matches!(rule.rule.rows(), RowPolicy::Times(2..)));
            let odd = unknown.or_else(|| {
                let mut rows = 0..if repeats { 0 } else { found };
                rows.find(|row| !known.remove(&key(&submission, *row)))
                    .map(|row| ("the repeated", row))
            });
            odd.map(|(kind, row)| {
                let (file_row, id) = (submission.file_row(row), submission.for_message(row));
                format!("row {file_row} has {kind} identifier {id}")
            })
        };
        if let Some(added) = added {
            refusal.message.push_str(&format!("; {added}"));
        }
        refusal
    }

    fn apply(&self, pair: &mut Pair<'_>) -> Result<GradeOutcome, Refusal> {
        let mut rules = self.spec.rules.as_slice();
        let mut knows_rows = false;
        while let [rule, later @ ..] = rules {
            if !knows_rows && !rule.rule.is_about_shape() {
                self.check_rows(pair, rules)?;
                knows_rows = true;
            }
            first_in_file(pair, |pair| rule.rule.apply(pair))?;
            rules = later;
            if pair.submission.len() > MANY_ROWS {
                let wanted: Vec<&str> = self.named_columns(later).collect();
                pair.submission.forget_all_but(&wanted);
            }
        }
        if !knows_rows {
            self.check_rows(pair, rules)?;
        }
        let score = first_in_file(pair, |pair| self.spec.metric.metric.score(pair));
        let mut score = score.map_err(|refusal| Refusal {
            is_of_metric: true,
            ..refusal
        })?;
        if (self.spec.scale, self.spec.offset) != (1.0, 0.0) {
            score.value = self.spec.scale * score.value + self.spec.offset;
        }
        Ok(GradeOutcome::Score {
            value: score.value,
            rounded: score.rounded(),
        })
    }

    /// If the submission has more than [`MANY_ROWS`] rows, rejects a wrong number of rows before any cell is read. For
    /// a smaller submission, the rules report the first error in their order, for example an invalid cell.
    ///
    /// Also drops surplus rows that neither the rules nor the metric use.
    fn check_rows(&self, pair: &mut Pair<'_>, rules: &[SpecRule]) -> Result<(), Refusal> {
        let mut policies = rules.iter().map(|rule| rule.rule.rows());
        let many = pair.submission.len() > MANY_ROWS;
        let kept = |rows: &RowPolicy| matches!(rows, RowPolicy::Kept | RowPolicy::CellByCell);
        match policies.clone().find(|rows| !kept(rows)) {
            Some(RowPolicy::Times(times)) if many => {
                let expected = pair.answers.len().saturating_mul(times);
                return required_rows::check(pair.submission.len(), expected);
            }
            Some(_) => return Ok(()),
            None => {}
        }
        match self.spec.metric.metric.rows() {
            RowPolicy::Times(1) if many => pair.check_same_rows()?,
            RowPolicy::First if policies.all(|rows| rows == RowPolicy::CellByCell) => {
                pair.submission.truncate(pair.answers.len());
            }
            _ => {}
        }
        Ok(())
    }
}

fn identifiers_in<'a>(column: &GradedColumn<'a>) -> HashSet<Identifier<'a>> {
    (0..column.len()).map(|row| key(column, row)).collect()
}

/// Calls `check`, which reports the first invalid row. If rules have sorted the rows, calls `check` again with the rows in
/// the order of the file, so that the message names the first invalid row of the file.
fn first_in_file<T>(
    pair: &mut Pair<'_>,
    check: impl Fn(&mut Pair<'_>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    check(pair).map_err(|refusal| {
        if refusal.row.is_none() || !pair.sort_by_file() {
            return refusal;
        }
        let is_earlier = |other: &Refusal| {
            other.row.is_some_and(|row| Some(row) < refusal.row)
                && other.kind != RefusalKind::Answers
        };
        check(pair).err().filter(is_earlier).unwrap_or(refusal)
    })
}

/// Returns the columns of two tables, each once.
pub fn all_columns(one: &[String], other: &[String]) -> Vec<String> {
    let others = other.iter().filter(|name| !one.contains(name));
    one.iter().chain(others).cloned().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_of_rules_and_metric_are_listed() {
        let columns = |section: Value| {
            let grader = Grader::parse(&section).unwrap();
            grader
                .named_columns(&grader.spec.rules)
                .collect::<Vec<_>>()
                .join(" ")
        };
        let plain = json!({ "rules": [{ "columns": ["id", "y"] }, { "align": "id" }], "metric": { "roc_auc": "y" } });
        assert_eq!(columns(plain), "id y id y");
        let others = json!({
            "rules": [{ "numeric": { "all_except": ["id"], "of": "submission" } }, { "rename": { "column": "a", "to": "b" } }],
            "metric": { "weighted_sum": [
                { "metric": { "roc_auc": { "all_except": "id" } }, "weight": 0.5 },
                { "metric": { "f_beta_of_masks": { "column": "m", "width": "w", "height": 9, "beta": 1 } }, "weight": 0.5 },
            ] },
        });
        assert_eq!(columns(others), "id a b id m w");
    }

    #[test]
    fn scored_rows_are_those_that_the_rules_keep() {
        let answers = "id,y,group,at\n1,-1,a,1\n2,0,a,3\n3,1,a,2\n4,,b,1\n";
        for (rules, expected) in [
            (json!(["same_rows", { "align": "id" }]), None),
            (
                json!([{ "align": "id" }, { "keep_rows": { "sum_of": "y", "min": 0 } }]),
                Some(vec![1, 2, 3]),
            ),
            (
                json!([{ "keep_rows": { "sum_of": "y", "max": 0, "by": "id" } }]),
                Some(vec![0, 1, 3]),
            ),
            (
                json!([{ "keep_rows": { "sum_of": "y", "min": 1, "in_file": true } }]),
                Some(vec![2]),
            ),
            (
                json!([{ "drop_missing": "y" }, { "keep_last": { "groups": "group", "by": "at", "count": 2 } }]),
                Some(vec![1, 2]),
            ),
        ] {
            let grader =
                Grader::parse(&json!({ "rules": rules, "metric": { "accuracy": "y" } })).unwrap();
            let answers = grader.read_answers(answers.as_bytes()).unwrap();
            let scored = grader
                .drops_answers()
                .then(|| grader.scored_rows(&answers).unwrap());
            assert_eq!(scored, expected, "{rules}");
        }
    }

    #[test]
    fn columns_by_which_a_query_joins_are_identifiers() {
        let (from, compared) = (
            "FROM answers a JOIN submission s",
            "CAST(a.y = s.y AS BIGINT)",
        );
        for (query, expected) in [
            (
                format!("SELECT avg({compared}) {from} USING (id, part)"),
                "id part",
            ),
            (
                format!("SELECT avg({compared}) {from} ON a.id = s.name AND a.y > 0"),
                "id name",
            ),
            (
                format!("SELECT count(*) {from} USING (id) WHERE a.y = s.y"),
                "id",
            ),
            (
                "SELECT sum(a.y) FROM answers a, submission s WHERE a.id = s.id AND s.y = 1"
                    .to_owned(),
                "id",
            ),
            (
                format!("WITH w AS (SELECT a.y AS x {from} USING (id)) SELECT avg(x) FROM w"),
                "id",
            ),
            (
                format!("SELECT avg({compared}) {from} ON a._row = s._row"),
                "_row",
            ),
        ] {
            let section = json!({ "metric": { "sql": query, "direction": "higher_is_better" } });
            assert_eq!(
                Grader::parse(&section).unwrap().identifiers().join(" "),
                expected,
                "{query}"
            );
        }
    }

    #[test]
    fn labels_that_are_probably_misspelled_are_found() {
        let accuracy = json!({ "accuracy": "y" });
        let answers = "id,y\n1,ja\n2,nein\n";
        for (metric, submission, expected) in [
            (&accuracy, "id,y\n1,Ja\n2,nein\n", Some("\"Ja\"")),
            (&accuracy, "id,y\n1,nein \n2,ja\n", Some("\"nein \"")),
            // The label may be that of a rare class.
            (&accuracy, "id,y\n1,ja\n2,vielleicht\n", None),
            (&accuracy, "id,y\n1,1\n2,0\n", None),
        ] {
            let grader = Grader::parse(&json!({ "metric": metric })).unwrap();
            let [known, found] =
                [answers, submission].map(|text| grader.read_answers(text.as_bytes()).unwrap());
            let warning = grader.misspelled_label(&known, || Some(found));
            match expected {
                Some(label) => assert!(
                    warning.is_some_and(|text| text.contains(label)),
                    "{submission}"
                ),
                None => assert_eq!(warning, None, "{submission}"),
            }
        }
    }

    #[test]
    fn columns_with_true_values_are_not_identifiers_or_groups() {
        let answers = ["id", "a", "b", "g"].map(str::to_owned);
        let columns = |metric: Value| {
            let grader = Grader::parse(&json!({ "metric": metric })).unwrap();
            grader.true_columns(Some(&answers)).join(" ")
        };
        for (metric, expected) in [
            (json!({ "accuracy": "a" }), "a"),
            (
                json!({ "mean_angular_error": { "azimuth": "a", "zenith": "b" } }),
                "a b",
            ),
            (
                json!({ "roc_auc": { "columns": { "all_except": ["id", "g"] } } }),
                "a b",
            ),
            (
                json!({ "exact_match": { "column": "p", "valid": "a" } }),
                "a",
            ),
            (
                json!({ "weighted_sum": [
                    { "metric": { "accuracy": "a" }, "weight": 0.5 },
                    { "metric": { "top_k_accuracy": { "column": "b", "k": 3, "id": "id" } }, "weight": 0.5 },
                ] }),
                "a b",
            ),
        ] {
            assert_eq!(columns(metric.clone()), expected, "{metric}");
        }
        // Each metric states the parameters of its true values, except a query and a sum of other metrics.
        for kind in crate::metrics::ALL {
            let parameters = kind.definition.parameters.iter().map(|one| one.name);
            let stated = parameters.filter(|name| kind.truth.contains(name)).count();
            let has_none = ["sql", "weighted_sum"].contains(&kind.definition.name);
            assert_eq!(stated == 0, has_none, "{}", kind.definition.name);
        }
    }

    #[test]
    fn messages_quote_submissions_but_not_other_files() {
        let section = json!({ "rules": ["same_rows", { "numeric": { "all_except": ["id"], "of": "submission" } }], "metric": { "accuracy": "label" } });
        let grader = Grader::parse(&section).unwrap();
        let answers = grader.read_answers(b"id,label\n1,2\n").unwrap();
        for (submission, expected) in [
            (
                "id,labl\n1,2\n",
                "column `label`: the submission has no such column, but a column `labl`; rename it to `label`",
            ),
            (
                "id,other\n1,2\n",
                "column `label`: the submission has no such column; it has: id, other",
            ),
            (
                "SECRET,KEY\n1,2\n",
                "column `label`: the submission has no such column; its first line has 2 columns, but none with a name that this competition uses",
            ),
            (
                "SECRET\nSECRET\n",
                "its first line has 1 column, but none with a name that this competition uses",
            ),
            (
                "SECRET\n1\n2\n",
                "the submission has 2 rows, 1 too many: expected 1",
            ),
        ] {
            let outcome = grader.grade_bytes(&answers, submission.as_bytes());
            let GradeOutcome::Invalid(refusal) = outcome else {
                panic!("{submission} is valid");
            };
            assert_eq!(refusal.to_string(), expected, "{submission}");
        }
    }

    #[test]
    fn messages_name_the_first_invalid_row_of_the_file_and_the_mistake() {
        let align = json!({ "align": "id" });
        let (accuracy, log_loss) = (json!({ "accuracy": "y" }), json!({ "log_loss": "y" }));
        let (brier, rmsle) = (
            json!({ "brier": "y" }),
            json!({ "root_mean_squared_log_error": "y" }),
        );
        let with = |rule: Value| json!([align, rule]);
        let plain = || json!([align]);
        let text = "id,y\n3,maybe\n4,0\n1,perhaps\n2,1\n";
        let range = "id,y\n3,-7\n4,0\n1,-9\n2,1\n";
        let empty = "id,y\n3,\n4,0\n1,\n2,1\n";
        for (rules, metric, submission, expected) in [
            (
                with(json!({ "numeric": "y" })),
                &accuracy,
                text,
                "column `y`, row 1: found `maybe`",
            ),
            (
                with(json!({ "finite": "y" })),
                &accuracy,
                empty,
                "column `y`, row 1: found nothing",
            ),
            (
                with(json!({ "range": { "columns": "y", "min": 0, "max": 1 } })),
                &accuracy,
                range,
                "column `y`, row 1: found `-7",
            ),
            (plain(), &log_loss, text, "column `y`, row 1: found `maybe`"),
            (plain(), &brier, text, "column `y`, row 1: found `maybe`"),
            (plain(), &brier, range, "column `y`, row 1: found `-7"),
            (plain(), &rmsle, range, "column `y`, row 1: found `-7"),
            (
                json!(["columns", align]),
                &accuracy,
                "Id,Y\n1,1\n",
                "it also lacks y (rename `Y`)",
            ),
            (
                json!(["same_rows", align]),
                &accuracy,
                "id,y\n1,1\n2,1\n9,1\n3,1\n4,1\n",
                "expected 4; row 3 has an unknown identifier `9`",
            ),
            (
                json!(["same_rows", align]),
                &accuracy,
                "id,y\n1,1\n2,1\n3,1\n2,1\n4,1\n",
                "expected 4; row 4 has the repeated identifier `2`",
            ),
            (
                json!(["same_rows", align]),
                &accuracy,
                "id,y\n1,1\n2,1\n4,1\n",
                "expected 4; there is no row for `3`",
            ),
            (
                plain(),
                &accuracy,
                "```csv\nid,y\n1,1\n```\n",
                "Markdown fence in line 1",
            ),
        ] {
            let section = json!({ "rules": rules, "metric": metric });
            let grader = Grader::parse(&section).unwrap();
            let answers = grader.read_answers(b"id,y\n1,1\n2,0\n3,1\n4,0\n").unwrap();
            let GradeOutcome::Invalid(refusal) =
                grader.grade_bytes(&answers, submission.as_bytes())
            else {
                panic!("{submission} is valid");
            };
            let message = refusal.to_string();
            assert!(
                message.contains(expected),
                "{section} {submission}: {message}"
            );
        }
    }
}
