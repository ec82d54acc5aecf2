//! Generates GROUP BY and aggregates: sums, extremes, and aggregates with an ORDER BY that has ties.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use super::grammar::{Column, Expr, Generator, Row, Table};
use super::value::{Kind, Value, average, in_order, sum};

type Compare = dyn Fn(&Row, &Row) -> Ordering;
type Evaluate = dyn Fn(&[&Row]) -> Value;

/// An ORDER BY: its text, and a comparison of rows. Rows with equal keys compare as equal.
#[derive(Clone)]
pub struct Order {
    pub text: String,
    pub compare: Rc<Compare>,
}

/// An aggregate: its text, and a function that computes its value from rows in order.
pub struct Aggregate {
    pub text: String,
    pub kind: Kind,
    pub of: Rc<Evaluate>,
}

impl Aggregate {
    fn new(
        text: impl Into<String>,
        kind: Kind,
        of: impl Fn(&[&Row]) -> Value + 'static,
    ) -> Aggregate {
        let (text, of) = (text.into(), Rc::new(of) as Rc<Evaluate>);
        Aggregate { text, kind, of }
    }
}

/// Groups rows by a key, in the order of the first appearance of each key value.
pub fn groups<'a>(rows: &'a [Row], key: &Expr) -> Vec<(Value, Vec<&'a Row>)> {
    let mut positions: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<(Value, Vec<&Row>)> = Vec::new();
    for row in rows {
        let value = key.of(row);
        let place = *positions.entry(value.key()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((value, Vec::new()));
        }
        groups[place].1.push(row);
    }
    groups
}

fn present_values(value: &Expr, rows: &[&Row]) -> Vec<Value> {
    let values = rows.iter().map(|row| value.of(row));
    values.filter(|value| *value != Value::Missing).collect()
}

fn distinct(values: Vec<Value>) -> Vec<Value> {
    let mut seen = std::collections::HashSet::new();
    let mut values = values;
    values.retain(|value| seen.insert(value.key()));
    values
}

/// Returns the texts of values with separators. `missing` is the text of NULL.
fn joined(values: &[Value], separator: &str, missing: &str) -> Value {
    let texts = values.iter().map(|value| match value {
        Value::Missing => missing.to_owned(),
        value => value.to_string(),
    });
    Value::Text(texts.collect::<Vec<_>>().join(separator))
}

impl Generator {
    /// Generates an ORDER BY of one or two columns, each with a direction and a position of NULL.
    pub fn ordering(&mut self, scope: &[Column]) -> Order {
        let mut texts = Vec::new();
        let mut keys = Vec::new();
        for _ in 0..1 + self.below(2) {
            let column = scope[self.below(scope.len())].clone();
            let descending = self.chance(30);
            let missing_first = match self.below(3) {
                0 => Some(true),
                1 => Some(false),
                _ => None,
            };
            let direction = if descending { " DESC" } else { "" };
            let nulls = match missing_first {
                Some(true) => " NULLS FIRST",
                Some(false) => " NULLS LAST",
                None => "",
            };
            texts.push(format!("{}{direction}{nulls}", column.text));
            keys.push((
                column.place,
                descending,
                missing_first.unwrap_or(descending),
            ));
        }
        let compare = move |a: &Row, b: &Row| {
            let orders = keys.iter().map(|(place, descending, missing_first)| {
                in_order(&a[*place], &b[*place], *descending, *missing_first)
            });
            orders.fold(Ordering::Equal, Ordering::then)
        };
        Order {
            text: texts.join(", "),
            compare: Rc::new(compare),
        }
    }

    /// Generates an aggregate, sometimes with FILTER.
    pub fn aggregate(&mut self, scope: &[Column]) -> Aggregate {
        let aggregate = self.aggregate_of_all(scope);
        // FILTER follows the aggregate itself, not a function around the aggregate.
        if aggregate.text.starts_with("array_to_string") || !self.chance(20) {
            return aggregate;
        }
        let condition = self.boolean(scope, 1);
        let of = aggregate.of;
        Aggregate::new(
            format!("{} FILTER (WHERE {})", aggregate.text, condition.text),
            aggregate.kind,
            move |rows| {
                let rows = rows.iter().copied();
                let chosen: Vec<&Row> = rows.filter(|row| condition.of(row).is_true()).collect();
                of(&chosen)
            },
        )
    }

