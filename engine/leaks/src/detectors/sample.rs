//! `sample`: does the sample submission follow the answers?

use crate::finding::{Finding, Level};
use crate::statistics::majority;
use crate::world::World;

const NAME: &str = "sample";

pub(super) fn find(world: &World) -> Vec<Finding> {
    let mut found = Vec::new();
    for label in &world.labels {
        let Some(column) = world.sample.column(&label.name) else {
            continue;
        };
        if column.len() != label.rows.len() || column.len() < 20 {
            continue;
        }
        let answers = label.rows.iter().map(|(_, value)| value);
        let equal = column
            .iter()
            .zip(answers.clone())
            .filter(|(a, b)| a == b)
            .count();
        let share = equal as f64 / column.len() as f64;
        let constant = majority(column);
        let guess = majority(answers);
        if constant < 0.95 && share >= 0.5 && share > guess + 0.1 {
            let what = format!(
                "{:.0} % of the sample's `{}` are the answers",
                100.0 * share,
                label.name
            );
            let level = if share > 0.9 {
                Level::Leak
            } else {
                Level::Risk
            };
            found.push(Finding::new(level, NAME, what));
        }
    }
    found
}
