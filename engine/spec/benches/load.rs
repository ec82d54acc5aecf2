//! Measures how long the 82 pipelines take to load: `cargo bench -p prep-spec --bench load`.

#![allow(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Number of built-in pipelines. A measurement does the work once for each of them.
const PIPELINES: usize = 82;

fn main() {
    let text = include_str!("../tests/accept/everything.yaml");
    // Removes the corrections, because most pipelines have only one variant.
    let text = text.split_once("variants:").map_or(text, |(text, _)| text);
    let load = best_of(20, || {
        black_box(prep_spec::load(prep_steps::vocabulary(), "id", "x.yaml", text, "v1").is_ok());
    });
    let parse = best_of(20, || {
        for event in saphyr_parser::Parser::new_from_str(text) {
            black_box(event.is_ok());
        }
    });
    println!(
        "{PIPELINES} pipelines of {} lines: load {load:?}, YAML parser alone {parse:?}",
        text.lines().count()
    );
}

/// Returns the shortest of `tries` measurements of `work`. Other load on the machine affects the shortest time least.
fn best_of(tries: usize, mut work: impl FnMut()) -> Duration {
    let times = (0..tries).map(|_| {
        let start = Instant::now();
        (0..PIPELINES).for_each(|_| work());
        start.elapsed()
    });
    times.min().unwrap_or_default()
}
