//! Generates expressions.

use super::generate::{Env, Generator, Level};
use super::tree::{Aggregate, Binary, Call, Expr, Frame, Order, OrderBy, OrderKey, Unary, Window};
use crate::random::value::{Kind, Value};

pub const KINDS: [Kind; 4] = [Kind::Integer, Kind::Number, Kind::Text, Kind::Boolean];

/// Strings that a tokenizer can misread.
pub const TEXTS: [&str; 14] = [
    "a", "b", "B", "", "ab", "it's", "x\"y", "\\", "--", "''", "é", "\\'", "/* c", "a b",
];

/// Integers near the limits of 64 bits and of integers that doubles represent exactly.
pub const EDGES: [i64; 8] = [
    i64::MAX,
    i64::MIN,
    i64::MAX - 1,
    1 << 53,
    (1 << 53) + 1,
    0,
    1,
    -1,
];

impl Generator<'_> {
    pub fn kind(&mut self) -> Kind {
        KINDS[[0, 0, 1, 2, 3][self.below(5)]]
    }

    fn literal(&mut self, kind: Kind) -> Expr {
        if self.chance(4) {
            return Expr::Literal(Value::Missing);
        }
        Expr::Literal(match kind {
            Kind::Integer => Value::Integer(self.below(6) as i64),
            Kind::Number => Value::Number([0.0, -0.0, 0.5, 1.0, 2.25, -1.5][self.below(6)]),
            Kind::Text => Value::Text(TEXTS[self.below(TEXTS.len())].to_owned()),
            Kind::Boolean => Value::Boolean(self.chance(50)),
        })
    }

    /// Generates a column, a key or an aggregate. If none has this type, generates a literal.
    pub fn leaf(&mut self, kind: Kind, env: &Env) -> Expr {
        if self.chance(12) {
            return self.typed_literal(kind);
        }
        let level = env.own();
        if level.is_grouped {
            let keys = level.keys.iter().enumerate();
            let keys: Vec<_> = keys.filter(|(_, (_, found))| *found == kind).collect();
            if !keys.is_empty() && self.chance(50) {
                let (index, (key, _)) = keys[self.below(keys.len())];
                return Expr::Key(index, Box::new(key.clone()));
            }
            return self.aggregate(kind, env);
        }
        if level.has_windows && self.chance(45) {
            return self.window(kind, env);
        }
        if env.levels.len() > 1
            && self.chance(env.outer_percent)
            && let Some(column) = self.outer_column(kind, env)
        {
            return column;
        }
        self.column(kind, env)
            .unwrap_or_else(|| self.typed_literal(kind))
    }

    /// Generates a literal, but not NULL, because NULL has no type.
    fn typed_literal(&mut self, kind: Kind) -> Expr {
        loop {
            match self.literal(kind) {
                Expr::Literal(Value::Missing) => {}
                literal => return literal,
            }
        }
    }

    pub fn column(&mut self, kind: Kind, env: &Env) -> Option<Expr> {
        let columns = &env.own().columns;
        let fitting: Vec<_> = columns
            .iter()
            .filter(|column| column.kind == kind)
            .collect();
        // Values near the limits of 64 bits would let most sums overflow.
        let small: Vec<_> = fitting.iter().filter(|column| !column.is_edge).collect();
        if fitting.is_empty() {
            return None;
        }
        let column = match !small.is_empty() && !self.chance(8) {
            true => small[self.below(small.len())],
            false => fitting[self.below(fitting.len())],
        };
        let is_plain = column.is_unique && self.chance(25);
        Some(Expr::Column(column.reference(0, !is_plain)))
    }

    pub fn outer_column(&mut self, kind: Kind, env: &Env) -> Option<Expr> {
        let levels = env.levels.len();
        let level = match levels > 2 && self.chance(25) {
            true => 2,
            false => 1,
        };
        let outer = &env.levels[levels - 1 - level];
        let columns = outer.columns.iter().filter(|column| column.kind == kind);
        let fitting: Vec<_> = columns
            .filter(|column| outer.is_visible(column) && !column.is_edge)
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let column = fitting[self.below(fitting.len())];
        Some(Expr::Column(column.reference(level, true)))
    }

    pub fn expr(&mut self, kind: Kind, env: &Env, depth: usize) -> Expr {
        if depth == 0 {
            return self.leaf(kind, env);
        }
        match self.below(100) {
            0..25 => self.leaf(kind, env),
            25..31 => self.case(kind, env, depth),
            31..36 => {
                let items = (0..2).map(|_| self.expr(kind, env, depth - 1));
                Expr::Coalesce(items.collect())
            }
            36..39 => {
                let left = self.expr(kind, env, depth - 1);
                let right = self.expr(kind, env, depth - 1);
                Expr::binary(Binary::NullIf, left, right)
            }
            39..49 if self.may_nest(env) => {
                let scalar = self.scalar(kind, env);
                match self.chance(30) {
                    true => Expr::Coalesce(vec![scalar, self.typed_literal(kind)]),
                    false => scalar,
                }
            }
            _ => match kind {
                Kind::Integer => self.integer(env, depth - 1),
                Kind::Number => self.number(env, depth - 1),
                Kind::Text => self.text(env, depth - 1),
                Kind::Boolean => self.boolean(env, depth - 1),
            },
        }
    }

    fn case(&mut self, kind: Kind, env: &Env, depth: usize) -> Expr {
        let of = self.kind();
        let is_simple = self.chance(40);
        let operand = is_simple.then(|| Box::new(self.expr(of, env, depth - 1)));
        let branches = (0..1 + self.below(2)).map(|_| {
            let when = match is_simple {
                true => self.expr(of, env, 0),
                false => self.boolean(env, depth - 1),
            };
            (when, self.expr(kind, env, depth - 1))
        });
        let branches = branches.collect();
        let otherwise = self.chance(70);
        Expr::Case {
            operand,
            branches,
            otherwise: otherwise.then(|| Box::new(self.expr(kind, env, depth - 1))),
        }
    }

    fn integer(&mut self, env: &Env, depth: usize) -> Expr {
        let operator = match self.below(9) {
            0 => {
                let text = self.expr(Kind::Text, env, depth);
                return Expr::Unary(Unary::Length, Box::new(text));
            }
            1 | 2 => return self.negated(Kind::Integer, env, depth),
            3 | 4 => Binary::Add,
            5 => Binary::Subtract,
            6 => Binary::Multiply,
            7 => Binary::Divide,
            _ => Binary::Remainder,
        };
        let left = self.expr(Kind::Integer, env, depth);
        let divides = matches!(operator, Binary::Divide | Binary::Remainder);
        let right = match divides && self.chance(90) {
            true => Expr::Literal(Value::Integer(1 + self.below(4) as i64)),
            false => self.expr(Kind::Integer, env, 0),
        };
        // A constant zero is rejected when the query is planned.
        if divides && matches!(right, Expr::Literal(_)) {
            let right = Expr::Literal(Value::Integer(2));
            return Expr::Binary {
                operator,
                left: Box::new(left),
                right: Box::new(right),
                is_integer: true,
            };
        }
        Expr::Binary {
            operator,
            left: Box::new(left),
            right: Box::new(right),
            is_integer: true,
        }
    }

    fn negated(&mut self, kind: Kind, env: &Env, depth: usize) -> Expr {
        let mut expr = self.expr(kind, env, depth);
        for _ in 0..1 + self.below(3) {
            expr = Expr::Unary(Unary::Minus, Box::new(expr));
        }
        expr
    }

    fn number(&mut self, env: &Env, depth: usize) -> Expr {
        let operator = match self.below(6) {
            0 | 1 => return self.negated(Kind::Number, env, depth),
            2 | 3 => Binary::Add,
            4 => Binary::Multiply,
            _ => Binary::Divide,
        };
        let left = self.expr(Kind::Number, env, depth);
        Expr::binary(operator, left, self.expr(Kind::Number, env, depth))
    }

    fn text(&mut self, env: &Env, depth: usize) -> Expr {
        let text = self.expr(Kind::Text, env, depth);
        match self.below(3) {
            0 => Expr::Unary(Unary::Upper, Box::new(text)),
            1 => Expr::binary(Binary::Concat, text, self.expr(Kind::Text, env, depth)),
            _ => {
                let from = ["'", "\"", "\\", "a", "-", "''"][self.below(6)].to_owned();
                let from = Expr::Literal(Value::Text(from));
                let to = self.typed_literal(Kind::Text);
                Expr::Replace(Box::new(text), Box::new(from), Box::new(to))
            }
        }
    }

    pub fn boolean(&mut self, env: &Env, depth: usize) -> Expr {
        let kind = self.kind();
        let is_negated = self.chance(35);
        match self.below(22) {
            0..3 if depth > 0 => {
                let operator = if self.chance(50) {
                    Binary::And
                } else {
                    Binary::Or
                };
                let left = self.boolean(env, depth - 1);
                Expr::binary(operator, left, self.boolean(env, depth - 1))
            }
            3 | 4 if depth > 0 => Expr::Unary(Unary::Not, Box::new(self.boolean(env, depth - 1))),
            5 | 6 => {
                let unary = if is_negated {
                    Unary::IsNotNull
                } else {
                    Unary::IsNull
                };
                Expr::Unary(unary, Box::new(self.expr(kind, env, depth)))
            }
            7 => {
                let unary = if is_negated {
                    Unary::IsNotTrue
                } else {
                    Unary::IsTrue
                };
                Expr::Unary(unary, Box::new(self.boolean(env, depth.saturating_sub(1))))
            }
            8 => {
                let operator = match is_negated {
                    true => Binary::NotDistinct,
                    false => Binary::Distinct,
                };
                let left = self.expr(kind, env, depth);
                Expr::binary(operator, left, self.expr(kind, env, 0))
            }
            9 => Expr::In {
                value: Box::new(self.expr(kind, env, depth)),
                items: (0..1 + self.below(3))
                    .map(|_| self.typed_literal(kind))
                    .collect(),
                is_negated,
            },
            10 => {
                let kind = [Kind::Integer, Kind::Number, Kind::Text][self.below(3)];
                Expr::Between {
                    value: Box::new(self.expr(kind, env, depth)),
                    low: Box::new(self.expr(kind, env, 0)),
                    high: Box::new(self.typed_literal(kind)),
                    is_negated,
                }
            }
            11 | 12 if self.may_test(env) => {
                let query = self.membership(None, env);
                Expr::Exists(Box::new(query), is_negated)
            }
            13..16 if self.may_test(env) => Expr::InQuery {
                value: Box::new(self.expr(kind, env, 0)),
                query: Box::new(self.membership(Some(kind), env)),
                is_negated,
            },
            _ => {
                let operator = [
                    Binary::Equal,
                    Binary::Equal,
                    Binary::NotEqual,
                    Binary::Less,
                    Binary::LessOrEqual,
                    Binary::Greater,
                    Binary::GreaterOrEqual,
                ][self.below(7)];
                let mixes = self.chance(10);
                let (left, right) = match kind {
                    Kind::Integer if mixes => (Kind::Integer, Kind::Number),
                    Kind::Number if mixes => (Kind::Number, Kind::Integer),
                    kind => (kind, kind),
                };
                let left = self.expr(left, env, depth);
                Expr::binary(operator, left, self.expr(right, env, depth / 2))
            }
        }
    }

    /// Generates keys for an ORDER BY in an aggregate or a window.
    fn inner_keys(&mut self, env: &Env) -> Vec<OrderKey> {
        let keys = (0..1 + self.below(2)).filter_map(|_| {
            let kind = self.kind();
            let expr = self.column(kind, env)?;
            Some(self.key(OrderBy::Expr(expr)))
        });
        keys.collect()
    }

    pub fn key(&mut self, by: OrderBy) -> OrderKey {
        OrderKey {
            by,
            is_descending: self.chance(40),
            nulls_first: [None, None, Some(true), Some(false)][self.below(4)],
        }
    }

    fn aggregate(&mut self, kind: Kind, env: &Env) -> Expr {
        let inner = env.ungrouped();
        let can_order = inner.own().order != Order::Undefined;
        let mut calls = match kind {
            Kind::Integer => vec![
                Call::CountAll,
                Call::Count,
                Call::Count,
                Call::Sum,
                Call::Max,
            ],
            Kind::Number => vec![Call::Sum, Call::Average, Call::Min, Call::Max],
            Kind::Text => vec![Call::Min, Call::Max],
            Kind::Boolean => vec![Call::First],
        };
        if can_order {
            calls.extend([Call::First, Call::Last]);
            if kind == Kind::Text {
                calls.push(Call::Joined);
            }
        }
        let call = calls[self.below(calls.len())];
        let mut order_by = Vec::new();
        if matches!(call, Call::First | Call::Last | Call::Joined) {
            order_by = self.inner_keys(&inner);
            if order_by.is_empty() || !can_order {
                return self.typed_literal(kind);
            }
        }
        let of = if call == Call::Count {
            self.kind()
        } else {
            kind
        };
        let argument = (call != Call::CountAll).then(|| {
            let depth = usize::from(self.chance(30));
            self.expr(of, &inner, depth)
        });
        let is_distinct = matches!(call, Call::Count | Call::Sum | Call::Min) && self.chance(25);
        let filter = self.chance(15).then(|| self.boolean(&inner, 0));
        Expr::Aggregate(Box::new(Aggregate {
            call,
            argument,
            is_distinct,
            order_by,
            filter,
        }))
    }

    pub fn window(&mut self, kind: Kind, env: &Env) -> Expr {
        let inner = env.without_windows();
        let can_order = inner.own().order != Order::Undefined;
        let mut calls = match kind {
            Kind::Integer => vec![
                Call::Rank,
                Call::DenseRank,
                Call::Count,
                Call::Sum,
                Call::CountAll,
            ],
            Kind::Number => vec![Call::Sum, Call::Average, Call::Min, Call::Max],
            Kind::Text => vec![Call::Min, Call::Max],
            Kind::Boolean => Vec::new(),
        };
        if can_order {
            calls.extend([Call::First, Call::Last, Call::Lag, Call::Lead]);
            if kind == Kind::Integer {
                calls.extend([Call::RowNumber, Call::RowNumber]);
            }
        }
        if calls.is_empty() {
            return self
                .column(kind, &inner)
                .unwrap_or_else(|| self.typed_literal(kind));
        }
        let call = calls[self.below(calls.len())];
        let partition_by = match self.chance(55) {
            true => {
                let kind = self.kind();
                self.column(kind, &inner).into_iter().collect()
            }
            false => Vec::new(),
        };
        let order_by = match self.chance(75) {
            true => self.inner_keys(&inner),
            false => Vec::new(),
        };
        let without_argument = [Call::Rank, Call::DenseRank, Call::RowNumber, Call::CountAll];
        let of = if call == Call::Count {
            self.kind()
        } else {
            kind
        };
        let argument = (!without_argument.contains(&call)).then(|| {
            let depth = usize::from(self.chance(30));
            self.expr(of, &inner, depth)
        });
        let has_frame = !matches!(
            call,
            Call::Rank | Call::DenseRank | Call::RowNumber | Call::Lag | Call::Lead
        );
        let picks = matches!(call, Call::First | Call::Last);
        let frame = (has_frame && can_order && (picks || self.chance(50)))
            .then(|| self.frame(!picks && !order_by.is_empty()));
        Expr::Window(Box::new(Window {
            call,
            argument,
            partition_by,
            order_by,
            frame,
        }))
    }

    fn frame(&mut self, may_group: bool) -> Frame {
        let bounds: [(Option<i64>, Option<i64>); 6] = [
            (None, Some(0)),
            (Some(0), None),
            (Some(-1), Some(1)),
            (Some(-2), Some(-1)),
            (Some(0), Some(2)),
            (Some(1), Some(2)),
        ];
        let (start, end) = bounds[self.below(bounds.len())];
        Frame {
            is_groups: may_group && self.chance(35),
            start,
            end,
        }
    }
}

impl Level {
    /// Returns whether a subquery can use a column. Above GROUP BY, only keys can be used.
    fn is_visible(&self, column: &super::generate::ScopeColumn) -> bool {
        !self.is_grouped
            || self.keys.iter().any(|(key, _)| match key {
                Expr::Column(key) => key.level == 0 && key.place == column.place,
                _ => false,
            })
    }
}
