//! Tests that metrics of suites other than MLE-bench compute the scores of scikit-learn, SciPy or NumPy.
//! `data/record_suites.py` recorded these scores. It draws the same tables from the same seeds.

use std::collections::BTreeMap;

use prep_grade::table::submission;
use prep_grade::{GradeOutcome, Grader};
use serde_json::{Value, json};

/// The random number generator SplitMix64, as in `record_suites.py`.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % n as u64) as usize
    }

    fn one<'v>(&mut self, values: &'v [Value]) -> &'v str {
        values[self.below(values.len())].as_str().unwrap()
    }
}

type Table = Vec<(String, Vec<String>)>;

/// Draws the cells of a table from `pools`, which are named lists of values. `columns` names pools for each column, in the
/// notation of `record_suites.py`.
fn draw_table(
    draw: &mut Draw,
    pools: &Value,
    columns: &Value,
    rows: usize,
    answers: Option<&Table>,
) -> Table {
    let pool_of = |name: &str| pools[name].as_array().unwrap().as_slice();
    let columns: BTreeMap<&String, &Value> = columns.as_object().unwrap().iter().collect();
    let cells = columns.into_iter().map(|(name, names)| {
        let pool = draw.one(names.as_array().unwrap()).to_owned();
        let cells = (0..rows).map(|row| {
            if pool == "same" {
                let mut columns = answers.into_iter().flatten();
                let same = columns.find(|column| column.0 == *name);
                return same.map_or_else(String::new, |column| column.1[row].clone());
            }
            let list: Vec<&str> = pool.split(':').collect();
            match list.as_slice() {
                [_, of, separator, most] => {
                    let length = match most.strip_prefix('=') {
                        Some(length) => length.parse().unwrap(),
                        None => 1 + draw.below(most.parse().unwrap()),
                    };
                    let words = (0..length).map(|_| draw.one(pool_of(of)));
                    words.collect::<Vec<&str>>().join(separator)
                }
                _ => draw.one(pool_of(&pool)).to_owned(),
            }
        });
        (name.clone(), cells.collect())
    });
    cells.collect()
}

/// Draws a table with a 1 in one of three columns of each row, and 0 in the other two.
fn draw_one_hot(draw: &mut Draw, columns: &Value, rows: usize) -> Table {
    let hot: Vec<usize> = (0..rows).map(|_| draw.below(3)).collect();
    let columns = columns.as_object().unwrap().keys().enumerate();
    let columns = columns.map(|(index, name)| {
        let cell = |hot: &usize| u8::from(*hot == index).to_string();
        (name.clone(), hot.iter().map(cell).collect())
    });
    columns.collect()
}

fn csv(table: &Table) -> String {
    let names: Vec<&str> = table.iter().map(|column| column.0.as_str()).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..table[0].1.len() {
        let cells = table.iter().map(|column| format!("\"{}\"", column.1[row]));
        text += &(cells.collect::<Vec<_>>().join(",") + "\n");
    }
    text
}

fn grade(grader: &Grader, answers: &str, submission: &str) -> GradeOutcome {
    let answers = submission::parse(answers.as_bytes()).unwrap();
    match submission::parse(submission.as_bytes()) {
        Ok(submission) => grader.grade(&answers, &submission),
        Err(refusal) => GradeOutcome::Invalid(refusal),
    }
}

fn is_expected(outcome: &GradeOutcome, expected: &str) -> bool {
    match (outcome, expected.parse::<f64>()) {
        (GradeOutcome::Invalid(_), Err(_)) => true,
        (GradeOutcome::Score { value, .. }, Ok(expected)) => {
            // A score near 0 can be the difference of two numbers near 1, so the tolerance does not shrink with the
            // score.
            let tolerance = 2e-13 * expected.abs().max(1.0);
            value == &expected
                || (value.is_nan() && expected.is_nan())
                || (value - expected).abs() <= tolerance
        }
        _ => false,
    }
}

#[test]
fn scores_of_drawn_tables_match_the_sources() {
    let mut lines = include_str!("data/suites.jsonl").lines();
    let header: Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    let rows = header["rows"].as_array().unwrap();
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (seed, line) in lines.enumerate() {
        let line: Value = serde_json::from_str(line).unwrap();
        let grader = Grader::parse(&json!({ "metric": line["metric"] })).unwrap();
        let scores: Vec<&str> = line["scores"].as_str().unwrap().split(' ').collect();
        assert!(scores.len() >= 200, "{} has few cases", line["metric"]);
        for (case, expected) in scores.into_iter().enumerate() {
            let mut draw = Draw((seed * 1000 + case) as u64);
            let rows = rows[draw.below(rows.len())].as_u64().unwrap() as usize;
            let answers = match line["answers"]["a"][0].as_str() {
                Some("one_hot") => draw_one_hot(&mut draw, &line["answers"], rows),
                _ => draw_table(&mut draw, &header["pools"], &line["answers"], rows, None),
            };
            let submission = draw_table(
                &mut draw,
                &header["pools"],
                &line["submission"],
                rows,
                Some(&answers),
            );
            let (answers, submission) = (csv(&answers), csv(&submission));
            let outcome = grade(&grader, &answers, &submission);
            if !is_expected(&outcome, expected) {
                let case = format!("{case}: {expected} {outcome:?} {answers:?} {submission:?}");
                let of_metric = wrong.entry(line["metric"].to_string()).or_default();
                of_metric.push(case.chars().take(900).collect());
            }
        }
    }
    let shown = wrong.iter().map(|(metric, cases)| {
        let first = cases.iter().take(3).cloned().collect::<Vec<_>>();
        format!("{metric}: {} differ\n{}", cases.len(), first.join("\n"))
    });
    assert!(wrong.is_empty(), "{}", shown.collect::<Vec<_>>().join("\n"));
}
