//! Converts queries and the clauses of SELECT.

use std::collections::BTreeSet;

use sqlparser::ast::{
    ConnectByKind, Cte, Distinct, ExcludeSelectItem, Expr as AstExpr, GroupByExpr, Ident,
    LimitClause, Offset, OffsetRows, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Parens,
    Query as Ast, ReplaceSelectElement, ReplaceSelectItem, Select as AstSelect, SelectFlavor,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator, SetQuantifier, Spanned as _,
    Values, WildcardAdditionalOptions, With,
};

use super::super::fault::Fault;
use super::super::tree::{
    Body, Expr, ExprKind, Grouping, Item, Name, Part, Position, QueryTree, Select, SortKey,
    Wildcard,
};
use super::super::{RESERVED_ROW, is_row};
use super::{Lowering, single};

const NAME_A_COLUMN: &str = "write a column name without quotes, or in double quotes: `\"b\"`";
const NO_HINTS: &str = "remove it: the engine chooses how to execute a query";

impl Lowering<'_> {
    pub(super) fn query(&mut self, query: &Ast) -> QueryTree {
        let repetition = self.repetition.take();
        let outer = self.limits.defined.len();
        let lowered = self.inside(query.span(), |inner| inner.query_inside(query));
        self.limits.defined.truncate(outer);
        self.repetition = repetition;
        lowered
    }

    fn query_inside(&mut self, query: &Ast) -> QueryTree {
        let Ast {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        let mut tree = QueryTree {
            with: with.iter().flat_map(|with| self.with(with)).collect(),
            body: self.body(body),
            order_by: order_by
                .iter()
                .flat_map(|keys| self.order_by(keys))
                .collect(),
            limit: None,
            offset: 0,
            at: self.at,
        };
        if let Some(limit) = limit_clause {
            self.limit(limit, &mut tree);
        }
        if fetch.is_some() {
            self.clause("FETCH", "write `LIMIT n`");
        }
        if let Some(lock) = locks.first() {
            let help = "remove it: tables never change while a query runs";
            self.clause(&format!("FOR {}", lock.lock_type), help);
        }
        self.absent(for_clause, "FOR", "the output's path determines the format");
        self.absent(settings, "SETTINGS", "");
        let help = "the output's path determines the format";
        self.absent(format_clause, "FORMAT", help);
        self.absent(pipe_operators, "|>", "use clauses with a subquery or WITH");
        match tree.body {
            // The parentheses are redundant.
            Body::Query(inner) if is_plain(&tree.with, &tree.order_by, tree.limit, tree.offset) => {
                *inner
            }
            body => QueryTree { body, ..tree },
        }
    }

    /// Reports a clause unless it is absent.
    fn absent<'c, T: 'c>(
        &mut self,
        clause: impl IntoIterator<Item = &'c T>,
        words: &str,
        help: &str,
    ) {
        if clause.into_iter().next().is_some() {
            self.clause(words, help);
        }
    }

    fn with(&mut self, with: &With) -> Vec<Part> {
        let With {
            with_token: _,
            recursive,
            cte_tables,
        } = with;
        if *recursive {
            let help = "use `unnest(range(0, n))` for numbers, and joins for everything else";
            self.clause("RECURSIVE", help);
        }
        cte_tables.iter().map(|cte| self.part(cte)).collect()
    }

    fn part(&mut self, cte: &Cte) -> Part {
        let Cte {
            alias,
            query,
            from,
            materialized,
            closing_paren_token: _,
        } = cte;
        let (span, alias) = (alias.span(), self.alias(alias));
        self.inside(span, |inner| {
            inner.absent(from, "FROM", "");
            inner.absent(materialized, "MATERIALIZED", NO_HINTS);
        });
        let before = self.limits.start_part();
        let query = self.query(query);
        self.limits.define(alias.name.text.clone(), before);
        self.check_part(&query, Some(&alias));
        Part { alias, query }
    }

    /// Converts the rows of a query. A chain of set operations is a loop, because the parser's tree is as deep as the
    /// chain is long.
    fn body(&mut self, body: &SetExpr) -> Body {
        let mut chain = Vec::new();
        let mut first = body;
        while let SetExpr::SetOperation {
            left,
            op,
            set_quantifier,
            right,
        } = first
        {
            chain.push((*op, *set_quantifier, &**right));
            first = left;
        }
        let mut left = self.branch(first);
        for (op, quantifier, right) in chain.into_iter().rev() {
            let at = self.start(right.span());
            let all = self.all(op, quantifier);
            let right = self.body(right);
            left = self.combine(left, op, all, right, at);
        }
        left
    }

    fn branch(&mut self, body: &SetExpr) -> Body {
        match body {
            SetExpr::Select(select) => {
                let span = select.select_token.0.span;
                let select = self.inside(span, |inner| inner.select(select));
                return Body::Select(Box::new(select));
            }
            SetExpr::Query(query) => {
                let query = self.query(query);
                return match is_plain(&query.with, &query.order_by, query.limit, query.offset) {
                    true => query.body,
                    false => Body::Query(Box::new(query)),
                };
            }
            SetExpr::Values(values) => return self.values(values),
            // It is not a branch, because the chain ends with its first branch.
            SetExpr::SetOperation { .. } => {}
            SetExpr::Insert(_)
            | SetExpr::Update(_)
            | SetExpr::Delete(_)
            | SetExpr::Merge(_)
            | SetExpr::Table(_) => self.faults.push(Fault::not_a_select()),
        }
        Body::Values(Vec::new())
    }

    /// Returns whether a set operation keeps equal rows.
    fn all(&mut self, op: SetOperator, quantifier: SetQuantifier) -> bool {
        match (op, quantifier) {
            (SetOperator::Union, SetQuantifier::All) => return true,
            (_, SetQuantifier::Distinct | SetQuantifier::None) => {}
            (SetOperator::Except, SetQuantifier::All) => {
                self.clause("EXCEPT ALL", "number the rows with row_number() first");
            }
            (SetOperator::Intersect, SetQuantifier::All) => {
                self.clause("INTERSECT ALL", "number the rows with row_number() first");
            }
            (SetOperator::Minus, SetQuantifier::All) => {}
            (
                _,
                SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName,
            ) => {
                let help = "name the columns in the same order in each SELECT";
                self.clause("BY NAME", help);
            }
        }
        false
    }

    fn combine(
        &mut self,
        left: Body,
        op: SetOperator,
        all: bool,
        right: Body,
        at: Position,
    ) -> Body {
        let boxed = |left, right| (Box::new(left), Box::new(right));
        match op {
            SetOperator::Union => {
                let mut branches = match left {
                    Body::Union {
                        all: same,
                        branches,
                    } if same == all => branches,
                    first => {
                        let is_operation =
                            !matches!(first, Body::Select(_) | Body::Query(_) | Body::Values(_));
                        self.limits.parts += usize::from(is_operation);
                        vec![first]
                    }
                };
                match right {
                    Body::Union {
                        all: same,
                        branches: further,
                    } if same == all => branches.extend(further),
                    last => branches.push(last),
                }
                return Body::Union { all, branches };
            }
            SetOperator::Minus => self.clause("MINUS", "write EXCEPT"),
            SetOperator::Except | SetOperator::Intersect => {}
        }
        self.limits.parts += 1;
        let (left, right) = boxed(left, right);
        match op {
            SetOperator::Intersect => Body::Intersect { left, right, at },
            SetOperator::Union | SetOperator::Except | SetOperator::Minus => {
                Body::Except { left, right, at }
            }
        }
    }

    fn values(&mut self, values: &Values) -> Body {
        let Values {
            explicit_row,
            value_keyword,
            rows,
        } = values;
        if *explicit_row {
            self.clause("ROW", "write `VALUES (1, 'a'), (2, 'b')`");
        }
        if *value_keyword {
            self.clause("VALUE", "write `VALUES`");
        }
        let row = |row: &Parens<Vec<AstExpr>>| {
            let Parens {
                opening_token: _,
                content,
                closing_token: _,
            } = row;
            self.exprs(content)
        };
        Body::Values(rows.iter().map(row).collect())
    }

    fn select(&mut self, select: &AstSelect) -> Select {
        let AstSelect {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            // This field is relevant only with `top`.
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            // The order of these clauses makes no difference.
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        self.absent(optimizer_hints, "/*+", NO_HINTS);
        let distinct = self.distinct(distinct.as_ref());
        if let Some(modifiers) = select_modifiers {
            let words = modifiers.to_string();
            let first = words.split_whitespace().next().unwrap_or("SELECT");
            self.clause(first, "");
        }
        self.absent(top, "TOP", "write `LIMIT n`");
        let mut items = Vec::with_capacity(projection.len());
        for item in projection {
            self.item(item, &mut items);
        }
        self.absent(exclude, "EXCLUDE", "write it directly after `*`");
        if into.is_some() {
            let message = "`SELECT INTO` creates a table";
            let help = "remove INTO; the query's key in `tables` is the name of its table";
            self.faults
                .push(Fault::new("not-a-select", self.at, message).help(help));
        }
        let from = from
            .iter()
            .map(|table| self.from(table))
            .collect::<Vec<_>>();
        let tables = from.iter().map(|table| 1 + table.joins.len()).sum();
        self.limits.tables = self.limits.tables.max(tables);
        // The first table of FROM is not a join.
        self.limits.parts += tables.saturating_sub(1);
        let help = "write `CROSS JOIN unnest(list) AS u(x)`";
        self.absent(lateral_views, "LATERAL VIEW", help);
        self.absent(prewhere, "PREWHERE", "write WHERE");
        let filter = self.maybe(selection.as_ref());
        for kind in connect_by {
            let words = match kind {
                ConnectByKind::ConnectBy { .. } => "CONNECT BY",
                ConnectByKind::StartWith { .. } => "START WITH",
            };
            self.clause(words, "");
        }
        let group_by = self.group_by(group_by);
        self.absent(cluster_by, "CLUSTER BY", "write ORDER BY");
        self.absent(distribute_by, "DISTRIBUTE BY", "");
        self.absent(sort_by, "SORT BY", "write ORDER BY");
        let having = self.maybe(having.as_ref());
        let help = "write the window where it is used: `OVER (...)`";
        self.absent(named_window, "WINDOW", help);
        let qualify = self.maybe(qualify.as_ref());
        self.absent(value_table_mode, "AS", "");
        match flavor {
            SelectFlavor::Standard if projection.is_empty() => {
                self.report(self.at, "this SELECT has no columns".to_owned(), "");
            }
            SelectFlavor::Standard => {}
            SelectFlavor::FromFirst | SelectFlavor::FromFirstNoSelect => {
                self.clause("FROM", "begin with SELECT");
            }
        }
        Select {
            distinct,
            items,
            from,
            filter,
            group_by,
            having,
            qualify,
            at: self.at,
        }
    }

    fn distinct(&mut self, distinct: Option<&Distinct>) -> bool {
        match distinct {
            None | Some(Distinct::All) => false,
            Some(Distinct::Distinct) => true,
            Some(Distinct::On(_)) => {
                let help = "write `QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1`";
                self.clause("DISTINCT ON", help);
                false
            }
        }
    }

    fn item(&mut self, item: &SelectItem, items: &mut Vec<Item>) {
        match item {
            SelectItem::UnnamedExpr(expr) => self.columns(expr, None, items),
            SelectItem::ExprWithAlias { expr, alias } => {
                self.check_name(alias);
                self.columns(expr, Some(alias), items);
            }
            SelectItem::ExprWithAliases { expr, aliases } => {
                let at = aliases.first().map_or(expr.span(), |alias| alias.span);
                let at = self.start(at);
                self.reject(at, "AS (...)", "give each column its own name");
            }
            SelectItem::QualifiedWildcard(kind, options) => {
                let at = self.start(kind.span());
                let table = match kind {
                    SelectItemQualifiedWildcardKind::ObjectName(name) => {
                        if single(name).is_none() {
                            self.reject(at, &format!("{name}.*"), "write `*` or `t.*`");
                        }
                        single(name).map(|name| self.name(name))
                    }
                    SelectItemQualifiedWildcardKind::Expr(_) => {
                        self.reject(at, ".*", "name the columns");
                        None
                    }
                };
                items.push(self.wildcard(table, options));
            }
            SelectItem::Wildcard(options) => items.push(self.wildcard(None, options)),
        }
    }

    fn wildcard(&mut self, table: Option<Name>, options: &WildcardAdditionalOptions) -> Item {
        let WildcardAdditionalOptions {
            wildcard_token,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        self.inside(wildcard_token.0.span, |inner| {
            inner.absent(opt_ilike, "ILIKE", "name the columns");
            inner.absent(opt_except, "EXCEPT", "write `* EXCLUDE (a, b)`");
            inner.absent(opt_rename, "RENAME", "name the columns: `a AS b`");
            inner.absent(opt_alias, "AS", "");
            let mut exclude = Vec::new();
            let excluded = match opt_exclude {
                None => &[],
                Some(ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
                Some(ExcludeSelectItem::Multiple(names)) => names.as_slice(),
            };
            for name in excluded {
                exclude.extend(inner.plain_name(name, "EXCLUDE"));
            }
            let replaced = opt_replace
                .iter()
                .flat_map(|ReplaceSelectItem { items }| items);
            let replace = inner.replace(replaced.map(AsRef::as_ref), &exclude);
            let at = table.as_ref().map_or(inner.at, |table| table.at);
            Item::Wildcard(Wildcard {
                table,
                exclude,
                replace,
                at,
            })
        })
    }

    /// Reports a column that is replaced twice, or both replaced and excluded, because one of the two would have no
    /// effect.
    fn replace<'e>(
        &mut self,
        items: impl Iterator<Item = &'e ReplaceSelectElement>,
        excluded: &[Name],
    ) -> Vec<(Name, Expr)> {
        let mut gone: BTreeSet<&str> = excluded.iter().map(|name| name.text.as_str()).collect();
        let replaced = items.map(|item| {
            let ReplaceSelectElement {
                expr,
                column_name,
                as_keyword: _,
            } = item;
            let expr = self.expr(expr);
            let name = self.name(column_name);
            if !gone.insert(&column_name.value) {
                let message = format!("`{column_name}` is already excluded or replaced");
                let help = "exclude or replace each column only once";
                self.report(name.at, message, help);
            }
            (name, expr)
        });
        replaced.collect()
    }

    fn group_by(&mut self, group_by: &GroupByExpr) -> Grouping {
        let (grouping, modifiers) = match group_by {
            GroupByExpr::All(modifiers) => (Grouping::All, modifiers),
            GroupByExpr::Expressions(exprs, modifiers) => {
                let exprs = self.exprs(exprs);
                let constant = |expr: &&Expr| is_constant(expr) && !is_position(expr);
                for expr in exprs.iter().filter(constant) {
                    let message = format!("`GROUP BY {expr}` groups by a constant");
                    self.report(expr.at, message, NAME_A_COLUMN);
                }
                match exprs.is_empty() {
                    true => (Grouping::None, modifiers),
                    false => (Grouping::Keys(exprs), modifiers),
                }
            }
        };
        for modifier in modifiers {
            let text = modifier.to_string();
            let words: Vec<&str> = text.split(' ').take(2).collect();
            let help = "write separate queries, joined by UNION ALL";
            self.clause(&words.join(" "), help);
        }
        grouping
    }

    fn order_by(&mut self, order_by: &OrderBy) -> Vec<SortKey> {
        let OrderBy { kind, interpolate } = order_by;
        let keys = match kind {
            OrderByKind::All(_) => {
                self.clause("ORDER BY ALL", "name the columns");
                Vec::new()
            }
            OrderByKind::Expressions(keys) => self.keys(keys, true),
        };
        self.absent(interpolate, "INTERPOLATE", "");
        keys
    }

    /// Converts the keys of an ORDER BY. If `positions` is true, a number is the position of a column.
    pub(super) fn keys(&mut self, keys: &[OrderByExpr], positions: bool) -> Vec<SortKey> {
        let key = |key: &OrderByExpr| {
            let OrderByExpr {
                expr,
                options: OrderByOptions { asc, nulls_first },
                with_fill,
            } = key;
            let expr = self.expr(expr);
            if is_constant(&expr) && !(positions && is_position(&expr)) {
                let message = format!("`ORDER BY {expr}` orders by a constant");
                self.report(expr.at, message, NAME_A_COLUMN);
            }
            self.absent(with_fill, "WITH FILL", "");
            let descending = *asc == Some(false);
            SortKey {
                expr,
                descending,
                nulls_first: nulls_first.unwrap_or(descending),
            }
        };
        keys.iter().map(key).collect()
    }

    fn limit(&mut self, clause: &LimitClause, tree: &mut QueryTree) {
        let (limit, offset) = match clause {
            LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            } => {
                if let Some(first) = limit_by.first() {
                    let help = "write `QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) <= n`";
                    self.reject(self.start(first.span()), "LIMIT BY", help);
                }
                let offset = offset.as_ref().map(|Offset { value, rows }| match rows {
                    OffsetRows::None | OffsetRows::Row | OffsetRows::Rows => value,
                });
                (limit.as_ref(), offset)
            }
            LimitClause::OffsetCommaLimit { offset, limit } => (Some(limit), Some(offset)),
        };
        tree.limit = limit.map(|limit| self.natural(limit, |number| format!("LIMIT {number}")));
        let offset = offset.map(|offset| self.natural(offset, |number| format!("OFFSET {number}")));
        tree.offset = offset.unwrap_or(0);
    }

    /// Reports the name of the hidden column, if the query selects it without a new name.
    pub(super) fn check_names(&mut self, tree: &QueryTree) {
        for item in tree
            .body
            .first_select()
            .iter()
            .flat_map(|select| &select.items)
        {
            if let Item::Expr { expr, name: None } = item
                && let ExprKind::Column { table: _, name } = &expr.kind
                && is_row(&name.text)
            {
                let help = "rename it: `_row AS position`";
                self.faults.push(reserved_name(name.at).help(help));
            }
        }
    }

    /// Reports a name that is reserved for the hidden column.
    pub(super) fn check_name(&mut self, name: &Ident) {
        if is_row(&name.value) {
            self.faults.push(reserved_name(self.start(name.span)));
        }
    }
}

fn reserved_name(at: Position) -> Fault {
    Fault::new("reserved-column", at, RESERVED_ROW)
}

/// Returns whether a query consists only of its body.
fn is_plain(with: &[Part], order_by: &[SortKey], limit: Option<u64>, offset: u64) -> bool {
    with.is_empty() && order_by.is_empty() && limit.is_none() && offset == 0
}

/// Returns whether the expression consists only of literals. Such an expression has no effect as a sort or group key.
pub(super) fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Boolean(_)
        | ExprKind::Integer(_)
        | ExprKind::Double(_)
        | ExprKind::Text(_) => true,
        ExprKind::Not(expr) | ExprKind::Negate(expr) | ExprKind::Cast { expr, .. } => {
            is_constant(expr)
        }
        ExprKind::Binary { left, right, .. } => is_constant(left) && is_constant(right),
        _ => false,
    }
}

/// Returns whether the expression is the position of a column, as in `ORDER BY 2`.
fn is_position(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Integer(0..))
}
