//! Reports the durations of a run's steps, as a list and as a trace for viewers.

use std::io::{self, Write};

use serde::Serialize;

use crate::{Figures, Graph, NodeId, RunReport};

/// Measurements of one step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Timing {
    /// Id of the competition.
    pub competition: String,
    /// Name of the step within the competition.
    pub step: String,
    /// Kind of the step.
    pub kind: String,
    #[serde(flatten)]
    /// The measurements.
    pub figures: Figures,
}

impl RunReport {
    /// Returns the measurements of all steps that ran, the slowest first.
    pub fn timings(&self, graph: &Graph) -> Vec<Timing> {
        let timing = |(id, figures): (&NodeId, &Figures)| {
            let node = graph.node(*id);
            Timing {
                competition: node.competition.clone(),
                step: node.name.clone(),
                kind: node.action.kind().to_owned(),
                figures: *figures,
            }
        };
        let mut timings: Vec<Timing> = self.figures.iter().map(timing).collect();
        timings.sort_by(|a, b| {
            let name = |timing: &Timing| (timing.competition.clone(), timing.step.clone());
            let wall = b.figures.wall.cmp(&a.figures.wall);
            wall.then_with(|| name(a).cmp(&name(b)))
        });
        timings
    }
}

/// An event of the trace format that Chrome and Perfetto read. Times in microseconds.
#[derive(Serialize)]
struct TraceEvent<'a> {
    name: &'a str,
    cat: &'a str,
    /// Phase: `X` is a time span, `M` names a row.
    ph: &'a str,
    ts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    pid: u32,
    tid: usize,
    args: serde_json::Value,
}

/// Writes steps as a trace. The trace has as many rows as steps ran at the same time. The measurements of a step are
/// arguments of its event.
///
/// # Errors
/// If writing fails.
pub fn write_trace(timings: &[Timing], out: &mut impl Write) -> io::Result<()> {
    let mut sorted: Vec<&Timing> = timings.iter().collect();
    sorted.sort_by_key(|timing| (timing.figures.began, timing.figures.wall));
    // The time at which each row becomes free again.
    let mut rows: Vec<u64> = Vec::new();
    let mut events = Vec::with_capacity(sorted.len());
    for timing in sorted {
        let began = timing.figures.began;
        let free = rows.iter().position(|end| *end <= began);
        let row = free.unwrap_or_else(|| {
            rows.push(0);
            rows.len() - 1
        });
        if let Some(end) = rows.get_mut(row) {
            *end = began + timing.figures.wall.max(1);
        }
        events.push((row, timing));
    }
    out.write_all(b"{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n")?;
    for row in 0..rows.len() {
        let event = TraceEvent {
            name: "thread_name",
            cat: "",
            ph: "M",
            ts: 0,
            dur: None,
            pid: 1,
            tid: row,
            args: serde_json::json!({ "name": format!("job slot {}", row + 1) }),
        };
        serde_json::to_writer(&mut *out, &event)?;
        out.write_all(b",\n")?;
    }
    for (number, (row, timing)) in events.iter().enumerate() {
        let name = format!("{}/{}", timing.competition, timing.step);
        let event = TraceEvent {
            name: &name,
            cat: &timing.kind,
            ph: "X",
            ts: timing.figures.began * 1000,
            dur: Some(timing.figures.wall.max(1) * 1000),
            pid: 1,
            tid: *row,
            args: serde_json::to_value(timing.figures)?,
        };
        serde_json::to_writer(&mut *out, &event)?;
        let end: &[u8] = if number + 1 < events.len() {
            b",\n"
        } else {
            b"\n"
        };
        out.write_all(end)?;
    }
    out.write_all(b"]}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing(step: &str, began: u64, wall: u64) -> Timing {
        Timing {
            competition: "x".into(),
            step: step.into(),
            kind: "csv".into(),
            figures: Figures {
                began,
                wall,
                ..Figures::default()
            },
        }
    }

    #[test]
    fn concurrent_steps_are_in_separate_rows() -> io::Result<()> {
        let timings = [timing("b", 5, 20), timing("a", 0, 10), timing("c", 10, 3)];
        let mut text = Vec::new();
        write_trace(&timings, &mut text)?;
        let trace: serde_json::Value = serde_json::from_slice(&text)?;
        let events = trace["traceEvents"].as_array().map(Vec::as_slice);
        let steps: Vec<(&str, u64, u64, u64)> = events
            .unwrap_or_default()
            .iter()
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let number = |name: &str| event[name].as_u64().unwrap_or(u64::MAX);
                let name = event["name"].as_str().unwrap_or_default();
                (name, number("tid"), number("ts"), number("dur"))
            })
            .collect();
        assert_eq!(
            steps,
            [
                ("x/a", 0, 0, 10_000),
                ("x/b", 1, 5_000, 20_000),
                ("x/c", 0, 10_000, 3_000)
            ]
        );
        let mut none = Vec::new();
        write_trace(&[], &mut none)?;
        let trace: serde_json::Value = serde_json::from_slice(&none)?;
        assert_eq!(trace["traceEvents"].as_array().map(Vec::len), Some(0));
        Ok(())
    }
}
