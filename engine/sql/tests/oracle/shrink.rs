//! Shrinks a query and its tables, as long as the engine's rows still differ from the evaluation in the same way.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;
use prep_sql::Session;

use super::database::Database;
use super::tree::{Binary, Body, Expr, From, Item, OrderBy, Query, Select, Source};
use super::{Difference, Verdict, compare};

const MAX_TRIES: usize = 400;

pub async fn shrink(
    session: &Session,
    mut query: Query,
    mut database: Database,
    mut difference: Difference,
) -> (Query, Database, Difference) {
    let mut tries = 0;
    let mut shrinks = true;
    while shrinks && tries < MAX_TRIES {
        shrinks = false;
        for index in 0.. {
            let mut smaller = query.clone();
            let mut cut = Cut {
                index,
                is_done: false,
                depth: 0,
            };
            cut.query(&mut smaller);
            if !cut.is_done || tries >= MAX_TRIES {
                break;
            }
            tries += 1;
            if let Some(found) = differs(session, &smaller, &database, difference.kind).await {
                (query, difference) = (smaller, found);
                shrinks = true;
                break;
            }
        }
    }
    for table in 0..database.tables.len() {
        let mut row = 0;
        while row < database.tables[table].rows.len() && tries < 2 * MAX_TRIES {
            let mut smaller = Database {
                tables: database.tables.clone(),
            };
            smaller.tables[table].rows.remove(row);
            tries += 1;
            match differs(session, &query, &smaller, difference.kind).await {
                Some(found) => (database, difference) = (smaller, found),
                None => row += 1,
            }
        }
    }
    (query, database, difference)
}

async fn differs(
    session: &Session,
    query: &Query,
    database: &Database,
    kind: &str,
) -> Option<Difference> {
    let found = AssertUnwindSafe(compare(session, query, database, 0)).catch_unwind();
    match found.await {
        Ok(Verdict::Different(found)) if found.kind == kind => Some(found),
        _ => None,
    }
}

/// Removes the part number `index` of a query, in a fixed order of parts.
struct Cut {
    index: usize,
    is_done: bool,
    /// Number of queries around the current position. It is 1 in the outermost query.
    depth: usize,
}

impl Cut {
    /// Returns whether the caller must remove the part at the current position. Each call counts one part.
    fn cuts_here(&mut self) -> bool {
        if self.is_done {
            return false;
        }
        self.is_done = self.index == 0;
        self.index = self.index.saturating_sub(1);
        self.is_done
    }

    /// Removes an optional part, if it is the one to remove.
    fn take<T>(&mut self, part: &mut Option<T>) {
        if part.is_some() && self.cuts_here() {
            *part = None;
        }
    }

    fn query(&mut self, query: &mut Query) {
        self.depth += 1;
        self.query_inside(query);
        self.depth -= 1;
    }

    fn query_inside(&mut self, query: &mut Query) {
        if let Body::Set { left, right, .. } = &query.body {
            for side in [left.clone(), right.clone()] {
                if query.ctes.is_empty() && query.order_by.is_empty() && self.cuts_here() {
                    *query = *side;
                    return;
                }
            }
        }
        if query.limit.is_some() || query.offset.is_some() {
            self.take(&mut query.limit);
            self.take(&mut query.offset);
        }
        if query.order_by.len() > 1 && self.cuts_here() {
            query.order_by.pop();
        }
        // The order of the outer query depends on the order of a subquery, so a subquery may lose its ORDER BY only if its
        // rows are also ordered without it.
        let may_lose_order = self.depth == 1 || query.unsorted.is_defined();
        if query.order_by.len() == 1 && may_lose_order && self.cuts_here() {
            query.order_by.clear();
            query.order = query.unsorted.clone();
        }
        for index in 0..query.ctes.len() {
            self.query(&mut query.ctes[index].1);
        }
        let has_positions = query
            .order_by
            .iter()
            .any(|key| matches!(key.by, OrderBy::Output { .. }));
        match &mut query.body {
            Body::Set { left, right, .. } => {
                self.query(left);
                self.query(right);
            }
            Body::Select(select) => {
                let is_plain = select
                    .group_by
                    .iter()
                    .all(|(_, position)| position.is_none());
                let count = select.items.len();
                let expr_only = select
                    .items
                    .iter()
                    .all(|item| matches!(item, Item::Expr(..)));
                // Only the outermost query may lose columns, because other queries can use the columns of a subquery.
                let is_root = self.depth == 1;
                if is_root && count > 1 && is_plain && !has_positions && expr_only {
                    for index in 0..count {
                        if self.cuts_here() {
                            select.items.remove(index);
                            query.columns.remove(index);
                            return;
                        }
                    }
                }
                self.select(select);
            }
        }
        for key in &mut query.order_by {
            if let OrderBy::Expr(expr) = &mut key.by {
                self.expr(expr);
            }
        }
    }

