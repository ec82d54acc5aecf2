//! Shows how much time the steps of a run took.

use std::time::Duration;

use prep_core::{Timing, WaitTimes, units};

use crate::output::printer::Printer;
use crate::output::table::PrintedTable;

/// Maximum number of steps in the table. The JSON of a run has all steps.
const MAX_STEPS: usize = 15;

/// Prints the slowest steps on stderr.
pub fn show(printer: &Printer, timings: &[Timing]) {
    if !timings.is_empty() {
        printer.message(table(timings).render().trim_end());
    }
}

fn table(timings: &[Timing]) -> PrintedTable {
    let mut table = PrintedTable::with_header(
        "slowest steps  kind  >time  >cpu  >read  >written  >memory  waited for",
    );
    for timing in timings.iter().take(MAX_STEPS) {
        let figures = &timing.figures;
        table.row(vec![
            format!("{}/{}", timing.competition, timing.step),
            timing.kind.clone(),
            time(figures.wall),
            time(figures.cpu),
            units::bytes(figures.read),
            units::bytes(figures.written),
            units::bytes(figures.memory),
            waited(&figures.waited),
        ]);
    }
    table
}

fn waited(waited: &WaitTimes) -> String {
    let parts = [
        (waited.turn, "its turn"),
        (waited.lock, "another process"),
        (waited.memory, "memory"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(millis, _)| *millis >= 10)
        .map(|(millis, what)| format!("{what} {}", time(millis)))
        .collect();
    match parts.is_empty() {
        true => "-".to_owned(),
        false => parts.join(", "),
    }
}

fn time(millis: u64) -> String {
    units::duration(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use prep_core::Figures;

    use super::*;

    #[test]
    fn the_table_shows_why_steps_waited() {
        let timing = Timing {
            competition: "taxi".into(),
            step: "table/rides".into(),
            kind: "read".into(),
            figures: Figures {
                wall: 2500,
                cpu: 4000,
                read: 1_000_000,
                waited: WaitTimes {
                    turn: 3,
                    lock: 1500,
                    memory: 20,
                },
                ..Figures::default()
            },
        };
        let text = table(&[timing]).render();
        for part in ["taxi/table/rides", "another process", "memory"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("its turn"), "{text}");
    }
}