    fn aggregate_of_all(&mut self, scope: &[Column]) -> Aggregate {
        let kind = self.kind();
        match self.below(13) {
            0 => {
                let value = self.expr(kind, scope, 1);
                Aggregate::new(
                    format!("count({})", value.text),
                    Kind::Integer,
                    move |rows| Value::from(present_values(&value, rows).len()),
                )
            }
            1 => {
                let value = self.expr(kind, scope, 1);
                let text = format!("count(DISTINCT {})", value.text);
                Aggregate::new(text, Kind::Integer, move |rows| {
                    Value::from(distinct(present_values(&value, rows)).len())
                })
            }
            2 | 3 => self.sum_of(Kind::Integer, scope),
            4 | 5 => self.sum_of(Kind::Number, scope),
            6 => {
                let value = self.expr(Kind::Number, scope, 1);
                let text = format!("avg({})", value.text);
                Aggregate::new(text, Kind::Number, move |rows| {
                    average(&present_values(&value, rows))
                })
            }
            7 => {
                let kind = [Kind::Integer, Kind::Number, Kind::Text][self.below(3)];
                let value = self.expr(kind, scope, 1);
                let is_max = self.chance(50);
                let name = if is_max { "max" } else { "min" };
                Aggregate::new(format!("{name}({})", value.text), kind, move |rows| {
                    let values = present_values(&value, rows).into_iter();
                    let found = match is_max {
                        true => values.max_by(|a, b| a.compare(b).unwrap()),
                        false => values.min_by(|a, b| a.compare(b).unwrap()),
                    };
                    found.unwrap_or(Value::Missing)
                })
            }
            _ => self.ordered_aggregate(kind, scope),
        }
    }

    fn sum_of(&mut self, kind: Kind, scope: &[Column]) -> Aggregate {
        let value = self.expr(kind, scope, 1);
        if self.chance(25) {
            let text = format!("sum(DISTINCT {})", value.text);
            return Aggregate::new(text, kind, move |rows| {
                sum(&distinct(present_values(&value, rows)))
            });
        }
        let text = format!("sum({})", value.text);
        Aggregate::new(text, kind, move |rows| sum(&present_values(&value, rows)))
    }

    /// Generates an aggregate with an ORDER BY. Rows with equal keys keep their order.
    fn ordered_aggregate(&mut self, kind: Kind, scope: &[Column]) -> Aggregate {
        let Order { text: by, compare } = self.ordering(scope);
        let sorted = move |rows: &[&Row], value: &Expr| {
            let mut rows = rows.to_vec();
            rows.sort_by(|a, b| compare(a, b));
            rows.iter().map(|row| value.of(row)).collect::<Vec<Value>>()
        };
        // All `string_agg` and `nth_value` of one SELECT need the same ORDER BY, so at most one of them is generated.
        let which = match std::mem::replace(&mut self.has_sorting_call, true) {
            true => [1, 3][self.below(2)],
            false => self.below(4),
        };
        match which {
            0 => {
                let value = self.expr(Kind::Text, scope, 1);
                let text = format!("string_agg({}, ',' ORDER BY {by})", value.text);
                Aggregate::new(text, Kind::Text, move |rows| {
                    let mut values = sorted(rows, &value);
                    values.retain(|value| *value != Value::Missing);
                    if values.is_empty() {
                        return Value::Missing;
                    }
                    joined(&values, ",", "")
                })
            }
            1 => {
                let value = self.expr(Kind::Integer, scope, 1);
                let text = format!(
                    "array_to_string(array_agg({} ORDER BY {by}), ';', '-')",
                    value.text
                );
                Aggregate::new(text, Kind::Text, move |rows| match rows.is_empty() {
                    true => Value::Missing,
                    false => joined(&sorted(rows, &value), ";", "-"),
                })
            }
            2 => {
                let value = self.expr(kind, scope, 1);
                let text = format!("nth_value({}, 2 ORDER BY {by})", value.text);
                Aggregate::new(text, kind, move |rows| {
                    let second = sorted(rows, &value).into_iter().nth(1);
                    second.unwrap_or(Value::Missing)
                })
            }
            _ => {
                let value = self.expr(kind, scope, 1);
                let is_first = self.chance(60);
                let name = if is_first {
                    "first_value"
                } else {
                    "last_value"
                };
                let text = format!("{name}({} ORDER BY {by})", value.text);
                Aggregate::new(text, kind, move |rows| {
                    let mut values = sorted(rows, &value).into_iter();
                    let found = if is_first {
                        values.next()
                    } else {
                        values.next_back()
                    };
                    found.unwrap_or(Value::Missing)
                })
            }
        }
    }

