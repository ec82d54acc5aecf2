//! Queries of any size, for their time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, Int64Array};
use arrow::datatypes::DataType;
use prep_spec::model::Query;
use prep_sql::{Grant, Relation, RelationColumn, ScanError, Session, Values};

/// A table of so many columns and one row.
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

    fn scan(
        self: Arc<Self>,
        columns: Vec<usize>,
        _batch: usize,
    ) -> Box<dyn Iterator<Item = Result<Values, ScanError>> + Send> {
        let one = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
        let columns = columns.iter().map(|_| one()).collect();
        Box::new(std::iter::once(Ok(Values { rows: 1, columns })))
    }

    fn origins(&self, first: u64, len: usize) -> Vec<u64> {
        (first..first + len as u64).collect()
    }
}

/// A kind of query that grows: its name, and the columns and text for a size.
pub struct Growing {
    pub name: &'static str,
    /// The smallest size that is measured.
    pub least: usize,
    columns: fn(usize) -> usize,
    text: fn(usize) -> String,
}

fn branches(size: usize) -> String {
    let branch = |number| format!("SELECT c1, {number} AS n FROM w");
    let branches: Vec<String> = (0..size).map(branch).collect();
    branches.join(" UNION ALL ")
}

pub const GROWING: [Growing; 5] = [
    Growing {
        name: "SELECT * of n columns",
        least: 2500,
        columns: |size| size,
        text: |_| "SELECT * FROM w".to_owned(),
    },
    Growing {
        name: "* EXCLUDE of n columns, filtered and joined",
        least: 2500,
        columns: |size| size,
        text: |_| {
            "SELECT w.* EXCLUDE (c3) FROM w LEFT SEMI JOIN w AS v ON v.c1 = w.c2 WHERE w.c1 > 0"
                .to_owned()
        },
    },
    Growing {
        name: "* through n columns of a subquery",
        least: 2500,
        columns: |size| size,
        text: |_| "SELECT * FROM (SELECT *, c7 + 1 AS more FROM w) AS v ORDER BY c9".to_owned(),
    },
    Growing {
        name: "UNION ALL of n branches",
        least: 40,
        columns: |_| 2,
        text: branches,
    },
    Growing {
        name: "count of a UNION ALL of n branches",
        least: 40,
        columns: |_| 2,
        text: |size| format!("SELECT count(*) AS n FROM ({}) AS u", branches(size)),
    },
];

impl Growing {
    /// The time of a query of a size, the least of some tries: to parse, plan, run and read it.
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
            let mut rows = session
                .rows(&query, tables, &Grant::of(256 << 20))
                .await
                .expect("rows");
            while rows.next().await.expect("a batch").is_some() {}
            least = least.min(start.elapsed());
        }
        least
    }
}
