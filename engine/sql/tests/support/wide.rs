//! Queries of any size, for measuring how their time grows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use prep_spec::model::Query;
use prep_sql::{
    QueryLimits, Relation, RelationBatch, RelationBatches, RelationColumn, RowForm, Session,
};

#[derive(Debug)]
struct Wide(Vec<RelationColumn>);

impl Relation for Wide {
    fn columns(&self) -> &[RelationColumn] {
        &self.0
    }

    fn rows(&self) -> u64 {
        1
    }

    fn has_cells(&self, _column: usize) -> bool {
        true
    }

    fn scan(self: Arc<Self>, columns: Vec<usize>, _batch: usize) -> RelationBatches {
        let one = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
        let columns = columns.iter().map(|_| one()).collect();
        Box::new(std::iter::once(Ok(RelationBatch { rows: 1, columns })))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        (first..first + len as u64).collect()
    }
}

/// A family of queries of different sizes. For a size, `columns` returns how many columns the table has, and `text`
/// returns the query.
pub struct Growing {
    pub name: &'static str,
    pub min_size: usize,
    /// If the size grows by a factor of four, the time may grow by at most this factor.
    ///
    /// A plan of joins grows quadratically, because each join carries the columns of all tables before it.
    #[allow(dead_code, reason = "the benchmark prints times and judges none")]
    pub max_ratio: u32,
    columns: fn(usize) -> usize,
    text: fn(usize) -> String,
}

fn branches(size: usize) -> String {
    let branch = |number| format!("SELECT c1, {number} AS n FROM w");
    let branches: Vec<String> = (0..size).map(branch).collect();
    branches.join(" UNION ALL ")
}

/// Joins `size` copies of `item` with the separator `between`. In each copy, its index (from 0) replaces `#`.
fn each(size: usize, item: &str, between: &str) -> String {
    let items = (0..size).map(|number| item.replace('#', &number.to_string()));
    items.collect::<Vec<String>>().join(between)
}

