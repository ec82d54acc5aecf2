//! Visits the nodes of a syntax tree, and computes properties of the tree.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use super::functions::is_row_function;
use super::tree::{
    Body, Condition, Expr, ExprKind, From, Grouping, Item, Name, Operator, Position, QueryTree,
    Select, SetOperator, SortKey, Source, SubqueryKind, Wildcard,
};

/// A node of a tree whose children can be visited.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "the names are those of the nodes")]
pub enum Node<'t> {
    Query(&'t QueryTree),
    Body(&'t Body),
    Select(&'t Select),
    Source(&'t Source),
    Expr(&'t Expr),
}

impl<'t> Node<'t> {
    /// Visits the direct children of the node, in the order of the text.
    pub fn children(self, visit: &mut dyn FnMut(Node<'t>)) {
        match self {
            Node::Query(query) => {
                for part in &query.with {
                    visit(Node::Query(&part.query));
                }
                visit(Node::Body(&query.body));
                visit_keys(&query.order_by, visit);
            }
            Node::Body(body) => match body {
                Body::Select(select) => visit(Node::Select(select)),
                Body::Query(query) => visit(Node::Query(query)),
                Body::Operation { branches, .. } => {
                    branches.iter().for_each(|branch| visit(Node::Body(branch)));
                }
                Body::Values(rows) => visit_exprs(rows.iter().flatten(), visit),
            },
            Node::Select(select) => visit_select(select, visit),
            Node::Source(source) => match source {
                Source::Table { .. } => {}
                Source::Query { query, .. } => visit(Node::Query(query)),
                Source::Unnest { lists, .. } => visit_exprs(lists, visit),
            },
            Node::Expr(expr) => visit_operands(&expr.kind, visit),
        }
    }

    /// Visits the node and all nodes below it, parents first, until `visit` breaks.
    pub fn walk<B>(self, visit: &mut dyn FnMut(Node<'t>) -> ControlFlow<B>) -> ControlFlow<B> {
        visit(self)?;
        let mut result = ControlFlow::Continue(());
        self.children(&mut |child| {
            if result.is_continue() {
                result = child.walk(visit);
            }
        });
        result
    }
}

fn visit_exprs<'t>(exprs: impl IntoIterator<Item = &'t Expr>, visit: &mut dyn FnMut(Node<'t>)) {
    exprs.into_iter().for_each(|expr| visit(Node::Expr(expr)));
}

fn visit_keys<'t>(keys: &'t [SortKey], visit: &mut dyn FnMut(Node<'t>)) {
    visit_exprs(keys.iter().map(|key| &key.expr), visit);
}

fn visit_select<'t>(select: &'t Select, visit: &mut dyn FnMut(Node<'t>)) {
    for item in &select.items {
        match item {
            Item::Expr { expr, name: _ } => visit(Node::Expr(expr)),
            Item::Wildcard(Wildcard { replace, .. }) => {
                visit_exprs(replace.iter().map(|(_, expr)| expr), visit);
            }
        }
    }
    for from in &select.from {
        visit(Node::Source(&from.first));
        for join in &from.joins {
            visit(Node::Source(&join.right));
            if let Condition::On(condition) = &join.condition {
                visit(Node::Expr(condition));
            }
        }
    }
    visit_exprs(&select.filter, visit);
    if let Grouping::Keys(keys) = &select.group_by {
        visit_exprs(keys, visit);
    }
    visit_exprs(select.having.iter().chain(&select.qualify), visit);
}

/// Visits the expressions and queries directly in an expression.
fn visit_operands<'t>(kind: &'t ExprKind, visit: &mut dyn FnMut(Node<'t>)) {
    match kind {
        ExprKind::Column { .. }
        | ExprKind::Null
        | ExprKind::Boolean(_)
        | ExprKind::Integer(_)
        | ExprKind::Double(_)
        | ExprKind::Text(_) => {}
        ExprKind::Operation { op: _, operands } => visit_exprs(operands, visit),
        ExprKind::Subquery { kind, query } => {
            if let SubqueryKind::In(operand) = kind {
                visit(Node::Expr(operand));
            }
            visit(Node::Query(query));
        }
        ExprKind::Cast { expr, .. } => visit(Node::Expr(expr)),
        ExprKind::Case {
            branches,
            otherwise,
        } => {
            let branches = branches
                .iter()
                .flat_map(|(condition, result)| [condition, result]);
            visit_exprs(branches.chain(otherwise.as_deref()), visit);
        }
        ExprKind::Call(call) => {
            visit_exprs(&call.args, visit);
            visit_keys(&call.order_by, visit);
            visit_exprs(&call.filter, visit);
            if let Some(window) = &call.over {
                visit_exprs(&window.partition_by, visit);
                visit_keys(&window.order_by, visit);
            }
        }
    }
}

impl Body {
    /// Returns the SELECT that determines the column names. `None` for VALUES.
    pub fn first_select(&self) -> Option<&Select> {
        match self {
            Body::Select(select) => Some(select),
            Body::Query(query) => query.body.first_select(),
            Body::Operation { branches, .. } => branches.first()?.first_select(),
            Body::Values(_) => None,
        }
    }

    /// Adds the column `path`: `SELECT p.file` becomes `SELECT p.file, p.name AS path`.
    pub(super) fn add_path(&mut self) {
        match self {
            Body::Select(select) => {
                if let [Item::Expr { expr, name: None }] = select.items.as_slice()
                    && let ExprKind::Column { table, name } = &expr.kind
                    && name.text == "file"
                {
                    let at = name.at;
                    let named = |text: &str| Name {
                        text: text.to_owned(),
                        at,
                    };
                    let kind = ExprKind::Column {
                        table: table.clone(),
                        name: named("name"),
                    };
                    let item = Item::Expr {
                        expr: Expr { kind, at },
                        name: Some(named("path")),
                    };
                    select.items.push(item);
                }
            }
            Body::Query(query) => query.body.add_path(),
            Body::Operation { branches, .. } => branches.iter_mut().for_each(Body::add_path),
            Body::Values(_) => {}
        }
    }
}

impl Source {
    /// Returns the start of the source.
    pub fn at(&self) -> Position {
        match self {
            Source::Table { name, alias: _ } => name.at,
            Source::Query { at, .. } | Source::Unnest { at, .. } => *at,
        }
    }
}

impl QueryTree {
    /// Returns the computed columns without a name, in the first SELECT of a set operation.
    pub fn unnamed(&self) -> Vec<&Expr> {
        let select = self.body.first_select();
        let items = select.iter().flat_map(|select| &select.items);
        let unnamed = items.filter_map(|item| match item {
            Item::Expr { expr, name: None } if !matches!(expr.kind, ExprKind::Column { .. }) => {
                Some(expr)
            }
            Item::Expr { .. } | Item::Wildcard(_) => None,
        });
        unnamed.collect()
    }

    /// Returns whether the query or a subquery contains `*` or `t.*`.
    pub fn has_wildcard(&self) -> bool {
        let visit = &mut |node: Node<'_>| match node {
            Node::Select(select)
                if select
                    .items
                    .iter()
                    .any(|item| matches!(item, Item::Wildcard(_))) =>
            {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        Node::Query(self).walk(visit).is_break()
    }

    /// See [`Query::selected_names`](crate::model::Query::selected_names).
    pub fn selected_names(&self) -> Option<Vec<String>> {
        let items = self.body.first_select()?.items.iter();
        let names = items.map(|item| match item {
            Item::Expr {
                name: Some(name), ..
            } => Some(name.text.clone()),
            Item::Expr { expr, name: None } => match &expr.kind {
                ExprKind::Column { name, .. } => Some(name.text.clone()),
                _ => None,
            },
            Item::Wildcard(_) => None,
        });
        names.collect()
    }

    /// Returns the columns of the first SELECT that have a name and are computed, not only copied. Each comes with its
    /// SQL expression.
    pub fn computed_items(&self) -> BTreeMap<String, String> {
        let items = self
            .body
            .first_select()
            .into_iter()
            .flat_map(|select| &select.items);
        let items = items.filter_map(|item| match item {
            Item::Expr { expr, name } if !matches!(expr.kind, ExprKind::Column { .. }) => {
                Some((name.as_ref()?.text.clone(), expr.to_string()))
            }
            _ => None,
        });
        items.collect()
    }

    /// Returns the names of the columns with which the query computes. Columns that are only copied are left out.
    ///
    /// Returns `None` if the query compares or combines entire rows, as DISTINCT and UNION do.
    pub fn computed_columns<'t>(&'t self) -> Option<BTreeSet<&'t str>> {
        let (mut names, mut selected) = (BTreeSet::new(), HashSet::new());
        let mut visit = |node: Node<'t>| {
            match node {
                Node::Body(Body::Operation { .. }) => {
                    return ControlFlow::Break(());
                }
                Node::Select(select) if select.distinct => return ControlFlow::Break(()),
                Node::Select(select) => {
                    selected.extend(select.items.iter().filter_map(|item| match item {
                        Item::Expr { expr, .. } => Some(std::ptr::from_ref(expr)),
                        Item::Wildcard(_) => None,
                    }));
                    for join in select.from.iter().flat_map(|from| &from.joins) {
                        if let Condition::Using(keys) = &join.condition {
                            names.extend(keys.iter().map(|key| key.text.as_str()));
                        }
                    }
                }
                Node::Expr(expr) => {
                    if let ExprKind::Column { name, .. } = &expr.kind
                        && !selected.contains(&std::ptr::from_ref(expr))
                    {
                        names.insert(name.text.as_str());
                    }
                }
                Node::Query(_) | Node::Body(_) | Node::Source(_) => {}
            }
            ControlFlow::Continue(())
        };
        let is_known = Node::Query(self).walk(&mut visit).is_continue();
        is_known.then_some(names)
    }

    /// Returns the names of the columns by which the query pairs the rows of tables: the columns of USING, and those that ON
    /// compares, as in `a.id = b.id`. If FROM lists several tables, WHERE is examined like ON.
    pub fn join_keys(&self) -> BTreeSet<&str> {
        fn add<'t>(condition: &'t Expr, names: &mut BTreeSet<&'t str>) {
            let column = |expr: &'t Expr| match &expr.kind {
                ExprKind::Column { name, .. } => Some(name.text.as_str()),
                _ => None,
            };
            match &condition.kind {
                ExprKind::Operation { op, operands } if *op == Operator::And => {
                    operands.iter().for_each(|operand| add(operand, names));
                }
                ExprKind::Operation { op, operands } if *op == Operator::Equal => {
                    let compared: Option<Vec<&str>> = operands.iter().map(column).collect();
                    names.extend(compared.unwrap_or_default());
                }
                _ => {}
            }
        }
        let mut names = BTreeSet::new();
        let _ = Node::Query(self).walk::<()>(&mut |node| {
            if let Node::Select(select) = node {
                for join in select.from.iter().flat_map(|from| &from.joins) {
                    match &join.condition {
                        Condition::On(condition) => add(condition, &mut names),
                        Condition::Using(keys) => {
                            names.extend(keys.iter().map(|key| key.text.as_str()));
                        }
                        Condition::None => {}
                    }
                }
                let filter = select.filter.iter().filter(|_| select.from.len() > 1);
                filter.for_each(|filter| add(filter, &mut names));
            }
            ControlFlow::Continue(())
        });
        names
    }

    /// Returns the tables that the query reads, and the counts that `check_size` compares with limits.
    pub(super) fn reads(&self) -> Reads<'_> {
        let mut reads = Reads::default();
        reads.visit(Node::Query(self));
        reads
    }

    /// Returns the SELECT, if its clauses process each row of a single table independently.
    fn row_by_row(&self) -> Option<&Select> {
        let Body::Select(select) = &self.body else {
            return None;
        };
        let is_plain = !select.distinct
            && select.group_by == Grouping::None
            && select.having.is_none()
            && select.qualify.is_none();
        let [From { first, joins }] = select.from.as_slice() else {
            return None;
        };
        let is_table = matches!(first, Source::Table { .. }) && joins.is_empty();
        (is_plain && is_table && self.with.is_empty() && self.order_by.is_empty()).then_some(select)
    }

    /// Returns the name of the table if the query is `SELECT * FROM table`.
    pub fn copied_table(&self) -> Option<&str> {
        let select = self.row_by_row()?;
        let [Item::Wildcard(wildcard)] = select.items.as_slice() else {
            return None;
        };
        let Source::Table { name, alias: None } = &select.from.first()?.first else {
            return None;
        };
        let is_whole = wildcard.table.is_none()
            && wildcard.exclude.is_empty()
            && wildcard.replace.is_empty()
            && select.filter.is_none()
            && self.limit.is_none()
            && self.offset == 0;
        is_whole.then_some(name.text.as_str())
    }

    /// See [`Query::is_stream`](crate::model::Query::is_stream).
    pub fn is_stream(&self) -> bool {
        let mut needs_other_rows = |node: Node<'_>| match node {
            Node::Query(_) => ControlFlow::Break(()),
            Node::Expr(Expr {
                kind: ExprKind::Call(call),
                at: _,
            }) if call.over.is_some() || !is_row_function(&call.name.text) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        };
        let select = self.row_by_row();
        select.is_some_and(|select| {
            Node::Select(select)
                .walk(&mut needs_other_rows)
                .is_continue()
        })
    }
}

