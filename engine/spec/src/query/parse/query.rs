//! Parses queries, set operations, SELECT and its clauses, and FROM.

use std::collections::BTreeSet;

use super::super::fault::Fault;
use super::super::token::TokenKind;
use super::super::tree::{
    Alias, Body, Condition, Expr, ExprKind, From, Grouping, Item, Join, JoinKind, Name, Part,
    Position, QueryTree, Select, SetOperator, SortKey, Source, Wildcard,
};
use super::super::{RESERVED_ROW, is_row};
use super::{Parenthesized, Parsed, Parser, value_of};

/// The help for a sort or group key that is a constant.
const NAME_A_COLUMN: &str = "write a column name without quotes, or in double quotes: `\"b\"`";
const NO_CONDITION: &str = "this JOIN has no condition";

/// Words that can follow the first branch of a query.
const AFTER_BRANCH: &str = "UNION EXCEPT INTERSECT MINUS ORDER LIMIT OFFSET";

impl Parser<'_> {
    pub(super) fn query(&mut self) -> Parsed<QueryTree> {
        // A call of `columns` in a subquery repeats an item of the subquery, and not the item that contains the
        // subquery.
        let repetition = self.repetition.take();
        let query = self.nested(|inner| {
            let at = inner.at();
            let with = inner.maybe("WITH", |inner| {
                let is_name = inner.is_ahead(1, "AS") || inner.is_ahead(1, "(");
                if inner.is("RECURSIVE") && !is_name {
                    let help =
                        "use `unnest(range(0, n))` for numbers, and joins for everything else";
                    return Err(Fault::unsupported(inner.at(), "RECURSIVE", help));
                }
                inner.list(Self::part)
            })?;
            let first = inner.branch()?;
            inner.rest_of_query(with.unwrap_or_default(), first, at)
        });
        self.repetition = repetition;
        query
    }

    /// Returns whether a query begins inside the parentheses after the next `ahead` tokens.
    fn is_query_in_parentheses(&self, ahead: usize) -> bool {
        let opened = (ahead..).find(|ahead| !self.is_ahead(*ahead, "("));
        let first = opened.unwrap_or(ahead);
        ["SELECT", "WITH", "VALUES"]
            .iter()
            .any(|word| self.is_ahead(first, word))
    }

    /// Returns whether a query without parentheses begins here.
    pub(super) fn is_query(&self) -> bool {
        self.is_any("SELECT WITH VALUES")
    }

    /// Parses the set operations and clauses after the first branch of a query.
    pub(super) fn rest_of_query(
        &mut self,
        with: Vec<Part>,
        first: Body,
        at: Position,
    ) -> Parsed<QueryTree> {
        let body = self.operations(first, 0)?;
        let order_by = self.maybe("ORDER BY", |inner| inner.keys(true))?;
        let (mut limit, mut offset) = (None, None);
        loop {
            if limit.is_none() && self.take("LIMIT") {
                limit = Some(self.integer()?);
                if offset.is_none() && self.take(",") {
                    offset = limit.replace(self.integer()?);
                }
            } else if offset.is_none() && self.take("OFFSET") {
                offset = Some(self.integer()?);
                let _ = self.take("ROWS") || self.take("ROW");
            } else {
                break;
            }
        }
        let tree = QueryTree {
            with,
            body,
            order_by: order_by.unwrap_or_default(),
            limit,
            offset: offset.unwrap_or(0),
            at,
        };
        Ok(match (tree.is_plain(), tree.body) {
            // The parentheses are redundant.
            (true, Body::Query(inner)) => *inner,
            (_, body) => QueryTree { body, ..tree },
        })
    }

    /// Parses a part of WITH.
    fn part(&mut self) -> Parsed<Part> {
        let alias = Alias {
            name: self.name()?,
            columns: self.columns_of_alias()?,
        };
        self.expect("AS")?;
        self.expect("(")?;
        let query = self.query()?;
        self.expect(")")?;
        self.check_columns(&query, Some(&alias))?;
        Ok(Part { alias, query })
    }

    /// Parses an operand of a set operation: a SELECT, VALUES, or a query in parentheses.
    fn branch(&mut self) -> Parsed<Body> {
        let at = self.at();
        if self.take("SELECT") {
            return Ok(Body::Select(Box::new(self.select(at)?)));
        }
        if self.take("VALUES") {
            let row = |inner: &mut Self| {
                inner.expect("(")?;
                let row = inner.list(Self::expr)?;
                inner.expect(")")?;
                Ok(row)
            };
            return self.list(row).map(Body::Values);
        }
        if self.take("(") {
            return match self.parenthesized()? {
                Parenthesized::Query(query) => Ok(query.into_branch()),
                Parenthesized::Expr(_) => Err(not_a_select(at)),
            };
        }
        Err(match self.is("FROM") {
            true => Fault::unsupported(at, "FROM", "begin with SELECT"),
            false => match (self.token(0), self.token(1)) {
                (Some(name), Some(end))
                    if (name.kind, end.kind) == (TokenKind::Word, TokenKind::End) =>
                {
                    not_a_select(at).help(format!("begin the query with SELECT or WITH; for all rows of a table, write `SELECT * FROM {}`", name.text))
                }
                _ => not_a_select(at),
            },
        })
    }

    /// Parses the content of parentheses and the closing parenthesis.
    pub(super) fn parenthesized(&mut self) -> Parsed<Parenthesized> {
        let content = self.content()?;
        self.expect(")")?;
        Ok(content)
    }

    /// Parses the content of parentheses: a query or an expression.
    pub(super) fn content(&mut self) -> Parsed<Parenthesized> {
        let at = self.at();
        if self.is_query() {
            return self.query().map(Parenthesized::Query);
        }
        if !self.take("(") {
            return self.expr().map(Parenthesized::Expr);
        }
        let first = match self.nested(Self::parenthesized)? {
            Parenthesized::Query(query) if self.is_any(") ,") => {
                return Ok(Parenthesized::Query(query));
            }
            Parenthesized::Query(query) if self.is_any(AFTER_BRANCH) => {
                let query = self.rest_of_query(Vec::new(), query.into_branch(), at)?;
                return Ok(Parenthesized::Query(query));
            }
            Parenthesized::Query(query) => value_of(query),
            Parenthesized::Expr(first) => first.kind,
        };
        self.expr_after(first.at(at)).map(Parenthesized::Expr)
    }

    /// Parses the set operations after the branch `left`, up to the first one that does not bind more strongly than
    /// `min`.
    fn operations(&mut self, mut left: Body, min: u8) -> Parsed<Body> {
        let operators = [
            ("UNION", SetOperator::Union, 1),
            ("EXCEPT", SetOperator::Except, 1),
            ("INTERSECT", SetOperator::Intersect, 2),
        ];
        loop {
            let next = operators.into_iter().find(|(word, ..)| self.is(word));
            let Some((_, mut op, power)) = next.filter(|(.., power)| *power > min) else {
                return Ok(left);
            };
            // Rejects, for example, `EXCEPT ALL` and `UNION BY NAME`. After this, ALL can only follow UNION.
            self.reject_unsupported(2)?;
            self.next += 1;
            if self.take("ALL") {
                op = SetOperator::UnionAll;
            } else {
                self.take("DISTINCT");
            }
            self.reject_unsupported(2)?;
            let at = self.at();
            let right = self.branch()?;
            let right = self.operations(right, power)?;
            let is_union = matches!(op, SetOperator::Union | SetOperator::UnionAll);
            let parts = |body| match body {
                Body::Operation {
                    op: same, branches, ..
                } if same == op && is_union => branches,
                other => vec![other],
            };
            let mut branches = parts(left);
            branches.extend(parts(right));
            left = Body::Operation { op, branches, at };
        }
    }

    fn select(&mut self, at: Position) -> Parsed<Select> {
        self.reject_unsupported(2)?;
        let distinct = self.take("DISTINCT");
        // ALL is the default.
        let _ = !distinct && self.take("ALL");
        if self.is("FROM") || self.is_end() {
            return Err(Fault::new(
                "unsupported-sql",
                at,
                "this SELECT has no columns",
            ));
        }
        let mut items = Vec::new();
        self.list(|inner| match !items.is_empty() && inner.is("FROM") {
            // A comma before FROM has no effect.
            true => Ok(()),
            false => inner.item(&mut items),
        })?;
        let from = self.maybe("FROM", |inner| inner.list(Self::from))?;
        let filter = self.maybe("WHERE", Self::expr)?;
        let group_by = self.maybe("GROUP BY", Self::grouping)?;
        let having = self.maybe("HAVING", Self::expr)?;
        Ok(Select {
            distinct,
            items,
            from: from.unwrap_or_default(),
            filter,
            group_by: group_by.unwrap_or_default(),
            having,
            qualify: self.maybe("QUALIFY", Self::expr)?,
            at,
        })
    }

    /// Parses an item of a select list: a wildcard with EXCLUDE and REPLACE, or an expression.
    fn item(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let table = self
            .next_name(true)
            .filter(|_| self.is_ahead(1, ".") && self.is_ahead(2, "*"));
        if table.is_some() {
            self.next += 2;
        }
        let at = table.as_ref().map_or(self.at(), |table| table.at);
        if !self.take("*") {
            return self.columns(items);
        }
        let exclude = match self.take("EXCLUDE") {
            false => Vec::new(),
            true => match self.columns_of_list()? {
                Some(names) => names,
                None if self.is("(") => self.names()?,
                None => vec![self.name()?],
            },
        };
        let mut replace = Vec::new();
        if self.take("REPLACE (") {
            replace = self.list(|inner| {
                let expr = inner.expr()?;
                inner.take("AS");
                Ok((inner.name()?, expr))
            })?;
            self.expect(")")?;
        }
        if self.is("EXCEPT (") && !self.is_query_in_parentheses(1) {
            return Err(Fault::unsupported(
                self.at(),
                "EXCEPT",
                "write `* EXCLUDE (a, b)`",
            ));
        }
        let mut excluded_or_replaced: BTreeSet<&str> =
            exclude.iter().map(|name| name.text.as_str()).collect();
        for (name, _) in &replace {
            if !excluded_or_replaced.insert(&name.text) {
                let message = format!("`{name}` is already excluded or replaced");
                let help = "exclude or replace each column only once";
                return Err(Fault::new("unsupported-sql", name.at, message).help(help));
            }
        }
        items.push(Item::Wildcard(Wildcard {
            table,
            exclude,
            replace,
            at,
        }));
        Ok(())
    }

    fn grouping(&mut self) -> Parsed<Grouping> {
        if self.take("ALL") {
            return Ok(Grouping::All);
        }
        let keys = self.list(|inner| {
            let key = inner.expr()?;
            inner.check_key(&key, true, "GROUP BY", "groups")?;
            Ok(key)
        });
        keys.map(Grouping::Keys)
    }

    /// Parses the keys of an ORDER BY. With `positions`, a number is the position of a column.
    pub(super) fn keys(&mut self, positions: bool) -> Parsed<Vec<SortKey>> {
        self.list(|inner| {
            let expr = inner.expr()?;
            inner.check_key(&expr, positions, "ORDER BY", "orders")?;
            let descending = inner.take("DESC");
            let _ = !descending && inner.take("ASC");
            let nulls_first = match inner.take("NULLS FIRST") {
                true => true,
                false => !inner.take("NULLS LAST") && descending,
            };
            Ok(SortKey {
                expr,
                descending,
                nulls_first,
            })
        })
    }

    /// Rejects constants as sort or group keys. With `positions`, integers are valid. The message names the `clause` and its
    /// `effect` on the rows, for example `orders`.
    pub(super) fn check_key(
        &self,
        key: &Expr,
        positions: bool,
        clause: &str,
        effect: &str,
    ) -> Parsed<()> {
        let is_position = matches!(key.kind, ExprKind::Integer(0..));
        if !is_constant(key) || positions && is_position {
            return Ok(());
        }
        let message = format!("`{clause} {key}` {effect} by a constant");
        Err(Fault::new("unsupported-sql", key.at, message).help(NAME_A_COLUMN))
    }

    pub(super) fn integer(&mut self) -> Parsed<u64> {
        let token = self
            .token(0)
            .filter(|token| token.kind == TokenKind::Number);
        let number = token.and_then(|token| token.text.parse().ok());
        let number = number.ok_or_else(|| self.unexpected("an integer"))?;
        self.next += 1;
        Ok(number)
    }

    /// Parses an item of FROM with its joins.
    fn from(&mut self) -> Parsed<From> {
        let mut from = From {
            first: self.source()?,
            joins: Vec::new(),
        };
        while let Some(kind) = self.join_kind()? {
            let right = self.source()?;
            let at = right.at();
            let condition = match kind {
                JoinKind::Cross => Condition::None,
                _ if self.take("ON") => Condition::On(self.expr()?),
                _ if self.take("USING") => Condition::Using(self.names()?),
                _ => {
                    self.reject_unsupported(1)?;
                    let fault = Fault::new("unsupported-sql", at, NO_CONDITION);
                    return Err(fault.help("add ON or USING, or write CROSS JOIN"));
                }
            };
            from.joins.push(Join {
                kind,
                right,
                condition,
                at,
            });
        }
        Ok(from)
    }

    /// Parses the words of a join, such as LEFT JOIN. Returns `None` if no join follows.
    fn join_kind(&mut self) -> Parsed<Option<JoinKind>> {
        let kinds = [
            ("JOIN", JoinKind::Inner),
            ("INNER JOIN", JoinKind::Inner),
            ("LEFT JOIN", JoinKind::Left),
            ("LEFT OUTER JOIN", JoinKind::Left),
            ("LEFT SEMI JOIN", JoinKind::LeftSemi),
            ("LEFT ANTI JOIN", JoinKind::LeftAnti),
            ("RIGHT JOIN", JoinKind::Right),
            ("RIGHT OUTER JOIN", JoinKind::Right),
            ("RIGHT SEMI JOIN", JoinKind::RightSemi),
            ("RIGHT ANTI JOIN", JoinKind::RightAnti),
            ("FULL JOIN", JoinKind::Full),
            ("FULL OUTER JOIN", JoinKind::Full),
            ("CROSS JOIN", JoinKind::Cross),
        ];
        let found = kinds.into_iter().find(|(words, _)| self.take(words));
        match found {
            Some((_, kind)) => Ok(Some(kind)),
            None if self.is_any("INNER LEFT RIGHT FULL CROSS") => Err(self.unexpected("a join")),
            None => Ok(None),
        }
    }

    fn source(&mut self) -> Parsed<Source> {
        let at = self.at();
        if self.take("(") {
            if !self.is_query() && !self.is("(") {
                let help = "write a subquery: (SELECT ... FROM a JOIN b) AS c";
                return Err(Fault::unsupported(at, "(a JOIN b)", help));
            }
            let Parenthesized::Query(query) = self.parenthesized()? else {
                return Err(not_a_select(at));
            };
            let (query, alias) = (Box::new(query), self.alias()?);
            self.check_columns(&query, alias.as_ref())?;
            return Ok(Source::Query { query, alias, at });
        }
        if self.take("UNNEST (") {
            let lists = self.list(Self::expr)?;
            self.expect(")")?;
            let alias = self.alias()?;
            return Ok(Source::Unnest { lists, alias, at });
        }
        // The keyword ALL has no meaning here, so `all` may be the name of a table.
        let name = self
            .next_name(self.is("ALL"))
            .ok_or_else(|| self.unexpected("a table"))?;
        self.next += 1;
        if self.is(".") {
            return Err(Fault::unsupported(
                at,
                ".",
                "the name of a table cannot contain dots",
            ));
        }
        if self.is("(") {
            let what = format!("{name}(...) in FROM");
            let help = "the only table function is `unnest(list)`";
            return Err(Fault::unsupported(at, &what, help));
        }
        let alias = self.alias()?;
        Ok(Source::Table { name, alias })
    }

    fn alias(&mut self) -> Parsed<Option<Alias>> {
        let Some(name) = self.maybe_alias()? else {
            return Ok(None);
        };
        let columns = self.columns_of_alias()?;
        Ok(Some(Alias { name, columns }))
    }

    fn columns_of_alias(&mut self) -> Parsed<Vec<Name>> {
        if !self.is("(") {
            return Ok(Vec::new());
        }
        let names = self.names()?;
        names.iter().try_for_each(check_name)?;
        Ok(names)
    }

    /// Rejects computed columns of a subquery that have no name, because the outer query needs their names.
    fn check_columns(&self, query: &QueryTree, alias: Option<&Alias>) -> Parsed<()> {
        let is_named = alias.is_some_and(|alias| !alias.columns.is_empty());
        match query.unnamed().first() {
            Some(expr) if !is_named => {
                let message = format!("the computed column `{expr}` has no name");
                let fault = Fault::new("unsupported-sql", expr.at, message);
                Err(fault.help("write `... AS name`"))
            }
            _ => Ok(()),
        }
    }
}

