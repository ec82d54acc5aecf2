//! Generates window functions over rows and over groups, with frames of all units.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use super::aggregates::{Order, groups};
use super::grammar::{Column, Expr, Generator, Row, Table, scope};
use super::value::{Kind, Value, average, in_order, sum};

/// A call of a window function.
struct Call {
    text: String,
    kind: Kind,
    /// The value in each row.
    values: Vec<Value>,
}

/// The rows of a partition in the order of the window, and the first and last peer (row with equal keys) of each row.
struct Partition {
    rows: Vec<usize>,
    peers: Vec<(usize, usize)>,
}

struct Window {
    text: String,
    order: Option<Order>,
    partitions: Vec<Partition>,
}

impl Window {
    /// Computes a value for each of `count` rows. `value` takes a partition and the index of the row in this partition.
    fn each(&self, count: usize, value: impl Fn(&Partition, usize) -> Value) -> Vec<Value> {
        let mut values = vec![Value::Missing; count];
        for partition in &self.partitions {
            for (place, row) in partition.rows.iter().enumerate() {
                values[*row] = value(partition, place);
            }
        }
        values
    }
}

/// Returns the frame of a row. Row and frame are indices in the partition.
type Frame = Rc<dyn Fn(&Partition, usize) -> std::ops::Range<usize>>;

/// Returns the range from `start` to `end` (inclusive) of a partition with `len` rows.
fn between(start: i64, end: i64, len: usize) -> std::ops::Range<usize> {
    let place = |place: i64| usize::try_from(place.max(0)).unwrap().min(len);
    place(start)..place(end + 1).max(place(start))
}

