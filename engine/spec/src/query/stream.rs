//! Recognizes queries that process a table row by row, and queries that copy a table.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Distinct, Expr, GroupByExpr, Query as Tree, Select, SetExpr, TableFactor, Visit, Visitor,
};

use crate::words::query::Query;

impl Query {
    /// Returns whether the query reads a single table and computes each row independently, so that only a few rows are
    /// in memory at a time. Returns `false` if this is not certain.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        let tree = self.statement();
        let plain = tree.with.is_none() && tree.order_by.is_none();
        match tree.body.as_ref() {
            SetExpr::Select(select) if plain => {
                is_plain(select) && select.visit(&mut RowByRow).is_continue()
            }
            _ => false,
        }
    }

    /// Returns the name of the table if the query is `SELECT * FROM table`.
    #[must_use]
    pub fn copied_table(&self) -> Option<&str> {
        let mut tables = self.tables.iter();
        let table = tables.next()?;
        let copies_it = self.normal == format!("SELECT * FROM {table}");
        copies_it.then_some(table)
    }
}

fn is_plain(select: &Select) -> bool {
    let no_groups = match &select.group_by {
        GroupByExpr::Expressions(keys, modifiers) => keys.is_empty() && modifiers.is_empty(),
        GroupByExpr::All(_) => false,
    };
    let is_table = match select.from.as_slice() {
        [from] => {
            from.joins.is_empty() && matches!(from.relation, TableFactor::Table { args: None, .. })
        }
        _ => false,
    };
    let all = matches!(select.distinct, None | Some(Distinct::All));
    no_groups && is_table && all && select.having.is_none() && select.qualify.is_none()
}

/// Stops at every expression that needs other rows: subqueries, windows, and functions that may collect or generate
/// rows.
struct RowByRow;

impl Visitor for RowByRow {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Tree) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if !is_row_function(&function.name.to_string()) => {
                ControlFlow::Break(())
            }
            Expr::Function(function) if function.over.is_some() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns whether this is a function of the values in a single row that needs little memory. The list is not complete.
fn is_row_function(name: &str) -> bool {
    const NAMES: [&str; 34] = [
        "abs",
        "btrim",
        "ceil",
        "character_length",
        "coalesce",
        "concat",
        "ends_with",
        "floor",
        "greatest",
        "least",
        "left",
        "length",
        "lower",
        "lpad",
        "ltrim",
        "md5",
        "nullif",
        "nvl",
        "power",
        "regexp_like",
        "regexp_replace",
        "replace",
        "reverse",
        "right",
        "round",
        "rpad",
        "rtrim",
        "split_part",
        "sqrt",
        "starts_with",
        "strpos",
        "substr",
        "trim",
        "upper",
    ];
    NAMES.binary_search(&name.to_lowercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_select_star_copies_a_table() {
        for (text, expected) in [
            ("SELECT * FROM t", Some("t")),
            ("select *\nfrom t -- all", Some("t")),
            ("SELECT * FROM t AS u", None),
            ("SELECT * FROM t WHERE a = 1", None),
            ("SELECT * FROM t LIMIT 3", None),
            ("SELECT *, a AS b FROM t", None),
            ("SELECT a FROM t", None),
            ("SELECT * FROM t, u", None),
            ("SELECT 1 AS a", None),
        ] {
            let query = Query::parse(text).expect(text);
            assert_eq!(query.copied_table(), expected, "{text}");
        }
    }

    #[test]
    fn a_stream_reads_one_table_row_by_row() {
        for (text, expected) in [
            ("SELECT * FROM t", true),
            (
                "SELECT a, lower(b) AS b, c + 1 AS c FROM t AS x WHERE d IN (1, 2)",
                true,
            ),
            ("SELECT a FROM t LIMIT 3", true),
            ("SELECT a FROM t ORDER BY a", false),
            ("SELECT DISTINCT a FROM t", false),
            ("SELECT a FROM t GROUP BY a", false),
            ("SELECT count(*) AS n FROM t", false),
            ("SELECT unnest(a) AS b FROM t", false),
            ("SELECT row_number() OVER () AS n FROM t", false),
            ("SELECT a FROM t WHERE a IN (SELECT b FROM u)", false),
            ("SELECT a FROM t JOIN u ON t.a = u.b", false),
            ("SELECT a FROM t, u", false),
            ("SELECT a FROM t UNION ALL SELECT a FROM u", false),
            ("SELECT a FROM (SELECT a FROM t) AS x", false),
            ("WITH x AS (SELECT a FROM t) SELECT a FROM x", false),
        ] {
            let query = Query::parse(text).expect(text);
            assert_eq!(query.is_stream(), expected, "{text}");
        }
    }
}
