//! Runs the queries of metrics that authors write.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int64Array, StringArray};
use prep_grade::metrics::{QUERY_TABLES, QueryColumn, QueryEngine, QueryFailure, QueryTable};
use prep_spec::model::Query;
use prep_sql::{ArrayTable, NumberError, QueryLimits, Relation};

/// The memory that a metric's query may use, in bytes.
const QUERY_MEMORY: u64 = 1 << 30;

/// The engine that runs the queries of metrics.
#[derive(Debug)]
pub(super) struct MetricQueries;

impl QueryEngine for MetricQueries {
    fn number(&self, query: &Query, tables: Vec<QueryTable>) -> Result<f64, QueryFailure> {
        let tables = tables.into_iter().map(|table| {
            let columns = table.columns.into_iter();
            let columns = columns.map(|(name, column)| (name, array(column)));
            let relation = ArrayTable::new(table.rows, columns.collect());
            let relation: Arc<dyn Relation> = Arc::new(relation);
            (table.name.to_owned(), relation)
        });
        let tables: BTreeMap<String, Arc<dyn Relation>> = tables.collect();
        let number = prep_sql::number(query, tables, &QueryLimits::with_memory(QUERY_MEMORY));
        number.map_err(|error| failure(query, &error))
    }
}

fn failure(query: &Query, error: &NumberError) -> QueryFailure {
    QueryFailure {
        query: query.text.clone(),
        place: error.place(),
        message: error.to_string(),
        help: error.help().map(str::to_owned),
    }
}

fn array(column: QueryColumn) -> ArrayRef {
    match column {
        QueryColumn::Boolean(values) => Arc::new(BooleanArray::from(values)),
        QueryColumn::Integer(values) => Arc::new(Int64Array::from(values)),
        QueryColumn::Number(values) => Arc::new(Float64Array::from(values)),
        QueryColumn::Text(values) => Arc::new(StringArray::from(values)),
    }
}

/// Checks the query of a metric before the answers and the submission exist. `columns` contains the columns of the answers
/// and the columns of submissions. An element is `None` if the columns of that table are not known.
///
/// # Errors
/// Returns an error if the query is invalid for all answers and submissions.
pub(crate) fn check_query(
    query: &Query,
    columns: [Option<&[String]>; 2],
) -> Result<(), QueryFailure> {
    let [answers, submission] = QUERY_TABLES;
    let [of_answers, of_submission] = columns;
    let tables = [(answers, of_answers), (submission, of_submission)];
    prep_sql::check_number(query, &tables).map_err(|error| failure(query, &error))
}

#[cfg(test)]
mod tests {
    use prep_grade::{GradeOutcome, Grader, RefusalKind};
    use serde_json::{Value, json};

    use super::*;

    const ANSWERS: &[u8] = b"id,y,label,site,repaid,amount\n3,2.5,a,n,1,100\n1,4,b,n,0,50\n2,-1,a,s,1,10.5\n4,0,b,s,1,8\n";
    const SUBMISSION: &[u8] =
        b"id,y,label,approve,score\n1,3,b,1,0.9\n2,0.5,b,1,0.9\n3,2.5,a,0,0.1\n4,7,b,1,0.2\n";

    fn grade(metric: &Value, submission: &[u8]) -> GradeOutcome {
        let grader = Grader::parse(&json!({ "rules": [{ "align": "id" }], "metric": metric }));
        let grader = grader.unwrap().with_engine(Arc::new(MetricQueries));
        grader.grade_bytes(&grader.read_answers(ANSWERS).unwrap(), submission)
    }

    fn score(metric: &Value) -> f64 {
        match grade(metric, SUBMISSION) {
            GradeOutcome::Score { value, .. } => value,
            GradeOutcome::Invalid(refusal) => panic!("{metric}: {refusal}"),
        }
    }

    /// Returns the queries of the examples in the documentation.
    fn documented() -> Vec<String> {
        let page = include_str!("../../../../docs/pipelines.md");
        let section = page.split("### A metric of your own").nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let blocks = section.split("```sql\n").skip(1);
        let query = |block: &str| block.split("```").next().unwrap().to_owned();
        blocks.map(query).collect()
    }

    #[test]
    fn documented_queries_compute_their_scores() {
        let queries = documented();
        let own = |query: &str| json!({ "sql": query, "direction": "lower_is_better" });
        let built_in = score(&json!({ "root_mean_squared_error": "y" }));
        let expected = [
            built_in,
            (0.0 + 0.9 * 1.0 + 0.1 * 1.5 + 0.1 * 7.0) / 4.0,
            0.5,
            10.5 * 0.1 - 50.0 + 8.0 * 0.1,
            (4.0 - 1.0) / 2.0,
        ];
        assert_eq!(queries.len(), expected.len());
        for (query, expected) in queries.iter().zip(expected) {
            check_query(&Query::parse(query).unwrap(), [None, None]).unwrap();
            let found = score(&own(query));
            assert!(
                (found - expected).abs() < 1e-12,
                "{query}: {found}, not {expected}"
            );
        }
    }

