//! Checks queries and the clauses of SELECT.

use std::collections::BTreeSet;

use sqlparser::ast::{
    ConnectByKind, Cte, Distinct, ExcludeSelectItem, Expr, GroupByExpr, GroupByWithModifier, Ident,
    LimitClause, LockClause, LockType, ObjectName, Offset, OffsetRows, OrderBy, OrderByExpr,
    OrderByKind, OrderByOptions, Parens, Query as Tree, ReplaceSelectElement, ReplaceSelectItem,
    Select, SelectFlavor, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, SetOperator,
    SetQuantifier, Spanned as _, Value, Values, WildcardAdditionalOptions, With,
};

use super::Subset;
use super::exprs::is_constant;

const NAME_A_COLUMN: &str = "write a column name without quotes, or in double quotes: `\"b\"`";

impl Subset<'_, '_> {
    pub(super) fn query(&mut self, query: &Tree) {
        let span = query.span();
        self.inside(span, |inner| inner.query_inside(query));
    }

    fn query_inside(&mut self, query: &Tree) {
        let Tree {
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
        let outer = self.defined.len();
        if let Some(with) = with {
            self.with_clause(with);
        }
        self.set_expr(body);
        if let Some(order_by) = order_by {
            self.order_by(order_by);
        }
        if let Some(limit) = limit_clause {
            self.limit(limit);
        }
        if fetch.is_some() {
            self.clause("FETCH", "write `LIMIT n`");
        }
        if let Some(LockClause {
            lock_type,
            of: _,
            nonblock: _,
        }) = locks.first()
        {
            let words = match lock_type {
                LockType::Share => "FOR SHARE",
                LockType::Update => "FOR UPDATE",
            };
            self.clause(words, "remove it: tables never change while a query runs");
        }
        if for_clause.is_some() {
            self.clause("FOR", "the output's path determines the format");
        }
        if settings.is_some() {
            self.clause("SETTINGS", "");
        }
        if format_clause.is_some() {
            self.clause("FORMAT", "the output's path determines the format");
        }
        if !pipe_operators.is_empty() {
            self.clause("|>", "use clauses with a subquery or WITH");
        }
        self.defined.truncate(outer);
    }

    fn with_clause(&mut self, with: &With) {
        let With {
            with_token: _,
            recursive,
            cte_tables,
        } = with;
        if *recursive {
            let help = "use `unnest(range(0, n))` for numbers, and joins for everything else";
            self.clause("RECURSIVE", help);
        }
        self.parts += cte_tables.len();
        for cte in cte_tables {
            let Cte {
                alias,
                query,
                from,
                materialized,
                closing_paren_token: _,
            } = cte;
            self.alias(alias);
            if from.is_some() {
                self.inside(alias.span(), |inner| inner.clause("FROM", ""));
            }
            if materialized.is_some() {
                let help = "remove it: the engine chooses how to execute a query";
                self.inside(alias.span(), |inner| inner.clause("MATERIALIZED", help));
            }
            let before = self.reads;
            self.query(query);
            let reads = std::mem::replace(&mut self.reads, before).saturating_sub(before);
            // A part that reads no table is also inserted wherever it is used.
            let reads = reads.max(1);
            self.defined.push((alias.name.value.clone(), reads));
            self.part_of_from(query, Some(alias));
        }
    }

    fn set_expr(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Select(select) => {
                let span = select.select_token.0.span;
                self.inside(span, |inner| inner.select(select));
            }
            SetExpr::Query(query) => self.query(query),
            SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                self.set_expr(left);
                match op {
                    SetOperator::Union => {}
                    SetOperator::Except | SetOperator::Intersect => self.parts += 1,
                    SetOperator::Minus => self.clause("MINUS", "write EXCEPT"),
                }
                match set_quantifier {
                    SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None => {}
                    SetQuantifier::ByName
                    | SetQuantifier::AllByName
                    | SetQuantifier::DistinctByName => {
                        self.clause(
                            "BY NAME",
                            "name the columns in the same order in each SELECT",
                        );
                    }
                }
                self.set_expr(right);
            }
            SetExpr::Values(values) => self.values(values),
            // Statements other than SELECT are reported in `query::names`.
            _ => {}
        }
    }

    fn values(&mut self, values: &Values) {
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
        for row in rows {
            let Parens {
                opening_token: _,
                content,
                closing_token: _,
            } = row;
            self.exprs(content);
        }
    }

    fn select(&mut self, select: &Select) {
        let Select {
            select_token: _,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            // This field is relevant only with `top`.
            top_before_distinct: _,
            projection,
            exclude,
            // INTO is reported in `query::names`.
            into: _,
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
        if !optimizer_hints.is_empty() {
            self.clause(
                "/*+",
                "remove it: the engine chooses how to execute a query",
            );
        }
        match distinct {
            None | Some(Distinct::All | Distinct::Distinct) => {}
            Some(Distinct::On(_)) => self.clause(
                "DISTINCT ON",
                "write `QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) = 1`",
            ),
        }
        if let Some(modifiers) = select_modifiers {
            let words = modifiers.to_string();
            let first = words.split_whitespace().next().unwrap_or("SELECT");
            self.clause(first, "");
        }
        if top.is_some() {
            self.clause("TOP", "write `LIMIT n`");
        }
        for item in projection {
            self.item(item);
        }
        if exclude.is_some() {
            self.clause("EXCLUDE", "write it directly after `*`");
        }
        for table in from {
            self.table_with_joins(table);
        }
        let tables = from.iter().map(|table| 1 + table.joins.len()).sum();
        self.tables = self.tables.max(tables);
        // The first table of FROM is not a join.
        self.parts -= usize::from(!from.is_empty());
        if !lateral_views.is_empty() {
            self.clause("LATERAL VIEW", "write `CROSS JOIN unnest(list) AS u(x)`");
        }
        if prewhere.is_some() {
            self.clause("PREWHERE", "write WHERE");
        }
        if let Some(condition) = selection {
            self.expr(condition);
        }
        for kind in connect_by {
            let words = match kind {
                ConnectByKind::ConnectBy { .. } => "CONNECT BY",
                ConnectByKind::StartWith { .. } => "START WITH",
            };
            self.clause(words, "");
        }
        self.group_by(group_by);
        if !cluster_by.is_empty() {
            self.clause("CLUSTER BY", "write ORDER BY");
        }
        if !distribute_by.is_empty() {
            self.clause("DISTRIBUTE BY", "");
        }
        if !sort_by.is_empty() {
            self.clause("SORT BY", "write ORDER BY");
        }
        if let Some(condition) = having {
            self.expr(condition);
        }
        if !named_window.is_empty() {
            self.clause("WINDOW", "write the window where it is used: `OVER (...)`");
        }
        if let Some(condition) = qualify {
            self.expr(condition);
        }
        if value_table_mode.is_some() {
            self.clause("AS", "");
        }
        match flavor {
            SelectFlavor::Standard => {}
            SelectFlavor::FromFirst | SelectFlavor::FromFirstNoSelect => {
                self.clause("FROM", "begin with SELECT");
            }
        }
    }

    fn item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, alias: _ } => {
                self.expr(expr);
            }
            SelectItem::ExprWithAliases { expr, aliases } => {
                let at = aliases.first().map_or(expr.span(), |alias| alias.span);
                let at = self.start(at);
                self.reject(at, "AS (...)", "give each column its own name");
            }
            SelectItem::QualifiedWildcard(kind, options) => {
                match kind {
                    SelectItemQualifiedWildcardKind::ObjectName(_) => {}
                    SelectItemQualifiedWildcardKind::Expr(expr) => {
                        let at = self.start(expr.span());
                        self.reject(at, ".*", "name the members");
                    }
                }
                self.wildcard(options);
            }
            SelectItem::Wildcard(options) => self.wildcard(options),
        }
    }

    fn wildcard(&mut self, options: &WildcardAdditionalOptions) {
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
            if opt_ilike.is_some() {
                inner.clause("ILIKE", "name the columns");
            }
            if opt_except.is_some() {
                inner.clause("EXCEPT", "write `* EXCLUDE (a, b)`");
            }
            if opt_rename.is_some() {
                inner.clause("RENAME", "name the columns: `a AS b`");
            }
            if opt_alias.is_some() {
                inner.clause("AS", "");
            }
            let excluded = match opt_exclude {
                None => &[],
                Some(ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
                Some(ExcludeSelectItem::Multiple(names)) => names.as_slice(),
            };
            if let Some(ReplaceSelectItem { items }) = opt_replace {
                inner.replace(items.iter().map(AsRef::as_ref), excluded);
            }
        });
    }

    /// Reports a column that is replaced twice, or both replaced and excluded, because one of the two would have no
    /// effect.
    fn replace<'a>(
        &mut self,
        items: impl Iterator<Item = &'a ReplaceSelectElement>,
        excluded: &[ObjectName],
    ) {
        let excluded = excluded.iter().filter_map(single);
        let mut gone: BTreeSet<&str> = excluded.map(|name| name.value.as_str()).collect();
        for item in items {
            let ReplaceSelectElement {
                expr,
                column_name,
                as_keyword: _,
            } = item;
            self.expr(expr);
            if !gone.insert(&column_name.value) {
                let message = format!("`{column_name}` is already excluded or replaced");
                self.report(
                    column_name.span.start,
                    message,
                    "exclude or replace each column only once",
                );
            }
        }
    }

    fn group_by(&mut self, group_by: &GroupByExpr) {
        let (exprs, modifiers) = match group_by {
            GroupByExpr::All(modifiers) => (&[][..], modifiers),
            GroupByExpr::Expressions(exprs, modifiers) => (exprs.as_slice(), modifiers),
        };
        for expr in exprs {
            self.expr(expr);
            if is_constant(expr) && !is_position(expr) {
                let at = self.start(expr.span());
                let message = format!("`GROUP BY {expr}` groups by a constant");
                self.report(at, message, NAME_A_COLUMN);
            }
        }
        for modifier in modifiers {
            let words = match modifier {
                GroupByWithModifier::Rollup => "WITH ROLLUP",
                GroupByWithModifier::Cube => "WITH CUBE",
                GroupByWithModifier::Totals => "WITH TOTALS",
                GroupByWithModifier::GroupingSets(_) => "GROUPING SETS",
            };
            self.clause(words, "write separate queries, joined by UNION ALL");
        }
    }

    fn order_by(&mut self, order_by: &OrderBy) {
        let OrderBy { kind, interpolate } = order_by;
        match kind {
            OrderByKind::All(_) => self.clause("ORDER BY ALL", "name the columns"),
            OrderByKind::Expressions(keys) => self.keys(keys, true),
        }
        if interpolate.is_some() {
            self.clause("INTERPOLATE", "");
        }
    }

    /// Checks the keys of an ORDER BY. If `positions` is true, a number is the position of a column.
    pub(super) fn keys(&mut self, keys: &[OrderByExpr], positions: bool) {
        for key in keys {
            let OrderByExpr {
                expr,
                options:
                    OrderByOptions {
                        asc: _,
                        nulls_first: _,
                    },
                with_fill,
            } = key;
            self.expr(expr);
            if is_constant(expr) && !(positions && is_position(expr)) {
                let at = self.start(expr.span());
                let message = format!("`ORDER BY {expr}` orders by a constant");
                self.report(at, message, NAME_A_COLUMN);
            }
            if with_fill.is_some() {
                self.clause("WITH FILL", "");
            }
        }
    }

    fn limit(&mut self, limit: &LimitClause) {
        match limit {
            LimitClause::LimitOffset {
                limit,
                offset,
                limit_by,
            } => {
                if let Some(limit) = limit {
                    self.expr(limit);
                }
                if let Some(Offset { value, rows }) = offset {
                    self.expr(value);
                    match rows {
                        OffsetRows::None | OffsetRows::Row | OffsetRows::Rows => {}
                    }
                }
                if !limit_by.is_empty() {
                    let help = "write `QUALIFY row_number() OVER (PARTITION BY a ORDER BY b) <= n`";
                    let first = limit_by.first().map(|expr| expr.span());
                    let at = first.map_or(self.at, |span| self.start(span));
                    self.reject(at, "LIMIT BY", help);
                }
            }
            LimitClause::OffsetCommaLimit { offset, limit } => {
                self.expr(offset);
                self.expr(limit);
            }
        }
    }
}

/// Returns whether the expression is a plain number, such as the column position in `ORDER BY 2`.
fn is_position(expr: &Expr) -> bool {
    let Expr::Value(value) = expr else {
        return false;
    };
    matches!(&value.value, Value::Number(digits, false) if digits.parse::<usize>().is_ok())
}

/// Returns the name if it has a single part, without dots.
pub(super) fn single(name: &ObjectName) -> Option<&Ident> {
    match name.0.as_slice() {
        [part] => part.as_ident(),
        _ => None,
    }
}