/// The tables that a query reads, and the counts that the parser compares with limits of a query's size.
#[derive(Default)]
pub(super) struct Reads<'t> {
    /// Every mention of a table that is not a part of WITH, in the order of the text.
    pub tables: Vec<&'t Name>,
    /// Number of tables that are read, counted again for each use of a part of WITH.
    pub count: usize,
    /// Number of joins, parts of WITH, and set operations other than chains of UNION.
    pub parts: usize,
    /// The largest number of tables in a SELECT.
    pub joined: usize,
    /// The parts of WITH that can be used at the current node, each with the number of tables that it reads.
    defined: Vec<(&'t str, usize)>,
}

impl<'t> Reads<'t> {
    /// Counts the tables, joins and parts of a node and of all nodes below it.
    fn visit(&mut self, node: Node<'t>) {
        let outer = self.defined.len();
        match node {
            Node::Query(query) => {
                self.parts += query.with.len();
                for part in &query.with {
                    let before = self.count;
                    self.visit(Node::Query(&part.query));
                    // A part that reads no table is counted as one table, because each use of it is also planned.
                    let count = std::mem::replace(&mut self.count, before) - before;
                    self.defined.push((&part.alias.name.text, count.max(1)));
                }
                self.visit(Node::Body(&query.body));
                visit_keys(&query.order_by, &mut |key| self.visit(key));
                return self.defined.truncate(outer);
            }
            Node::Source(Source::Table { name, alias: _ }) => {
                let mut defined = self.defined.iter().rev();
                let known = defined.find(|(defined, _)| *defined == name.text);
                let count = known.map(|(_, count)| *count);
                self.count = self.count.saturating_add(count.unwrap_or(1));
                if count.is_none() {
                    self.tables.push(name);
                }
            }
            Node::Body(Body::Operation { op, branches, .. }) => {
                let is_union = matches!(op, SetOperator::Union | SetOperator::UnionAll);
                let is_operation = |body: &&Body| matches!(body, Body::Operation { .. });
                self.parts += usize::from(!is_union);
                self.parts += branches.iter().filter(is_operation).count();
            }
            Node::Select(select) => {
                let joined = select
                    .from
                    .iter()
                    .map(|from| 1 + from.joins.len())
                    .sum::<usize>();
                self.joined = self.joined.max(joined);
                // The first table of FROM is not a join.
                self.parts += joined.saturating_sub(1);
            }
            _ => {}
        }
        node.children(&mut |child| self.visit(child));
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Query;

    #[test]
    fn only_select_star_copies_a_table() {
        for (text, expected) in [
            ("SELECT * FROM t", Some("t")),
            ("select *\nfrom t -- all", Some("t")),
            ("SELECT * FROM \"t u\"", Some("t u")),
            ("(SELECT * FROM t)", Some("t")),
            ("SELECT * FROM t AS u", None),
            ("SELECT * FROM t WHERE a = 1", None),
            ("SELECT * FROM t LIMIT 3", None),
            ("SELECT * FROM t OFFSET 3", None),
            ("SELECT * EXCLUDE (a) FROM t", None),
            ("SELECT DISTINCT * FROM t", None),
            ("SELECT t.* FROM t", None),
            ("SELECT *, a AS b FROM t", None),
            ("SELECT a FROM t", None),
            ("SELECT * FROM t, u", None),
            ("SELECT 1 AS a", None),
            ("WITH t AS (SELECT * FROM u) SELECT * FROM t", None),
        ] {
            let query = Query::parse(text).expect(text);
            assert_eq!(query.copied_table(), expected, "{text}");
        }
    }

    #[test]
    fn columns_that_are_only_copied_are_not_inputs_of_computations() {
        for (text, expected) in [
            ("SELECT a, b FROM t", Some("")),
            ("SELECT * FROM t ORDER BY a", Some("a")),
            ("SELECT a, lower(b) AS c FROM t WHERE d", Some("b d")),
            ("SELECT a FROM t GROUP BY a", Some("a")),
            (
                "SELECT t.a FROM t JOIN u USING (b) JOIN v ON u.c = v.c",
                Some("b c"),
            ),
            ("SELECT a FROM t WHERE b IN (SELECT c FROM u)", Some("b")),
            ("SELECT DISTINCT a, b FROM t", None),
            ("SELECT DISTINCT * FROM t", None),
            ("SELECT a FROM t UNION ALL (SELECT b FROM u LIMIT 3)", None),
            ("SELECT * FROM t EXCEPT SELECT * FROM u", None),
            ("SELECT x.a FROM (SELECT * FROM t) AS x", Some("")),
        ] {
            let query = Query::parse(text).expect(text);
            let found = query.tree().computed_columns();
            let found = found.map(|names| names.into_iter().collect::<Vec<_>>().join(" "));
            assert_eq!(found.as_deref(), expected, "{text}");
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
            (
                "SELECT length(a) AS n, trim(a) AS b, substring(a FROM 2) AS c FROM t",
                true,
            ),
            ("SELECT a[1] AS b, a[2:] AS c FROM t", true),
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