    #[test]
    fn queries_see_tables_with_pandas_types_after_all_rules() {
        let answers = b"id,b,i,u,f,t,e\n2,True,1,18446744073709551615,0.5,x,\n1,False,2,1,,3,\n";
        for (query, expected) in [
            (
                "SELECT sum(CASE WHEN b THEN 1 ELSE 0 END) FROM answers",
                1.0,
            ),
            ("SELECT sum(i) FROM answers", 3.0),
            ("SELECT count(f) + count(e) FROM answers", 1.0),
            ("SELECT max(u) FROM answers", 18_446_744_073_709_551_615.0),
            ("SELECT count(*) FROM answers WHERE t = '3'", 1.0),
            ("SELECT count(*) FROM submission", 2.0),
            ("SELECT a.i FROM answers a WHERE _row = 0", 2.0),
        ] {
            let rules = json!([{ "align": "id" }]);
            let metric = json!({ "sql": query, "direction": "higher_is_better" });
            let grader = Grader::parse(&json!({ "rules": rules, "metric": metric })).unwrap();
            let grader = grader.with_engine(Arc::new(MetricQueries));
            let answers = grader.read_answers(answers).unwrap();
            let outcome = grader.grade_bytes(&answers, b"id\n1\n2\n");
            assert_eq!(outcome.rounded(), Some(expected), "{query}: {outcome:?}");
        }
    }

    /// Otherwise, a submission could change the meaning of `/`.
    #[test]
    fn a_score_does_not_depend_on_how_a_number_is_written() {
        let query =
            "SELECT avg(abs(a.y - s.y) / a.y) FROM answers a JOIN submission s ON a.id = s.id";
        let metric = json!({ "sql": query, "direction": "lower_is_better" });
        let large = 9_007_199_254_740_993_i64;
        for (answers, submission, expected) in [
            ("1,100\n2,200", "1,110\n2,220", 0.1),
            ("1,100\n2,200", "1,110.0\n2,220.0", 0.1),
            ("1,100\n2,200", "1,199\n2,399", 0.9925),
            ("1,1\n2,2", "1,5000000000\n2,2", 2_499_999_999.5),
            // The ids are equal as doubles.
            (
                &*format!("{large},4\n{},8", large - 1),
                &*format!("{},10\n{large},6", large - 1),
                0.375,
            ),
        ] {
            let grader = Grader::parse(&json!({ "metric": metric })).unwrap();
            let grader = grader.with_engine(Arc::new(MetricQueries));
            let answers = grader
                .read_answers(format!("id,y\n{answers}\n").as_bytes())
                .unwrap();
            let outcome = grader.grade_bytes(&answers, format!("id,y\n{submission}\n").as_bytes());
            assert_eq!(
                outcome.rounded(),
                Some(expected),
                "{submission}: {outcome:?}"
            );
        }
    }

    #[test]
    fn a_query_must_return_one_finite_number() {
        for (query, message) in [
            ("SELECT z FROM answers", "z"),
            ("SELECT y FROM answers", "more than one row"),
            ("SELECT y FROM answers WHERE y > 99", "no row"),
            (
                "SELECT label FROM answers WHERE id = 1",
                "expected a number",
            ),
            ("SELECT avg(y) FROM answers WHERE y > 99", "missing"),
            ("SELECT y, id FROM answers WHERE id = 1", "2 columns"),
            (
                "SELECT exp(999 * max(y)) FROM answers",
                "in the pipeline: the result is inf, expected a finite number",
            ),
            (
                "SELECT max(y) / 2 / min(score - score) FROM submission",
                "in the pipeline: 1:21: the result is inf, expected a finite number; perhaps this divisor is 0",
            ),
            (
                "SELECT exp(999 * max(y)) / nullif(max(y), 0) FROM answers",
                "in the pipeline: the result is inf",
            ),
            (
                "SELECT sum(label) FROM submission",
                "does not take `label`, which is text",
            ),
        ] {
            let metric = json!({ "sql": query, "direction": "lower_is_better" });
            match grade(&metric, SUBMISSION) {
                GradeOutcome::Invalid(refusal) => {
                    assert_eq!(refusal.kind, RefusalKind::Metric, "{refusal}");
                    let shown = refusal.to_string();
                    assert!(shown.contains(message), "{query}: {shown}");
                }
                GradeOutcome::Score { value, .. } => panic!("{query}: {value}"),
            }
        }
    }

    #[test]
    fn a_query_can_be_a_part_of_a_weighted_sum() {
        let own = json!({ "sql": "SELECT sum(y) FROM submission" });
        let metric = json!({ "weighted_sum": [
            { "metric": own, "weight": 2 },
            { "metric": { "accuracy": "label" }, "weight": 4 },
        ] });
        assert_eq!(score(&metric), 2.0 * 13.0 + 4.0 * 0.75);
        let grader = Grader::parse(&json!({ "metric": metric })).unwrap();
        assert_eq!(grader.queries().len(), 1);
        let grader = Grader::parse(&json!({ "metric": { "accuracy": "label" } })).unwrap();
        assert!(grader.queries().is_empty());
    }
}
