//! Sorting and filtering without a script: radio buttons, and CSS rules that depend on the checked button.
//!
//! Each row has a CSS variable with its position in each order, for example `--by-size: 3`. The rows are items of a
//! grid, so a rule can set their `order` to one of these variables.

use std::fmt::Write as _;

use maud::{Markup, html};

use super::status::CompetitionStatus;

/// The orders of rows: id and label of the button.
pub const ORDERS: [(&str, &str); 4] = [
    ("problems", "problems first"),
    ("name", "name"),
    ("size", "size"),
    ("run", "last run"),
];

/// The filters of rows: id and label of the button.
const FILTERS: [(&str, &str); 4] = [
    ("all", "all"),
    ("problems", "problems"),
    ("prepared", "prepared"),
    ("empty", "not prepared"),
];

/// Returns the CSS classes by which filters select a row.
pub fn classes(level: CompetitionStatus, is_complete: bool) -> String {
    let problem = match level {
        CompetitionStatus::Bad | CompetitionStatus::Fair => "in-problems ",
        CompetitionStatus::Good | CompetitionStatus::Empty => "",
    };
    let state = match (level, is_complete) {
        (CompetitionStatus::Empty, _) => "in-empty",
        (_, true) => "in-prepared",
        (_, false) => "",
    };
    format!("{problem}{state}")
}

/// Returns the buttons. `rows` has the classes of each row. Filters that select no rows or all rows are left out.
pub fn buttons(rows: &[String]) -> Markup {
    let matching = |filter: &str| {
        let class = format!("in-{filter}");
        rows.iter()
            .filter(|row| row.split(' ').any(|one| one == class))
            .count()
    };
    let filters = FILTERS.iter().filter_map(|(filter, words)| match *filter {
        "all" => Some((*filter, *words, rows.len())),
        _ => {
            let count = matching(filter);
            (count > 0 && count < rows.len()).then_some((*filter, *words, count))
        }
    });
    let filters: Vec<(&str, &str, usize)> = filters.collect();
    html! {
        div.controls {
            @if filters.len() > 1 {
                fieldset {
                    legend { "Show" }
                    @for (filter, words, count) in &filters {
                        label {
                            input type="radio" name="show" id={ "show-" (filter) } checked[*filter == "all"];
                            span { (words) " " small { (count) } }
                        }
                    }
                }
            }
            fieldset {
                legend { "Sort by" }
                @for (at, (order, words)) in ORDERS.iter().enumerate() {
                    label {
                        input type="radio" name="sort" id={ "sort-" (order) } checked[at == 0];
                        span { (words) }
                    }
                }
            }
        }
    }
}

/// Returns the CSS rules that belong to the buttons.
pub fn ordering_rules() -> String {
    let mut rules = String::new();
    for (order, _) in ORDERS {
        let _ = writeln!(
            rules,
            ".all:has(#sort-{order}:checked) .row {{ order: var(--by-{order}); }}"
        );
    }
    for (filter, _) in FILTERS.iter().filter(|(filter, _)| *filter != "all") {
        let _ = writeln!(
            rules,
            ".all:has(#show-{filter}:checked) .row:not(.in-{filter}) {{ display: none; }}"
        );
    }
    rules
}