    /// Generates a SELECT with GROUP BY. `clauses` are its clauses from FROM on, and `rows` are the rows of these clauses.
    pub fn grouped(&mut self, clauses: &str, scope: &[Column], rows: &[Row]) -> Table {
        let kind = self.kind();
        let Some(key) = self.column_of(kind, scope) else {
            return self.projected(clauses, scope, rows);
        };
        self.has_sorting_call = false;
        let aggregates: Vec<Aggregate> = (0..1 + self.below(3))
            .map(|_| self.aggregate(scope))
            .collect();
        let mut groups = groups(rows, &key);
        let at_least = self.below(3);
        let having = if self.chance(30) {
            groups.retain(|(_, group)| group.len() >= at_least);
            format!(" HAVING count(*) >= {at_least}")
        } else {
            String::new()
        };
        groups.sort_by(|a, b| in_order(&a.0, &b.0, false, false));
        let modifier = self.foreign(&["WITH TOTALS", "WITH ROLLUP", "WITH CUBE"]);
        let inside = match self.foreign(&["ORDER BY c0 DESC"]).is_empty() {
            true => "",
            false => ", sum(1 ORDER BY 'x') AS c9",
        };
        let mut columns = vec![("c0".to_owned(), kind), ("c1".to_owned(), Kind::Integer)];
        let mut items = vec![format!("{} AS c0, count(*) AS c1", key.text)];
        for (index, aggregate) in aggregates.iter().enumerate() {
            let name = format!("c{}", index + 2);
            items.push(format!("{} AS {name}", aggregate.text));
            columns.push((name, aggregate.kind));
        }
        let rows = groups.into_iter().map(|(key, group)| {
            let values = aggregates.iter().map(|aggregate| (aggregate.of)(&group));
            [key, Value::from(group.len())]
                .into_iter()
                .chain(values)
                .collect()
        });
        Table {
            rows: rows.collect(),
            text: format!(
                "SELECT {}{inside} {clauses} GROUP BY {}{modifier}{having} ORDER BY c0",
                items.join(", "),
                key.text
            ),
            columns,
            sorted: true,
        }
    }

    /// Generates a SELECT DISTINCT.
    pub fn distinct(&mut self, clauses: &str, scope: &[Column], rows: &[Row]) -> Table {
        let kind = self.kind();
        let expr = self.expr(kind, scope, 1);
        let groups = groups(rows, &expr).into_iter();
        let mut seen: Vec<Value> = groups.map(|(value, _)| value).collect();
        seen.sort_by(|a, b| in_order(a, b, true, true));
        let on = self.foreign(&["ON (c0)"]);
        Table {
            text: format!(
                "SELECT DISTINCT{on} {} AS c0 {clauses} ORDER BY c0 DESC",
                expr.text
            ),
            columns: vec![("c0".to_owned(), kind)],
            rows: seen.into_iter().map(|value| vec![value]).collect(),
            sorted: true,
        }
    }

    /// Generates aggregates of all rows.
    pub fn totalled(&mut self, clauses: &str, scope: &[Column], rows: &[Row]) -> Table {
        let all: Vec<&Row> = rows.iter().collect();
        self.has_sorting_call = false;
        let mut items = Vec::new();
        let mut columns = Vec::new();
        let mut row = Vec::new();
        for place in 0..1 + self.below(3) {
            let aggregate = self.aggregate(scope);
            items.push(format!("{} AS c{place}", aggregate.text));
            columns.push((format!("c{place}"), aggregate.kind));
            row.push((aggregate.of)(&all));
        }
        Table {
            text: format!("SELECT {} {clauses}", items.join(", ")),
            columns,
            rows: vec![row],
            sorted: false,
        }
    }
}