pub const GROWING: [Growing; 18] = [
    Growing {
        name: "SELECT * of n columns",
        min_size: 2500,
        max_ratio: 10,
        columns: |size| size,
        text: |_| "SELECT * FROM w".to_owned(),
    },
    Growing {
        name: "* EXCLUDE of n columns, filtered and joined",
        min_size: 2500,
        max_ratio: 10,
        columns: |size| size,
        text: |_| {
            "SELECT w.* EXCLUDE (c3) FROM w LEFT SEMI JOIN w AS v ON v.c1 = w.c2 WHERE w.c1 > 0"
                .to_owned()
        },
    },
    Growing {
        name: "* of a subquery with n columns",
        min_size: 2500,
        max_ratio: 10,
        columns: |size| size,
        text: |_| "SELECT * FROM (SELECT *, c7 + 1 AS more FROM w) AS v ORDER BY c9".to_owned(),
    },
    Growing {
        name: "UNION ALL of n branches",
        min_size: 40,
        max_ratio: 10,
        columns: |_| 2,
        text: branches,
    },
    Growing {
        name: "count of a UNION ALL of n branches",
        min_size: 40,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| format!("SELECT count(*) AS n FROM ({}) AS u", branches(size)),
    },
    Growing {
        name: "one_hot of n texts",
        min_size: 200,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| {
            let texts = each(size, "'v#'", ", ");
            format!(
                "SELECT c1, one_hot(t, {texts}) FROM (SELECT c1, 'v' || CAST(c1 AS VARCHAR) AS t FROM w)"
            )
        },
    },
    Growing {
        name: "constants of n texts",
        min_size: 200,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| {
            format!(
                "SELECT c1, constants(0.5, {}) FROM w",
                each(size, "'v#'", ", ")
            )
        },
    },
    Growing {
        name: "n joins",
        min_size: 5,
        max_ratio: 20,
        columns: |_| 2,
        text: |size| {
            let joins = each(size, "JOIN w AS t# ON t#.c1 = w.c1", " ");
            format!(
                "SELECT w.c0, {} FROM w {joins}",
                each(size, "t#.c0 AS x#", ", ")
            )
        },
    },
    Growing {
        name: "n left joins",
        min_size: 5,
        max_ratio: 20,
        columns: |_| 2,
        text: |size| {
            let joins = each(size, "LEFT JOIN w AS t# ON t#.c1 = w.c1", " ");
            format!(
                "SELECT w.c0, {} FROM w {joins}",
                each(size, "t#.c0 + 1 AS x#", ", ")
            )
        },
    },
    Growing {
        name: "n anti joins",
        min_size: 6,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| {
            let conditions = each(size, "c1 NOT IN (SELECT c1 + # + 1 AS c FROM w)", " AND ");
            format!("SELECT c0 FROM w WHERE {conditions}")
        },
    },
    Growing {
        name: "CASE of n branches",
        min_size: 50,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| {
            format!(
                "SELECT CASE {} END AS x FROM w",
                each(size, "WHEN c1 = # THEN c0 + #", " ")
            )
        },
    },
    Growing {
        name: "IN of n numbers",
        min_size: 200,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| format!("SELECT c0 FROM w WHERE c1 IN ({})", each(size, "#", ", ")),
    },
    Growing {
        name: "OR of n conditions",
        min_size: 40,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| {
            format!(
                "SELECT c0 FROM w WHERE {}",
                each(size, "(c1 = # AND c0 > #)", " OR ")
            )
        },
    },
    Growing {
        name: "n computed columns",
        min_size: 50,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| format!("SELECT {} FROM w", each(size, "c1 * # + c0 AS x#", ", ")),
    },
    Growing {
        name: "n sums of groups",
        min_size: 60,
        max_ratio: 10,
        columns: |size| size,
        text: |size| {
            let sums = each(size, "sum(c#) AS s#", ", ");
            format!("SELECT c0 AS k, {sums} FROM w GROUP BY c0 ORDER BY k")
        },
    },
    Growing {
        name: "n window functions",
        min_size: 30,
        max_ratio: 10,
        columns: |size| size,
        text: |size| {
            let sums = each(
                size,
                "sum(c#) OVER (PARTITION BY c0 ORDER BY c1) AS s#",
                ", ",
            );
            format!("SELECT {sums} FROM w")
        },
    },
    Growing {
        name: "n queries in WITH, each of the previous one",
        min_size: 5,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| {
            let mut text = "WITH q0 AS (SELECT c0, c1 FROM w)".to_owned();
            for number in 1..size {
                let before = number - 1;
                text += &format!(
                    ", q{number} AS (SELECT c0, c1 + 1 AS c1 FROM q{before} WHERE c1 > {number} - 1000)"
                );
            }
            format!("{text} SELECT c0, c1 FROM q{}", size - 1)
        },
    },
    Growing {
        name: "|| of n texts",
        min_size: 10,
        max_ratio: 10,
        columns: |_| 2,
        text: |size| {
            format!(
                "SELECT {} AS x FROM w",
                each(size, "CAST(c1 AS VARCHAR)", " || ")
            )
        },
    },
];

impl Growing {
    /// Returns the shortest time of `tries` runs, each of which parses, plans and runs a query, and reads its rows.
    pub async fn time(&self, session: &Session, size: usize, tries: usize) -> Duration {
        let columns = (0..(self.columns)(size).max(2)).map(|number| RelationColumn {
            name: format!("c{number}"),
            data_type: DataType::Int64,
            hidden: false,
        });
        let table: Arc<dyn Relation> = Arc::new(Wide(columns.collect()));
        let text = (self.text)(size);
        let mut least = Duration::MAX;
        for _ in 0..tries {
            let start = Instant::now();
            let query = Query::parse(&text).expect("a query");
            let tables = BTreeMap::from([("w".to_owned(), table.clone())]);
            let limits = QueryLimits::with_memory(256 << 20);
            let mut rows = session
                .start(&query, tables, RowForm::Cells, &limits)
                .expect("rows");
            while rows.next().await.expect("a batch").is_some() {}
            least = least.min(start.elapsed());
        }
        least
    }
}