/// Rejects a query that selects the hidden column without a new name.
pub(super) fn check_names(tree: &QueryTree) -> Parsed<()> {
    let select = tree.body.first_select();
    let mut items = select.iter().flat_map(|select| &select.items);
    items.try_for_each(|item| match item {
        Item::Expr { expr, name: None } => match &expr.kind {
            ExprKind::Column { name, .. } => {
                check_name(name).map_err(|fault| fault.help("rename it: `_row AS position`"))
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    })
}

pub(super) fn check_name(name: &Name) -> Parsed<()> {
    match is_row(&name.text) {
        true => Err(Fault::new("reserved-column", name.at, RESERVED_ROW)),
        false => Ok(()),
    }
}

fn not_a_select(at: Position) -> Fault {
    let fault = Fault::new("not-a-select", at, "the query is not a SELECT");
    fault.help("begin the query with SELECT or WITH")
}

fn is_constant(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Null
        | ExprKind::Boolean(_)
        | ExprKind::Integer(_)
        | ExprKind::Double(_)
        | ExprKind::Text(_) => true,
        ExprKind::Cast { expr, .. } => is_constant(expr),
        ExprKind::Operation { operands, .. } => operands.iter().all(is_constant),
        _ => false,
    }
}

impl QueryTree {
    fn is_plain(&self) -> bool {
        self.with.is_empty() && self.order_by.is_empty() && self.limit.is_none() && self.offset == 0
    }

    /// Converts the query to an operand of a set operation.
    fn into_branch(self) -> Body {
        match self.is_plain() {
            true => self.body,
            false => Body::Query(Box::new(self)),
        }
    }
}