    fn select(&mut self, select: &mut Select) {
        self.take(&mut select.filter);
        self.take(&mut select.having);
        self.take(&mut select.qualify);
        for item in &mut select.items {
            match item {
                Item::Expr(expr, _) => self.expr(expr),
                Item::Star { columns, .. } => {
                    for (expr, _, is_replaced) in columns {
                        if *is_replaced {
                            self.expr(expr);
                        }
                    }
                }
            }
        }
        for from in &mut select.from {
            self.from(from);
        }
        let conditions = [&mut select.filter, &mut select.having, &mut select.qualify];
        for condition in conditions.into_iter().flatten() {
            self.expr(condition);
        }
    }

    fn from(&mut self, from: &mut From) {
        match from {
            From::Source {
                source: Source::Query(query),
                ..
            } => self.query(query),
            From::Source { .. } => {}
            From::Join {
                left, right, on, ..
            } => {
                self.from(left);
                self.from(right);
                if let Some(on) = on {
                    self.expr(on);
                }
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        if let Expr::Binary {
            operator: Binary::And | Binary::Or,
            left,
            right,
            ..
        } = expr
        {
            for side in [left.clone(), right.clone()] {
                if self.cuts_here() {
                    *expr = *side;
                    return;
                }
            }
        }
        if let Expr::Coalesce(items) = expr {
            for item in items.clone() {
                if self.cuts_here() {
                    *expr = item;
                    return;
                }
            }
        }
        if let Expr::Case {
            branches,
            otherwise,
            ..
        } = expr
        {
            let values = branches.iter().map(|(_, then)| then.clone());
            let values = values.chain(otherwise.iter().map(|expr| (**expr).clone()));
            for value in values.collect::<Vec<_>>() {
                if self.cuts_here() {
                    *expr = value;
                    return;
                }
            }
        }
        match expr {
            Expr::Unary(_, inner) => self.expr(inner),
            Expr::Binary { left, right, .. } => {
                self.expr(left);
                self.expr(right);
            }
            Expr::Between {
                value, low, high, ..
            } => {
                for part in [value, low, high] {
                    self.expr(part);
                }
            }
            Expr::In { value, items, .. } => {
                if items.len() > 1 && self.cuts_here() {
                    items.pop();
                }
                self.expr(value);
            }
            Expr::Case {
                operand,
                branches,
                otherwise,
            } => {
                for (when, then) in branches {
                    self.expr(when);
                    self.expr(then);
                }
                for part in operand.iter_mut().chain(otherwise) {
                    self.expr(part);
                }
            }
            Expr::Coalesce(items) => {
                for item in items {
                    self.expr(item);
                }
            }
            Expr::Replace(text, _, _) => self.expr(text),
            Expr::Scalar(query) | Expr::Exists(query, _) => self.query(query),
            Expr::InQuery { value, query, .. } => {
                self.expr(value);
                self.query(query);
            }
            Expr::Aggregate(aggregate) => self.take(&mut aggregate.filter),
            Expr::Window(window) => {
                self.take(&mut window.frame);
                if !window.partition_by.is_empty() && self.cuts_here() {
                    window.partition_by.clear();
                }
            }
            Expr::Column(_) | Expr::Literal(_) | Expr::Key(..) => {}
        }
    }
}
