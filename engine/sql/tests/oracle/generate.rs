//! Generates queries clause by clause.

use std::collections::HashSet;

use super::database::Database;
use super::tree::{
    Binary, Body, ColumnRef, Expr, From, Item, Join, Order, OrderBy, OrderKey, OutputColumn, Query,
    Select, SetOperator, Source,
};
use crate::random::value::{Kind, Value};

/// A column that expressions can use.
#[derive(Debug, Clone)]
pub struct ScopeColumn {
    /// The alias of its table.
    pub alias: String,
    pub name: String,
    pub kind: Kind,
    /// The index of the column in the rows of FROM.
    pub place: usize,
    /// Whether no other column has this name, so that the name needs no alias.
    pub is_unique: bool,
    /// Whether the column contains integers near the limits of 64 bits.
    pub is_edge: bool,
}

impl ScopeColumn {
    pub fn reference(&self, level: usize, is_qualified: bool) -> ColumnRef {
        ColumnRef {
            alias: self.alias.clone(),
            name: self.name.clone(),
            is_qualified,
            level,
            place: self.place,
        }
    }
}

/// The columns of a SELECT that expressions can use.
#[derive(Debug, Clone)]
pub struct Level {
    pub columns: Vec<ScopeColumn>,
    /// The order of the rows of FROM. [`Order::Keys`] contains indices of `columns`.
    pub order: Order,
    /// Number of columns in the rows of FROM, including columns that expressions cannot use.
    pub width: usize,
    /// Whether expressions can use only keys of GROUP BY and aggregates.
    pub is_grouped: bool,
    /// The keys of GROUP BY.
    pub keys: Vec<(Expr, Kind)>,
    /// Whether expressions can contain window functions.
    pub has_windows: bool,
    /// Whether FROM contains a join with USING.
    pub has_using: bool,
}

/// The columns that an expression can use: of its SELECT (the last level) and of the outer queries.
#[derive(Debug, Clone)]
pub struct Env {
    pub levels: Vec<Level>,
    /// Percentage of columns that belong to an outer query.
    pub outer_percent: usize,
    pub has_subqueries: bool,
    /// Whether the expression is a condition of WHERE. Elsewhere, IN and EXISTS are rare.
    pub is_filter: bool,
}

impl Env {
    /// Returns the level of the SELECT that contains the expression.
    pub fn own(&self) -> &Level {
        self.levels.last().expect("a level")
    }

    /// Returns the environment of the arguments of an aggregate.
    pub fn ungrouped(&self) -> Env {
        let mut env = self.clone();
        let own = env.levels.last_mut().expect("a level");
        own.is_grouped = false;
        own.has_windows = false;
        env.has_subqueries = false;
        env.outer_percent = 0;
        env
    }

    pub fn without_windows(&self) -> Env {
        self.ungrouped()
    }

    fn nothing() -> Env {
        Env {
            levels: Vec::new(),
            outer_percent: 0,
            has_subqueries: true,
            is_filter: false,
        }
    }
}

pub struct Generator<'a> {
    state: u64,
    database: &'a Database,
    used_names: HashSet<String>,
    names: usize,
    subqueries: usize,
    parts: Vec<(String, Vec<OutputColumn>, Order)>,
}

/// Names that a tokenizer or printer can misread. No table has a column with one of these names.
const NAMES: [&str; 12] = [
    "--x", "x\"\"y", "x\"y", "isn't", "\\", "order", "from", "null", "a.b", "`b`", "é", "/* n",
];

