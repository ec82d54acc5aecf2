//! Evaluates window functions.

use std::collections::HashMap;
use std::ops::Range;

use super::evaluate::{Evaluated, Evaluator, Row, Scope, call, in_key_order, row_key};
use super::tree::{Call, Frame, Window};
use crate::random::value::Value;

/// The rows of a partition in the order of the window, and the first and last peer (row with equal keys) of each row.
struct Partition {
    rows: Vec<usize>,
    peers: Vec<(usize, usize)>,
}

/// Returns the value of a window function for each row.
pub fn evaluate(
    evaluator: &Evaluator<'_>,
    window: &Window,
    rows: &[Row],
    outer: Option<&Scope<'_>>,
) -> Evaluated<Vec<Value>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut partitions: Vec<Vec<usize>> = Vec::new();
    let mut keys = Vec::new();
    let mut arguments = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let scope = Scope::of(outer, row);
        let parts = window.partition_by.iter();
        let parts = parts.map(|key| evaluator.expr(key, &scope));
        let part = row_key(&parts.collect::<Evaluated<Row>>()?);
        let place = *places.entry(part).or_insert(partitions.len());
        if place == partitions.len() {
            partitions.push(Vec::new());
        }
        partitions[place].push(index);
        keys.push(evaluator.keys(&window.order_by, &scope)?);
        let argument = window.argument.as_ref();
        let value = argument.map_or(Ok(Value::Missing), |expr| evaluator.expr(expr, &scope));
        arguments.push(value?);
    }
    let mut values = vec![Value::Missing; rows.len()];
    for mut rows in partitions {
        let compare = |a: &usize, b: &usize| in_key_order(&keys[*a], &keys[*b], &window.order_by);
        rows.sort_by(compare);
        let mut peers = Vec::new();
        while peers.len() < rows.len() {
            let start = peers.len();
            let same = rows[start..].iter();
            let count = same
                .take_while(|row| compare(&rows[start], row).is_eq())
                .count();
            peers.extend((0..count).map(|_| (start, start + count - 1)));
        }
        let partition = Partition { rows, peers };
        for (place, row) in partition.rows.iter().enumerate() {
            values[*row] = value(window, &partition, place, &arguments)?;
        }
    }
    Ok(values)
}

fn value(
    window: &Window,
    partition: &Partition,
    place: usize,
    arguments: &[Value],
) -> Evaluated<Value> {
    let peers = partition.peers[place];
    let at = |place: Option<usize>| {
        let row = place.and_then(|place| partition.rows.get(place));
        row.map_or(Value::Missing, |row| arguments[*row].clone())
    };
    Ok(match window.call {
        Call::RowNumber => Value::from(place + 1),
        Call::Rank => Value::from(peers.0 + 1),
        Call::DenseRank => {
            let starts = (0..=place).filter(|other| partition.peers[*other].0 == *other);
            Value::from(starts.count())
        }
        Call::Lag => at(place.checked_sub(1)),
        Call::Lead => at(Some(place + 1)),
        function => {
            let rows = &partition.rows[frame(window, partition, place)];
            let values = rows.iter().map(|row| match window.argument {
                Some(_) => arguments[*row].clone(),
                None => Value::from(true),
            });
            call(function, values.collect())?
        }
    })
}

/// Returns the frame of a row as indices in the partition.
fn frame(window: &Window, partition: &Partition, place: usize) -> Range<usize> {
    let count = partition.rows.len();
    let Some(Frame {
        is_groups,
        start,
        end,
    }) = window.frame
    else {
        return match window.order_by.is_empty() {
            true => 0..count,
            false => 0..partition.peers[place].1 + 1,
        };
    };
    // The index of a row in units of the frame: rows, or groups of peers.
    let unit = |row: usize| match is_groups {
        true => (0..row)
            .filter(|other| partition.peers[*other].1 == *other)
            .count(),
        false => row,
    };
    let own = unit(place) as i64;
    let is_inside = |row: &usize| {
        let unit = unit(*row) as i64;
        start.is_none_or(|start| unit >= own + start) && end.is_none_or(|end| unit <= own + end)
    };
    let first = (0..count).find(is_inside);
    first.map_or(0..0, |first| {
        first..first + (first..count).filter(is_inside).count()
    })
}
