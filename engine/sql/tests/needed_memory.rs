//! Error messages name the memory that a query needs.

use crate::support;
use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array, StringArray};
use prep_sql::QueryLimits;
use support::{Tables, table, values};

/// Returns the table `t` with 400,000 rows. The strings are as long as usual file names.
fn tables() -> Tables {
    let rows = 400_000;
    let ids = Arc::new(Int64Array::from_iter_values((0..rows).rev())) as ArrayRef;
    let names = (0..rows).map(|id: i64| format!("images/train/{id:012}.png"));
    let names = Arc::new(StringArray::from_iter_values(names)) as ArrayRef;
    BTreeMap::from([("t".to_owned(), table(vec![("id", ids), ("name", names)]))])
}

/// A query that fails because of its memory limit succeeds with the memory that its message names.
///
/// This is true for queries that keep all their rows in memory. Groups use temporary files first, and only the merge of
/// these files shows how much memory they need.
#[tokio::test]
async fn the_memory_that_an_error_names_suffices() {
    let tables = tables();
    let mut wrong = Vec::new();
    for text in [
        "SELECT string_agg(name, ',' ORDER BY _row) AS x FROM t",
        "SELECT string_agg(repeat(name, 5), ',' ORDER BY _row) AS x FROM t",
        "SELECT array_agg(name ORDER BY _row) AS x FROM t",
        "SELECT count(DISTINCT name) AS x FROM t",
        "SELECT median(id) AS x FROM t",
    ] {
        for memory in [2, 8, 24] {
            let limits = QueryLimits::with_memory(memory << 20);
            let Err(error) = values(text, &tables, &limits).await else {
                continue;
            };
            let message = error.to_string();
            let needed = message.split_once("not enough memory: ");
            let needed = needed.map(|(_, rest)| rest);
            let needed = needed.and_then(|rest| rest.split(' ').next()?.parse::<u64>().ok());
            let limits = QueryLimits::with_memory(needed.unwrap_or(0) * 1_000_000);
            let found = values(text, &tables, &limits).await;
            if found.is_err() || limits.memory > 4_000_000_000 {
                let second = found.err().map(|error| error.to_string());
                wrong.push(format!(
                    "{text} with {memory} MB: {message}, then {second:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