impl<'a> Generator<'a> {
    pub fn new(seed: u64, database: &'a Database) -> Generator<'a> {
        Generator {
            state: seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1,
            database,
            used_names: HashSet::new(),
            names: 0,
            subqueries: 0,
            parts: Vec::new(),
        }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 20
    }

    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next()).expect("64 bits") % limit
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn name(&mut self, prefix: &str) -> String {
        if self.chance(15) {
            let name = NAMES[self.below(NAMES.len())];
            if self.used_names.insert(name.to_owned()) {
                return name.to_owned();
            }
        }
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Returns whether the expression can be IN or EXISTS with a subquery. Chosen at random.
    pub fn may_test(&mut self, env: &Env) -> bool {
        self.may_nest(env) && (env.is_filter || self.chance(8))
    }

    /// Returns whether the expression can contain a subquery.
    pub fn may_nest(&self, env: &Env) -> bool {
        env.has_subqueries && self.subqueries < 4 && env.levels.len() < 3
    }

    pub fn root(mut self) -> Query {
        let mut ctes = Vec::new();
        if self.chance(18) {
            for _ in 0..1 + self.below(2) {
                let may_sort = self.chance(50);
                let query = self.query(&Env::nothing(), 1, None, may_sort);
                let name = self.name("part");
                let part = (name.clone(), query.columns.clone(), query.order.clone());
                self.parts.push(part);
                ctes.push((name, query));
            }
        }
        let mut query = self.query(&Env::nothing(), 2, None, true);
        query.ctes = ctes;
        query
    }

    pub fn query(
        &mut self,
        env: &Env,
        depth: usize,
        wanted: Option<&[Kind]>,
        may_sort: bool,
    ) -> Query {
        let mut query = match depth > 0 && self.chance(14) {
            true => self.set(env, depth, wanted),
            false => self.select(env, depth, wanted, may_sort),
        };
        if matches!(query.body, Body::Set { .. }) && may_sort {
            self.sort(&mut query, None);
        }
        if query.order.is_defined() && self.chance(18) {
            query.limit = self.chance(90).then(|| self.below(5));
            query.offset = self.chance(40).then(|| self.below(3));
        }
        query
    }

    fn set(&mut self, env: &Env, depth: usize, wanted: Option<&[Kind]>) -> Query {
        let kinds = match wanted {
            Some(kinds) => kinds.to_vec(),
            None => (0..1 + self.below(2)).map(|_| self.kind()).collect(),
        };
        let operators = [
            SetOperator::UnionAll,
            SetOperator::UnionAll,
            SetOperator::Union,
            SetOperator::Except,
            SetOperator::Intersect,
        ];
        let operator = operators[self.below(operators.len())];
        let sorts = [self.chance(20), self.chance(20)];
        let left = self.query(env, depth - 1, Some(&kinds), sorts[0]);
        let right = self.query(env, depth - 1, Some(&kinds), sorts[1]);
        let is_ordered = left.order.is_defined() && right.order.is_defined();
        let order = match operator {
            SetOperator::UnionAll if is_ordered => Order::Defined,
            SetOperator::UnionAll => Order::Undefined,
            _ => Order::Keys((0..kinds.len()).collect()),
        };
        Query {
            ctes: Vec::new(),
            columns: left.columns.clone(),
            order_by: Vec::new(),
            limit: None,
            offset: None,
            unsorted: order.clone(),
            order,
            body: Body::Set {
                operator,
                left: Box::new(left),
                right: Box::new(right),
            },
        }
    }

    /// Adds an ORDER BY, if it is allowed. `keys` are keys of GROUP BY that ORDER BY must name.
    fn sort(&mut self, query: &mut Query, keys: Option<&[(Expr, Kind)]>) {
        let is_set = matches!(query.body, Body::Set { .. });
        let needed = match (&query.order, keys) {
            // A sort by all columns determines the order, because rows with equal keys are identical.
            (Order::Undefined, None) if is_set && self.chance(60) => {
                (0..query.columns.len()).collect()
            }
            (Order::Undefined, None) => return,
            (Order::Defined, _) if !self.chance(40) => return,
            (Order::Keys(_), _) if !self.chance(80) => return,
            (Order::Undefined, Some(_)) if !self.chance(80) => return,
            (Order::Keys(keys), _) => keys.clone(),
            _ => Vec::new(),
        };
        let mut order_by: Vec<OrderKey> = Vec::new();
        if let Some(keys) = keys {
            for (index, (key, _)) in keys.iter().enumerate() {
                let by = OrderBy::Expr(Expr::Key(index, Box::new(key.clone())));
                order_by.push(self.key(by));
            }
        } else {
            for place in needed {
                let by_position = self.chance(30);
                order_by.push(self.key(OrderBy::Output { place, by_position }));
            }
        }
        let width = query.columns.len();
        for _ in 0..usize::from(order_by.is_empty()) + usize::from(self.chance(30)) {
            let by = OrderBy::Output {
                place: self.below(width),
                by_position: self.chance(30),
            };
            let place = self.below(order_by.len() + 1);
            let key = self.key(by);
            order_by.insert(place, key);
        }
        query.order_by = order_by;
        query.order = Order::Defined;
    }

    fn select(
        &mut self,
        env: &Env,
        depth: usize,
        wanted: Option<&[Kind]>,
        may_sort: bool,
    ) -> Query {
        let (from, level) = self.from(env, depth);
        let mut env = env.clone();
        env.levels.push(level);
        env.is_filter = true;
        let filter = self.chance(45).then(|| self.boolean(&env, 2));
        env.is_filter = false;
        let mut select = Select {
            is_distinct: false,
            items: Vec::new(),
            from,
            filter,
            group_by: Vec::new(),
            is_grouped: false,
            having: None,
            qualify: None,
        };
        match self.below(20) {
            0..4 => self.group(select, env, wanted, may_sort),
            4 | 9 => {
                select.is_grouped = true;
                env.levels.last_mut().expect("a level").is_grouped = true;
                self.projected(select, env, wanted, may_sort)
            }
            5..9 => {
                env.levels.last_mut().expect("a level").has_windows = true;
                if self.chance(25) {
                    let window = self.window(Kind::Integer, &env);
                    let limit = Expr::Literal(Value::Integer(1 + self.below(3) as i64));
                    select.qualify = Some(Expr::binary(Binary::LessOrEqual, window, limit));
                }
                self.projected(select, env, wanted, may_sort)
            }
            10 => {
                select.is_distinct = true;
                self.projected(select, env, wanted, may_sort)
            }
            _ => self.projected(select, env, wanted, may_sort),
        }
    }

    fn group(
        &mut self,
        mut select: Select,
        mut env: Env,
        wanted: Option<&[Kind]>,
        may_sort: bool,
    ) -> Query {
        let plain = env.ungrouped();
        let mut keys: Vec<(Expr, Kind)> = Vec::new();
        for _ in 0..1 + self.below(2) {
            let kind = self.kind();
            let key = match self.chance(25) {
                true => self.expr(kind, &plain, 1),
                false => match self.column(kind, &plain) {
                    Some(column) => column,
                    None => continue,
                },
            };
            if has_column(&key) {
                keys.push((key, kind));
            }
        }
        if keys.is_empty() {
            return self.projected(select, env, wanted, may_sort);
        }
        let own = env.levels.last_mut().expect("a level");
        own.is_grouped = true;
        own.keys = keys.clone();
        select.is_grouped = true;
        select.group_by = keys.into_iter().map(|(key, _)| (key, None)).collect();
        select.having = self.chance(25).then(|| self.boolean(&env, 1));
        self.projected(select, env, wanted, may_sort)
    }

    fn projected(
        &mut self,
        mut select: Select,
        env: Env,
        wanted: Option<&[Kind]>,
        may_sort: bool,
    ) -> Query {
        let own = env.own().clone();
        let mut columns = Vec::new();
        let is_plain = !own.is_grouped && wanted.is_none();
        if is_plain && self.chance(22) {
            columns.extend(self.star(&mut select, &env));
        }
        let kinds = match wanted {
            Some(kinds) => kinds.to_vec(),
            None => {
                let least = usize::from(columns.is_empty());
                (0..least + self.below(3)).map(|_| self.kind()).collect()
            }
        };
        if own.is_grouped && wanted.is_none() {
            for (index, (key, kind)) in own.keys.iter().enumerate() {
                if !self.chance(85) {
                    continue;
                }
                let name = self.name("c");
                if self.chance(30) {
                    select.group_by[index].1 = Some(select.items.len());
                }
                let key = Expr::Key(index, Box::new(key.clone()));
                select.items.push(Item::Expr(key, name.clone()));
                columns.push(OutputColumn { name, kind: *kind });
            }
        }
        for kind in kinds {
            let expr = match self.chance(30) {
                true => self.leaf(kind, &env),
                false => self.expr(kind, &env, 2),
            };
            let name = self.name("c");
            select.items.push(Item::Expr(expr, name.clone()));
            columns.push(OutputColumn { name, kind });
        }
        let own = ungrouped_without_aggregate(&mut select, own);
        let order = select_order(&select, &own);
        let mut query = Query {
            ctes: Vec::new(),
            order_by: Vec::new(),
            limit: None,
            offset: None,
            columns,
            unsorted: order.clone(),
            order,
            body: Body::Select(Box::new(select)),
        };
        if may_sort {
            self.sort_select(&mut query, &own, &env);
        }
        query
    }

    fn sort_select(&mut self, query: &mut Query, own: &Level, env: &Env) {
        let Body::Select(select) = &query.body else {
            return;
        };
        let has_keys = !select.group_by.is_empty();
        let may_compute = !select.is_grouped && !select.is_distinct && select.qualify.is_none();
        if query.order == Order::Defined && may_compute && self.chance(12) {
            let kind = self.kind();
            let depth = 1 + usize::from(self.chance(50));
            let mut env = env.without_windows();
            env.has_subqueries = self.chance(40);
            // In ORDER BY, a name without a table would mean a column of the select list.
            for column in &mut env.levels.last_mut().expect("a level").columns {
                column.is_unique = false;
            }
            let expr = self.expr(kind, &env, depth);
            if !matches!(expr, Expr::Literal(_)) && has_column(&expr) {
                query.order_by = vec![self.key(OrderBy::Expr(expr))];
                query.order = Order::Defined;
                return;
            }
        }
        let keys = (has_keys && (query.order == Order::Undefined || self.chance(30)))
            .then_some(own.keys.as_slice());
        self.sort(query, keys);
    }

    /// Generates `*` or `a.*`, if its columns have different names.
    fn star(&mut self, select: &mut Select, env: &Env) -> Vec<OutputColumn> {
        let own = env.own();
        let aliases: HashSet<&str> = own.columns.iter().map(|column| &*column.alias).collect();
        let mut qualifier = None;
        let mut chosen = own.columns.clone();
        if (aliases.len() > 1 || self.chance(30)) && !chosen.is_empty() {
            let alias = own.columns[self.below(own.columns.len())].alias.clone();
            chosen.retain(|column| column.alias == alias);
            qualifier = Some(alias);
        }
        let names: HashSet<&str> = chosen.iter().map(|column| &*column.name).collect();
        if chosen.is_empty() || own.has_using || names.len() < chosen.len() {
            return Vec::new();
        }
        let mut excluded = Vec::new();
        if chosen.len() > 1 && self.chance(35) {
            excluded.push(chosen.remove(self.below(chosen.len())).name);
        }
        let replaced = match self.chance(30) {
            true => Some(self.below(chosen.len())),
            false => None,
        };
        let mut columns = Vec::new();
        let mut outputs = Vec::new();
        for (index, column) in chosen.iter().enumerate() {
            let is_replaced = replaced == Some(index);
            let expr = match is_replaced {
                true => self.expr(column.kind, &env.without_windows(), 1),
                false => Expr::Column(column.reference(0, true)),
            };
            columns.push((expr, column.name.clone(), is_replaced));
            outputs.push(OutputColumn {
                name: column.name.clone(),
                kind: column.kind,
            });
        }
        select.items.push(Item::Star {
            qualifier,
            excluded,
            columns,
        });
        outputs
    }

    fn from(&mut self, env: &Env, depth: usize) -> (Vec<From>, Level) {
        let (mut from, mut level) = self.source(env, depth);
        let mut before = Vec::new();
        for _ in 0..[0, 0, 0, 1, 1, 2][self.below(6)] {
            if self.chance(12) {
                let (other, right) = self.source(env, 0);
                join_levels(&mut level, right, Join::Cross);
                before.push(from);
                from = other;
            } else {
                let start = before.iter().map(From::width).sum();
                (from, level) = self.join(from, level, start, env);
            }
        }
        before.push(from);
        for index in 0..level.columns.len() {
            let name = &level.columns[index].name;
            let count = level.columns.iter().filter(|column| column.name == *name);
            level.columns[index].is_unique = count.count() == 1;
        }
        (before, level)
    }

    fn source(&mut self, env: &Env, depth: usize) -> (From, Level) {
        let alias = self.name("x");
        let (source, columns, order, edges) = if !self.parts.is_empty() && self.chance(55) {
            let index = self.below(self.parts.len());
            let (name, columns, order) = self.parts[index].clone();
            (Source::Part(name), columns, order, None)
        } else if depth > 0 && self.chance(28) {
            let mut inner = Env::nothing();
            inner.has_subqueries = env.has_subqueries;
            let may_sort = self.chance(50);
            let query = self.query(&inner, depth - 1, None, may_sort);
            let (columns, order) = (query.columns.clone(), query.order.clone());
            (Source::Query(Box::new(query)), columns, order, None)
        } else {
            let count = self.database.tables.len();
            // The last table is chosen rarely, because it is empty, and most queries over it return no rows.
            let index = match self.chance(6) {
                true => count - 1,
                false => self.below(count - 1),
            };
            let table = &self.database.tables[index];
            let columns = table.columns.iter().map(|(name, kind)| OutputColumn {
                name: name.clone(),
                kind: *kind,
            });
            let edges = Some(super::database::EDGE_COLUMN);
            (
                Source::Table(index),
                columns.collect(),
                Order::Defined,
                edges,
            )
        };
        let scope = columns.iter().enumerate();
        let scope = scope.map(|(place, column)| ScopeColumn {
            alias: alias.clone(),
            name: column.name.clone(),
            kind: column.kind,
            place,
            is_unique: true,
            is_edge: edges == Some(column.name.as_str()),
        });
        let level = Level {
            columns: scope.collect(),
            order,
            width: columns.len(),
            is_grouped: false,
            keys: Vec::new(),
            has_windows: false,
            has_using: false,
        };
        let width = columns.len();
        let from = From::Source {
            source,
            alias,
            width,
        };
        (from, level)
    }

    /// Joins a table of FROM with another table. The first column of `left` has the index `start`.
    fn join(&mut self, left: From, level: Level, start: usize, env: &Env) -> (From, Level) {
        let depth = usize::from(self.chance(20));
        let (right, right_level) = self.source(env, depth);
        let kinds = [
            Join::Inner,
            Join::Inner,
            Join::Inner,
            Join::Left,
            Join::Left,
            Join::Left,
            Join::Semi,
            Join::Anti,
            Join::Cross,
            Join::Right,
            Join::Full,
        ];
        let mut kind = kinds[self.below(kinds.len())];
        if matches!(kind, Join::Right | Join::Full) && self.chance(40) {
            kind = Join::Inner;
        }
        let left_columns: Vec<ScopeColumn> = level
            .columns
            .iter()
            .filter(|column| column.place >= start)
            .cloned()
            .collect();
        let mut joined = level.clone();
        let shift = joined.columns.len();
        join_levels(&mut joined, right_level, kind);
        let (left_side, right_side) = (left_columns, joined.columns[shift..].to_vec());
        let mut using = Vec::new();
        if matches!(kind, Join::Inner | Join::Left) && self.chance(15) && !joined.has_using {
            for column in &left_side {
                let same =
                    |other: &&ScopeColumn| other.name == column.name && other.kind == column.kind;
                let lefts = left_side.iter().filter(same).count();
                if let Some(other) = right_side.iter().find(same)
                    && lefts == 1
                {
                    using.push((column.name.clone(), column.place, other.place));
                }
            }
            using.truncate(1);
        }
        let on = (kind != Join::Cross && using.is_empty())
            .then(|| self.condition(&left_side, &right_side, &joined));
        if let Some((name, _, place)) = using.first() {
            joined.has_using = true;
            joined
                .columns
                .retain(|column| column.place != *place || column.name != *name);
        }
        if matches!(kind, Join::Semi | Join::Anti) {
            joined = level;
        }
        let join = From::Join {
            kind,
            left: Box::new(left),
            right: Box::new(right),
            on,
            using,
        };
        (join, joined)
    }

    fn condition(&mut self, left: &[ScopeColumn], right: &[ScopeColumn], joined: &Level) -> Expr {
        let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
        let pairs: Vec<_> = pairs
            .filter(|(a, b)| a.kind == b.kind && a.kind != Kind::Boolean)
            .collect();
        // ON cannot use the columns of tables before a comma.
        let mut level = joined.clone();
        level.columns = left.iter().chain(right).cloned().collect();
        for column in &mut level.columns {
            column.is_unique = false;
        }
        let env = Env {
            levels: vec![level],
            outer_percent: 0,
            has_subqueries: false,
            is_filter: false,
        };
        if pairs.is_empty() {
            return self.boolean(&env, 1);
        }
        let (a, b) = pairs[self.below(pairs.len())];
        let operator = match self.below(12) {
            0 => Binary::Less,
            1 => Binary::GreaterOrEqual,
            2 => Binary::NotDistinct,
            _ => Binary::Equal,
        };
        let (a, b) = (a.reference(0, true), b.reference(0, true));
        let (a, b) = (Expr::Column(a), Expr::Column(b));
        let equal = match self.chance(50) {
            true => Expr::binary(operator, a, b),
            false => Expr::binary(operator, b, a),
        };
        match self.chance(25) {
            true => equal.and(self.boolean(&env, 1)),
            false => equal,
        }
    }

    pub fn scalar(&mut self, kind: Kind, env: &Env) -> Expr {
        self.subqueries += 1;
        Expr::Scalar(Box::new(match self.below(10) {
            0..6 => {
                let mut query = self.subselect(env, Some(kind), true);
                self.limit_sometimes(&mut query);
                query
            }
            6 | 7 => {
                let mut query = self.subselect(env, Some(kind), false);
                let by = OrderBy::Output {
                    place: 0,
                    by_position: self.chance(20),
                };
                if query.order != Order::Undefined {
                    query.order_by = vec![self.key(by)];
                    query.order = Order::Defined;
                    query.limit = Some(1);
                }
                query
            }
            8 => self.subselect(env, Some(kind), false),
            _ => {
                let inner = self.inner(env);
                let mut query = self.query(&inner, 1, Some(&[kind]), true);
                if query.order.is_defined() {
                    query.limit = Some(1);
                }
                query
            }
        }))
    }

    /// Generates a subquery of IN, or of EXISTS if `kind` is `None`.
    pub fn membership(&mut self, kind: Option<Kind>, env: &Env) -> Query {
        self.subqueries += 1;
        if self.chance(20) {
            let kinds = [kind.unwrap_or(Kind::Integer)];
            let inner = self.inner(env);
            return self.query(&inner, 1, Some(&kinds), true);
        }
        let mut query = self.subselect(env, kind, false);
        self.limit_sometimes(&mut query);
        query
    }

    fn limit_sometimes(&mut self, query: &mut Query) {
        if query.order.is_defined() && self.chance(10) {
            query.limit = Some(self.below(3));
        }
    }

    /// Returns the columns that a subquery can use, rarely with columns of the outer query.
    fn inner(&mut self, env: &Env) -> Env {
        let mut inner = env.clone();
        inner.outer_percent = if self.chance(10) { 15 } else { 0 };
        inner.is_filter = false;
        let own = inner.levels.last_mut().expect("a level");
        own.has_windows = false;
        inner
    }

    /// Generates a SELECT whose filter often compares with a column of the outer query.
    fn subselect(&mut self, env: &Env, kind: Option<Kind>, is_aggregate: bool) -> Query {
        let mut inner = self.inner(env);
        inner.has_subqueries = env.has_subqueries && self.chance(30);
        let (from, level) = match self.chance(80) {
            true => {
                let (from, level) = self.source(env, 0);
                (vec![from], level)
            }
            false => self.from(&inner, 0),
        };
        let mut own = level.clone();
        inner.levels.push(level);
        let mut filter = None;
        if self.chance(65) {
            let kind = [Kind::Integer, Kind::Integer, Kind::Text, Kind::Number][self.below(4)];
            if let (Some(column), Some(outer)) =
                (self.column(kind, &inner), self.outer_column(kind, &inner))
            {
                let operator = match self.below(12) {
                    0 => Binary::Less,
                    1 => Binary::NotEqual,
                    2 => Binary::NotDistinct,
                    _ => Binary::Equal,
                };
                filter = Some(match self.chance(50) {
                    true => Expr::binary(operator, column, outer),
                    false => Expr::binary(operator, outer, column),
                });
            }
        }
        if self.chance(35) {
            inner.is_filter = true;
            let more = self.boolean(&inner, 1);
            inner.is_filter = false;
            filter = Some(match filter {
                Some(filter) => filter.and(more),
                None => more,
            });
        }
        inner.levels.last_mut().expect("a level").is_grouped = is_aggregate;
        own.is_grouped = is_aggregate;
        inner.outer_percent = if self.chance(10) { 30 } else { 0 };
        let wanted = kind.unwrap_or(Kind::Integer);
        let expr = match self.chance(70) {
            true => self.leaf(wanted, &inner),
            false => self.expr(wanted, &inner, 1),
        };
        let name = self.name("c");
        let mut select = Select {
            is_distinct: false,
            items: vec![Item::Expr(expr, name.clone())],
            from,
            filter,
            group_by: Vec::new(),
            is_grouped: is_aggregate,
            having: None,
            qualify: None,
        };
        let own = ungrouped_without_aggregate(&mut select, own);
        let order = select_order(&select, &own);
        Query {
            ctes: Vec::new(),
            order_by: Vec::new(),
            limit: None,
            offset: None,
            columns: vec![OutputColumn { name, kind: wanted }],
            unsorted: order.clone(),
            order,
            body: Body::Select(Box::new(select)),
        }
    }
}

/// Marks a SELECT as ungrouped if it has no GROUP BY and calls no aggregate.
fn ungrouped_without_aggregate(select: &mut Select, mut own: Level) -> Level {
    let mut has_aggregate = !select.group_by.is_empty();
    for expr in select.exprs().chain(&select.having) {
        expr.walk(&mut |inner| has_aggregate |= matches!(inner, Expr::Aggregate(_)));
    }
    select.is_grouped = has_aggregate;
    own.is_grouped = has_aggregate;
    own
}

fn has_column(expr: &Expr) -> bool {
    let mut found = false;
    expr.walk(&mut |inner| found |= matches!(inner, Expr::Column(column) if column.level == 0));
    found
}

/// Adds the columns of the right side of a join to `level`.
fn join_levels(level: &mut Level, right: Level, kind: Join) {
    let shift = level.width;
    level.width += right.width;
    let (left_order, right_order) = match kind {
        Join::Right => (&right.order, &level.order),
        _ => (&level.order, &right.order),
    };
    level.order = match (left_order, right_order) {
        (order, _) if matches!(kind, Join::Semi | Join::Anti) => order.clone(),
        (Order::Defined, Order::Defined | Order::Keys(_)) => Order::Defined,
        (Order::Keys(left), Order::Keys(right)) if !matches!(kind, Join::Right | Join::Full) => {
            let right = right.iter().map(|place| place + shift);
            Order::Keys(left.iter().copied().chain(right).collect())
        }
        _ => Order::Undefined,
    };
    let columns = right.columns.into_iter().map(|column| ScopeColumn {
        place: column.place + shift,
        ..column
    });
    level.columns.extend(columns);
}

/// Returns the documented order of the rows of a SELECT without ORDER BY.
fn select_order(select: &Select, own: &Level) -> Order {
    let items: Vec<&Expr> = select
        .items
        .iter()
        .flat_map(|item| match item {
            Item::Expr(expr, _) => vec![expr],
            Item::Star { columns, .. } => columns.iter().map(|(expr, _, _)| expr).collect(),
        })
        .collect();
    let places = |is_wanted: &dyn Fn(&Expr, usize) -> bool, wanted: &[usize]| {
        let place = |key: &usize| items.iter().position(|item| is_wanted(item, *key));
        let places: Option<Vec<usize>> = wanted.iter().map(place).collect();
        places.map_or(Order::Undefined, Order::Keys)
    };
    if select.is_distinct {
        return Order::Keys((0..items.len()).collect());
    }
    if select.is_grouped {
        if select.group_by.is_empty() {
            return Order::Defined;
        }
        let wanted: Vec<usize> = (0..select.group_by.len()).collect();
        return places(
            &|item, key| matches!(item, Expr::Key(index, _) if *index == key),
            &wanted,
        );
    }
    match &own.order {
        Order::Keys(keys) => places(
            &|item, key| matches!(item, Expr::Column(column) if column.level == 0 && column.place == key),
            keys,
        ),
        order => order.clone(),
    }
}