impl Generator {
    fn window(&mut self, scope: &[Column], rows: &[Row]) -> Window {
        let mut clauses = Vec::new();
        let part = if self.chance(60) {
            let column = scope[self.below(scope.len())].clone();
            let constant = match self.foreign(&["PARTITION BY 'a'"]).is_empty() {
                true => "",
                false => ", 'a'",
            };
            clauses.push(format!("PARTITION BY {}{constant}", column.text));
            Some(column.place)
        } else {
            None
        };
        let order = self.chance(75).then(|| self.ordering(scope));
        if let Some(order) = &order {
            clauses.push(format!("ORDER BY {}", order.text));
        }
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut partitions: Vec<Vec<usize>> = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let key = part.map_or(String::new(), |place| row[place].key());
            let place = *places.entry(key).or_insert(partitions.len());
            if place == partitions.len() {
                partitions.push(Vec::new());
            }
            partitions[place].push(index);
        }
        let partitions = partitions.into_iter().map(|mut partition| {
            let compare = |a: usize, b: usize| {
                let order = order.as_ref();
                order.map_or(Ordering::Equal, |order| (order.compare)(&rows[a], &rows[b]))
            };
            partition.sort_by(|a, b| compare(*a, *b));
            let mut peers = Vec::with_capacity(partition.len());
            let mut start = 0;
            while start < partition.len() {
                let same = partition[start..].iter();
                let same = same.take_while(|row| compare(partition[start], **row).is_eq());
                let end = start + same.count() - 1;
                peers.extend((start..=end).map(|_| (start, end)));
                start = end + 1;
            }
            Partition {
                rows: partition,
                peers,
            }
        });
        Window {
            text: clauses.join(" "),
            partitions: partitions.collect(),
            order,
        }
    }

    /// Generates the text of a frame, and a function that returns its rows.
    ///
    /// `with_ties` allows frames that end after all peers, and `by_groups` allows frames that count groups of peers.
    fn frame(&mut self, window: &Window, with_ties: bool, by_groups: bool) -> (String, Frame) {
        let (a, b) = (self.below(3) as i64, self.below(3) as i64);
        let all: Frame = Rc::new(|partition, _| 0..partition.rows.len());
        let has_order = window.order.is_some();
        // With many rows, only frames that contain all rows are used, because other frames take quadratic time.
        let which = match self.is_large {
            true => [0, 5, 6][self.below(3)],
            false => self.below(7),
        };
        match which {
            0 if !has_order => (String::new(), all),
            // The frame ends with the last peer of the current row.
            0 | 1 if has_order && with_ties && !self.is_large => (
                String::new(),
                Rc::new(|partition, place| 0..partition.peers[place].1 + 1),
            ),
            2 if has_order && by_groups => (
                format!(" GROUPS BETWEEN {a} PRECEDING AND {b} FOLLOWING"),
                Rc::new(move |partition, place| {
                    let (mut start, mut end) = partition.peers[place];
                    for _ in 0..a {
                        start = partition.peers[start.saturating_sub(1)].0;
                    }
                    for _ in 0..b {
                        end = partition.peers[(end + 1).min(partition.rows.len() - 1)].1;
                    }
                    start..end + 1
                }),
            ),
            3 => (
                " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW".to_owned(),
                Rc::new(|_, place| 0..place + 1),
            ),
            4 => (
                " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".to_owned(),
                Rc::new(|partition, place| place..partition.rows.len()),
            ),
            5 => (
                format!(" ROWS BETWEEN {} PRECEDING AND {a} PRECEDING", a + b),
                Rc::new(move |partition, place| {
                    let place = place as i64;
                    between(place - a - b, place - a, partition.rows.len())
                }),
            ),
            _ => (
                format!(" ROWS BETWEEN {a} PRECEDING AND {b} FOLLOWING"),
                Rc::new(move |partition, place| {
                    let place = place as i64;
                    between(place - a, place + b, partition.rows.len())
                }),
            ),
        }
    }

    fn call(&mut self, scope: &[Column], rows: &[Row]) -> Call {
        let window = self.window(scope, rows);
        let count = rows.len();
        let kind = self.kind();
        let foreign = self.foreign_count();
        let value = self.expr(kind, scope, 1);
        let which = self.below(12);
        if !matches!(which, 3 | 4) {
            // Only `lag`, `lead` and `first_seen` use the generated value.
            self.forget_foreign(foreign);
        }
        let (text, kind, values) = match which {
            0 | 1 => {
                let number = window.each(count, |_, place| Value::from(place + 1));
                ("row_number()".to_owned(), Kind::Integer, number)
            }
            2 => {
                let rank = window.each(count, |part, place| Value::from(part.peers[place].0 + 1));
                ("rank()".to_owned(), Kind::Integer, rank)
            }
            3 => {
                let before = self.chance(50);
                let name = if before { "lag" } else { "lead" };
                let values = window.each(count, |part, place| {
                    let other = match before {
                        true => place.checked_sub(1),
                        false => Some(place + 1),
                    };
                    let row = other.and_then(|other| part.rows.get(other));
                    row.map_or(Value::Missing, |row| value.of(&rows[*row]))
                });
                (format!("{name}({})", value.text), kind, values)
            }
            4 => {
                let mut values = vec![Value::Missing; count];
                for partition in &window.partitions {
                    let mut seen: HashMap<String, usize> = HashMap::new();
                    for row in &partition.rows {
                        let next = seen.len();
                        let number = seen.entry(value.of(&rows[*row]).key()).or_insert(next);
                        values[*row] = Value::from(*number);
                    }
                }
                (format!("first_seen({})", value.text), Kind::Integer, values)
            }
            _ => return self.framed(&window, scope, rows),
        };
        Call {
            text: format!("{text} OVER ({})", window.text),
            kind,
            values,
        }
    }

    /// Generates a call of an aggregate over a frame.
    fn framed(&mut self, window: &Window, scope: &[Column], rows: &[Row]) -> Call {
        let which = self.below(6);
        let kind = match which {
            0 => Kind::Integer,
            1 | 2 => Kind::Number,
            3 => [Kind::Integer, Kind::Number][self.below(2)],
            _ => self.kind(),
        };
        let value = self.expr(kind, scope, 1);
        let is_last = self.chance(50);
        let picks = which == 5;
        let (frame_text, frame) = self.frame(window, !(picks && is_last), !picks);
        // Neighboring rows often have the same frame, so the last value is reused.
        let last: RefCell<Option<(usize, std::ops::Range<usize>, Value)>> = RefCell::default();
        let of_frame = |part: &Partition, frame: std::ops::Range<usize>| {
            let frame = part.rows.get(frame).unwrap_or_default();
            let all = frame.iter().map(|row| value.of(&rows[*row]));
            if which == 5 {
                let found = if is_last { frame.last() } else { frame.first() };
                return found.map_or(Value::Missing, |row| value.of(&rows[*row]));
            }
            let there: Vec<Value> = all.filter(|value| *value != Value::Missing).collect();
            match which {
                0 | 1 => sum(&there),
                2 => average(&there),
                3 => {
                    let values = there.into_iter();
                    let found = match is_last {
                        true => values.max_by(|a, b| a.compare(b).unwrap()),
                        false => values.min_by(|a, b| a.compare(b).unwrap()),
                    };
                    found.unwrap_or(Value::Missing)
                }
                _ => Value::from(there.len()),
            }
        };
        let values = window.each(rows.len(), |part, place| {
            let frame = frame(part, place);
            let own = (part.rows[0], frame.clone());
            if let Some((first, range, value)) = &*last.borrow()
                && (*first, range.clone()) == own
            {
                return value.clone();
            }
            let value = of_frame(part, frame);
            *last.borrow_mut() = Some((own.0, own.1, value.clone()));
            value
        });
        let name = match which {
            0 | 1 => "sum",
            2 => "avg",
            3 if is_last => "max",
            3 => "min",
            4 => "count",
            _ if is_last => "last_value",
            _ => "first_value",
        };
        let kind = if which == 4 { Kind::Integer } else { kind };
        Call {
            text: format!("{name}({}) OVER ({}{frame_text})", value.text, window.text),
            kind,
            values,
        }
    }

    /// Generates a column and window functions, sometimes limited to the first rows in the order of another window.
    pub fn windowed(&mut self, clauses: &str, scope: &[Column], rows: &[Row]) -> Table {
        let column = scope[self.below(scope.len())].clone();
        let mut items = vec![format!("{} AS c0", column.text)];
        let mut columns = vec![("c0".to_owned(), column.kind)];
        let mut calls = Vec::new();
        for place in 1..2 + self.below(3) {
            let call = self.call(scope, rows);
            let wrong = match place {
                1 => self.foreign(&["FILTER (WHERE true)", "IGNORE NULLS"]),
                _ => String::new(),
            };
            items.push(match wrong.is_empty() {
                true => format!("{} AS c{place}", call.text),
                false => format!("row_number(){wrong} OVER () AS c{place}"),
            });
            columns.push((format!("c{place}"), call.kind));
            calls.push(call);
        }
        let mut text = format!("SELECT {} {clauses}", items.join(", "));
        let mut kept = vec![true; rows.len()];
        if self.chance(25) {
            let limit = 1 + self.below(3);
            let window = self.window(scope, rows);
            let numbers = window.each(rows.len(), |_, place| Value::from(place < limit));
            kept = numbers
                .iter()
                .map(|value| *value == Value::from(true))
                .collect();
            text = format!(
                "{text} QUALIFY row_number() OVER ({}) <= {limit}",
                window.text
            );
        }
        let rows = rows.iter().enumerate().filter(|(index, _)| kept[*index]);
        let rows = rows.map(|(index, row)| {
            let values = calls.iter().map(|call| call.values[index].clone());
            std::iter::once(row[column.place].clone())
                .chain(values)
                .collect()
        });
        Table {
            rows: rows.collect(),
            text,
            columns,
            sorted: false,
        }
    }

    /// Generates window functions over DISTINCT or GROUP BY. The rows of these clauses have an order only by their
    /// keys.
    pub fn keyed(&mut self, clauses: &str, from: &[Column], rows: &[Row]) -> Table {
        let kind = self.kind();
        let Some(key) = self.column_of(kind, from) else {
            return self.projected(clauses, from, rows);
        };
        let mut groups = groups(rows, &key);
        groups.sort_by(|a, b| in_order(&a.0, &b.0, false, false));
        let mut columns = vec![("k".to_owned(), kind)];
        let mut keyed: Vec<Row> = groups.iter().map(|(key, _)| vec![key.clone()]).collect();
        let inner = if self.chance(50) {
            format!("SELECT DISTINCT {} AS k {clauses}", key.text)
        } else {
            self.has_sorting_call = false;
            let aggregate = self.aggregate(from);
            columns.push(("v".to_owned(), aggregate.kind));
            for (row, (_, group)) in keyed.iter_mut().zip(&groups) {
                row.push((aggregate.of)(group));
            }
            format!(
                "SELECT {} AS k, {} AS v {clauses} GROUP BY {}",
                key.text, aggregate.text, key.text
            )
        };
        let alias = self.alias();
        let scope = scope(&alias, columns.into_iter(), 0);
        let call = self.call(&scope, &keyed);
        Table {
            text: format!(
                "SELECT {alias}.k AS c0, {} AS c1 FROM ({inner}) AS {alias} ORDER BY c0",
                call.text
            ),
            columns: vec![("c0".to_owned(), kind), ("c1".to_owned(), call.kind)],
            rows: keyed
                .into_iter()
                .zip(call.values)
                .map(|(mut row, value)| {
                    row.truncate(1);
                    row.push(value);
                    row
                })
                .collect(),
            sorted: true,
        }
    }

    /// Generates a SELECT with `unnest`.
    pub fn unnested(&mut self) -> Table {
        let (from, scope, rows) = self.table();
        let integer = self.expr(Kind::Integer, &scope, 1);
        let divisor = 2 + self.below(3) as i64;
        let length = Expr::new(
            format!("({} % {divisor})", integer.text),
            move |row| match integer.of(row) {
                Value::Integer(value) => Value::Integer(value % divisor),
                _ => Value::Missing,
            },
        );
        let column = scope[self.below(scope.len())].clone();
        let mut unnested = Vec::new();
        for row in &rows {
            let Value::Integer(count) = length.of(row) else {
                continue;
            };
            unnested.extend((0..count).map(|n| vec![row[column.place].clone(), Value::Integer(n)]));
        }
        Table {
            text: format!(
                "SELECT {} AS c0, unnest(range(0, {})) AS c1 FROM {from}",
                column.text, length.text
            ),
            columns: vec![
                ("c0".to_owned(), column.kind),
                ("c1".to_owned(), Kind::Integer),
            ],
            rows: unnested,
            sorted: true,
        }
    }

    /// Generates UNION, INTERSECT or EXCEPT with an ORDER BY.
    pub fn set_operation(&mut self) -> Table {
        let kinds = [Kind::Integer, Kind::Text];
        let mut sides = Vec::new();
        for _ in 0..2 {
            let (from, scope, rows) = self.table();
            let exprs = kinds.map(|kind| self.expr(kind, &scope, 1));
            let text = format!(
                "SELECT {} AS c0, {} AS c1 FROM {from}",
                exprs[0].text, exprs[1].text
            );
            let rows: Vec<Row> = rows
                .iter()
                .map(|row| exprs.iter().map(|expr| expr.of(row)).collect())
                .collect();
            sides.push((text, rows));
        }
        let key = |row: &Row| row.iter().map(Value::key).collect::<Vec<_>>().join("|");
        let operator = self.one(&["UNION", "INTERSECT", "EXCEPT"]);
        let right: std::collections::HashSet<String> = sides[1].1.iter().map(key).collect();
        let mut rows = sides[0].1.clone();
        match operator {
            "UNION" => rows.extend(sides[1].1.clone()),
            "INTERSECT" => rows.retain(|row| right.contains(&key(row))),
            _ => rows.retain(|row| !right.contains(&key(row))),
        }
        let mut seen = std::collections::HashSet::new();
        rows.retain(|row| seen.insert(key(row)));
        rows.sort_by(|a, b| {
            in_order(&a[0], &b[0], false, false).then(in_order(&a[1], &b[1], false, false))
        });
        Table {
            text: format!("{} {operator} {} ORDER BY c0, c1", sides[0].0, sides[1].0),
            columns: vec![("c0".to_owned(), kinds[0]), ("c1".to_owned(), kinds[1])],
            rows,
            sorted: true,
        }
    }
}
