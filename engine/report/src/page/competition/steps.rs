//! The table of steps: when and why each step last ran.

use std::time::Duration;

use maud::{Markup, html};

use crate::collect::StepRow;
use crate::page::parts::{number, table, text};
use crate::text::time;

pub fn steps(steps: &[StepRow]) -> Markup {
    let rows: Vec<Vec<Markup>> = steps
        .iter()
        .filter(|step| step.why.is_some() || step.now.is_some())
        .map(row)
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let columns = [
        text("Step"),
        text("Kind"),
        text("Last ran (UTC)"),
        number("Took"),
        text("Why it last ran"),
        text("Now"),
    ];
    html! {
        details {
            summary { "When and why each step last ran" }
            (table("Steps", &columns, &rows))
        }
    }
}

fn row(step: &StepRow) -> Vec<Markup> {
    let took = step
        .millis
        .map(|millis| Duration::from_millis(millis).as_secs_f64());
    vec![
        html! { code { (step.name) } },
        html! { (step.kind) },
        html! { @if let Some(when) = step.when { (time(when)) } },
        html! { @if let Some(took) = took { (format!("{took:.2} s")) } },
        html! { (step.why.as_deref().unwrap_or_default()) },
        html! { (step.now.as_deref().unwrap_or("up to date")) },
    ]
}
