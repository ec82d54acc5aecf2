//! Generates random trees that contain every kind of node.

use prep_spec::query::tree::*;

/// Keywords, and other names that have a special meaning in some part of a query.
const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "ANTI",
    "ANY",
    "ARRAY",
    "AS",
    "ASC",
    "AT",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COLLATE",
    "COLUMNS",
    "CONSTANTS",
    "CROSS",
    "CUBE",
    "CURRENT",
    "DATE",
    "DESC",
    "DISTINCT",
    "DIV",
    "ELSE",
    "END",
    "ESCAPE",
    "EXCEPT",
    "EXCLUDE",
    "EXISTS",
    "EXTRACT",
    "FALSE",
    "FETCH",
    "FILTER",
    "FIRST",
    "FOR",
    "FORMAT",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "IGNORE",
    "ILIKE",
    "IN",
    "INNER",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS",
    "JOIN",
    "LATERAL",
    "LEFT",
    "LIKE",
    "LIMIT",
    "MAP",
    "MINUS",
    "NATURAL",
    "NOT",
    "NULL",
    "NULLS",
    "OFFSET",
    "ON",
    "ONE_HOT",
    "OR",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "PIVOT",
    "POSITION",
    "QUALIFY",
    "RANGE",
    "RECURSIVE",
    "REPLACE",
    "RIGHT",
    "ROLLUP",
    "ROW",
    "ROWS",
    "SAMPLE",
    "SELECT",
    "SEMI",
    "SOME",
    "START",
    "STRUCT",
    "TABLE",
    "TABLESAMPLE",
    "THEN",
    "TIMESTAMP",
    "TOP",
    "TRUE",
    "TRY_CAST",
    "UNION",
    "UNKNOWN",
    "UNNEST",
    "USING",
    "VALUES",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
    "WITHIN",
    "XOR",
];

/// Parts of random names and string literals.
const FRAGMENTS: &[&str] = &[
    "a", "B", "z1", "_", "'", "''", "\"", "\"\"", "\\", "\\'", "\n", " ", "--", "/*", "*/", ";",
    ".", "`", "$", "%", "(", "ü", "e\u{301}", "🦀", "0", "SELECT", "E'",
];

/// Functions with a special syntax, functions that are keywords, and names that only look like functions.
const FUNCTIONS: &[&str] = &[
    "abs",
    "btrim",
    "ceil",
    "floor",
    "left",
    "ltrim",
    "make_array",
    "overlay",
    "right",
    "strpos",
    "substr",
    "string_agg",
    "sum",
    "count",
    "row_number",
    "cast",
    "exists",
    "case",
    "columns",
    "date",
    "interval",
    "not",
    "x y",
    "q\"r",
    "array",
    "extract",
    "convert",
    "position_of",
    "unnest",
    "values",
    "rollup",
    "cube",
    "grouping",
    "grouping sets",
    "map",
    "struct_of",
    "if",
    "try_cast",
    "any",
    "all",
    "some",
];

pub struct Generator(pub u64);

impl Generator {
    /// Returns a random number below `limit` (SplitMix64).
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn choose<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len() as u64) as usize]
    }

    /// Returns the value of `make` with a probability of `percent`, otherwise `None`.
    fn some<T>(&mut self, percent: u64, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.chance(percent).then(|| make(self))
    }

    fn several<T>(&mut self, least: u64, most: u64, make: impl Fn(&mut Self) -> T) -> Vec<T> {
        let number = least + self.below(most - least + 1);
        (0..number).map(|_| make(self)).collect()
    }

    fn text(&mut self) -> String {
        self.several(0, 4, |random| *random.choose(FRAGMENTS))
            .concat()
    }

    pub fn name(&mut self) -> Name {
        let text = match self.below(4) {
            0 => (*self.choose::<&str>(KEYWORDS)).to_owned(),
            1 => self.choose::<&str>(KEYWORDS).to_lowercase(),
            2 => self.text(),
            _ => (*self.choose(&["a", "b", "t", "u", "Id", "x_1", "été"])).to_owned(),
        };
        name(&text)
    }

    fn names(&mut self, least: u64, most: u64) -> Vec<Name> {
        let mut names = self.several(least, most, Self::name);
        names.sort_by(|a, b| a.text.cmp(&b.text));
        names.dedup();
        names
    }

    pub fn query(&mut self, depth: u64, is_named: bool) -> QueryTree {
        let with = match depth {
            0 => Vec::new(),
            _ => self.several(0, 1, |random| Part {
                alias: random.alias(),
                query: random.query(depth - 1, true),
            }),
        };
        let mut query = QueryTree {
            body: self.body(depth, is_named),
            with,
            order_by: match self.chance(40) {
                true => self.several(1, 2, |random| random.key(depth, true)),
                false => Vec::new(),
            },
            limit: self.some(20, |random| *random.choose(&[0, 1, 12, u64::MAX])),
            offset: self.some(20, |random| random.below(3)).unwrap_or(0),
            at: Position::default(),
        };
        if let Body::Query(_) = query.body
            && query.with.is_empty()
            && query.order_by.is_empty()
        {
            query.limit = Some(3);
        }
        query
    }

    fn body(&mut self, depth: u64, is_named: bool) -> Body {
        let choice = if depth == 0 { 0 } else { self.below(10) };
        let at = Position::default();
        match choice {
            5 => Body::Values(self.several(1, 2, |random| {
                random.several(1, 2, |random| random.expr(depth - 1))
            })),
            6 => {
                let mut query = self.query(depth - 1, is_named);
                if query.with.is_empty() && query.order_by.is_empty() && query.limit.is_none() {
                    query.limit = Some(1);
                }
                Body::Query(Box::new(query))
            }
            7 => {
                let op = *self.choose(&[SetOperator::Union, SetOperator::UnionAll]);
                let branches = self.several(2, 4, |random| random.body(depth - 1, is_named));
                let flat = branches.into_iter().flat_map(|branch| match branch {
                    Body::Operation {
                        op: same, branches, ..
                    } if same == op => branches,
                    branch => vec![branch],
                });
                let branches = flat.collect();
                Body::Operation { op, branches, at }
            }
            8 | 9 => Body::Operation {
                op: *self.choose(&[SetOperator::Except, SetOperator::Intersect]),
                branches: self.several(2, 2, |random| random.body(depth - 1, is_named)),
                at,
            },
            _ => self.select(depth, is_named),
        }
    }

    fn select(&mut self, depth: u64, is_named: bool) -> Body {
        let inner = depth.saturating_sub(1);
        let from = self.several(0, 2, |random| From {
            first: random.source(inner),
            joins: random.several(0, 1, |random| random.join(inner)),
        });
        Body::Select(Box::new(Select {
            qualify: self.some(15, |random| random.expr(inner)),
            from,
            distinct: self.chance(20),
            items: self.several(1, 3, |random| random.item(depth, is_named)),
            filter: self.some(30, |random| random.expr(depth)),
            group_by: match self.below(4) {
                0 => Grouping::All,
                1 => Grouping::Keys(self.several(1, 2, |random| random.key_expr(depth, true))),
                _ => Grouping::None,
            },
            having: self.some(15, |random| random.expr(inner)),
            at: Position::default(),
        }))
    }

    fn item(&mut self, depth: u64, is_named: bool) -> Item {
        if self.chance(20) {
            let exclude = self.names(0, 2);
            let replaced = self.names(0, 1);
            let replaced = replaced.into_iter().filter(|name| !exclude.contains(name));
            let replace = replaced.map(|name| (name, self.expr(depth))).collect();
            return Item::Wildcard(Wildcard {
                table: self.some(40, Self::name),
                exclude,
                replace,
                at: Position::default(),
            });
        }
        let expr = self.expr(depth);
        let needs_name = is_named && !matches!(expr.kind, ExprKind::Column { .. });
        let name = match needs_name || self.chance(60) {
            true => Some(self.name()),
            false => None,
        };
        Item::Expr { expr, name }
    }

    fn alias(&mut self) -> Alias {
        Alias {
            name: self.name(),
            columns: self.names(0, 2),
        }
    }

    fn source(&mut self, depth: u64) -> Source {
        let alias = self.some(60, Self::alias);
        let at = Position::default();
        match self.below(4) {
            0 if depth > 0 => Source::Query {
                query: Box::new(self.query(depth - 1, true)),
                alias,
                at,
            },
            1 => Source::Unnest {
                lists: self.several(1, 2, |random| random.expr(depth)),
                alias,
                at,
            },
            _ => Source::Table {
                name: self.name(),
                alias,
            },
        }
    }

    fn join(&mut self, depth: u64) -> Join {
        let kind = *self.choose(&[
            JoinKind::Inner,
            JoinKind::Left,
            JoinKind::Right,
            JoinKind::Full,
            JoinKind::LeftSemi,
            JoinKind::RightSemi,
            JoinKind::LeftAnti,
            JoinKind::RightAnti,
            JoinKind::Cross,
        ]);
        let condition = match kind {
            JoinKind::Cross => Condition::None,
            _ if self.chance(30) => Condition::Using(self.names(1, 2)),
            _ => Condition::On(self.expr(depth)),
        };
        Join {
            kind,
            right: self.source(depth),
            condition,
            at: Position::default(),
        }
    }

    fn key(&mut self, depth: u64, positions: bool) -> SortKey {
        SortKey {
            expr: self.key_expr(depth, positions),
            descending: self.chance(50),
            nulls_first: self.chance(50),
        }
    }

    /// Returns an expression that is not constant or, with `positions`, perhaps the position of a column.
    fn key_expr(&mut self, depth: u64, positions: bool) -> Expr {
        if positions && self.chance(20) {
            return expr(ExprKind::Integer(self.below(3) as i64));
        }
        let left = self.expr(depth.saturating_sub(1));
        match self.chance(50) {
            true => self.column(),
            false => expr(ExprKind::Operation {
                op: self.operator(),
                operands: vec![left, self.column()],
            }),
        }
    }

    fn boxed(&mut self, depth: u64) -> Box<Expr> {
        Box::new(self.expr(depth))
    }

    fn column(&mut self) -> Expr {
        expr(ExprKind::Column {
            table: self.some(30, Self::name),
            name: self.name(),
        })
    }

    fn operator(&mut self) -> Operator {
        use Operator as Op;
        *self.choose(&[
            Op::Add,
            Op::Subtract,
            Op::Multiply,
            Op::Divide,
            Op::Remainder,
            Op::Equal,
            Op::NotEqual,
            Op::Less,
            Op::LessOrEqual,
            Op::Greater,
            Op::GreaterOrEqual,
            Op::And,
            Op::Or,
            Op::Join,
            Op::BitAnd,
            Op::BitOr,
            Op::ShiftLeft,
            Op::ShiftRight,
            Op::Matches,
            Op::MatchesAnyCase,
            Op::IsDistinct,
            Op::Like,
            Op::Ilike,
        ])
    }

    fn literal(&mut self) -> Expr {
        expr(match self.below(6) {
            0 => ExprKind::Null,
            1 => ExprKind::Boolean(self.chance(50)),
            2 => ExprKind::Integer(*self.choose(&[0, 1, -1, 42, i64::MAX, i64::MIN])),
            3 => {
                ExprKind::Double(*self.choose(&[0.0, 0.5, -1.5, 1e20, 1e16, -1e-7, 0.1, f64::MAX]))
            }
            _ => ExprKind::Text(self.text()),
        })
    }

    pub fn expr(&mut self, depth: u64) -> Expr {
        if depth == 0 {
            return match self.chance(50) {
                true => self.literal(),
                false => self.column(),
            };
        }
        let depth = depth - 1;
        let is_query = depth > 0;
        expr(match self.below(18) {
            0 | 7 => operation(Operator::Not, [self.expr(depth)]),
            1 | 2 => match self.expr(depth) {
                // A minus sign before a number is part of the number, and not an operator.
                Expr {
                    kind: ExprKind::Integer(0..),
                    ..
                } => ExprKind::Integer(-3),
                Expr {
                    kind: ExprKind::Double(number),
                    ..
                } if number > 0.0 => ExprKind::Double(-number),
                operand => operation(Operator::Negate, [operand]),
            },
            3..7 => {
                let operands = [self.expr(depth), self.expr(depth)];
                operation(self.operator(), operands)
            }
            8 => {
                let tests = [
                    Operator::IsNull,
                    Operator::IsTrue,
                    Operator::IsFalse,
                    Operator::IsUnknown,
                ];
                operation(*self.choose(&tests), [self.expr(depth)])
            }
            9 => {
                let mut operands = self.several(2, 4, |random| random.expr(depth));
                // A single subquery would be parsed as `IN (SELECT ...)`, so the last element is a literal.
                operands.push(self.literal());
                operation(Operator::In, operands)
            }
            10 if is_query => self.subquery(SubqueryKind::Value, depth),
            11 if is_query => self.subquery(SubqueryKind::Exists, depth),
            12 if is_query => {
                let operand = self.boxed(depth);
                self.subquery(SubqueryKind::In(operand), depth)
            }
            13 => ExprKind::Cast {
                expr: self.boxed(depth),
                to: *self.choose(&[
                    CastType::Boolean,
                    CastType::BigInt,
                    CastType::Double,
                    CastType::Varchar,
                    CastType::Date,
                    CastType::Timestamp,
                ]),
                is_try: self.chance(50),
            },
            14 => ExprKind::Case {
                branches: self.several(1, 2, |random| (random.expr(depth), random.expr(depth))),
                otherwise: self.some(50, |random| random.boxed(depth)),
            },
            _ => ExprKind::Call(Box::new(self.call(depth))),
        })
    }

    fn subquery(&mut self, kind: SubqueryKind, depth: u64) -> ExprKind {
        let query = Box::new(self.query(depth - 1, false));
        ExprKind::Subquery { kind, query }
    }

    fn call(&mut self, depth: u64) -> Call {
        let star = self.chance(10);
        let args = match star {
            true => Vec::new(),
            false => self.several(0, 3, |random| random.expr(depth)),
        };
        let within_group = self.chance(10);
        let has_keys = within_group || (!args.is_empty() && self.chance(20));
        Call {
            name: {
                let choice: &&str = self.choose(FUNCTIONS);
                name(choice)
            },
            distinct: !args.is_empty() && self.chance(20),
            args,
            star,
            order_by: match has_keys {
                true => self.several(1, 2, |random| random.key(depth, false)),
                false => Vec::new(),
            },
            within_group,
            filter: self.some(15, |random| random.expr(depth)),
            ignores_nulls: self.chance(10),
            over: self.some(25, |random| random.window(depth)),
        }
    }

    fn window(&mut self, depth: u64) -> Window {
        let bounds = [
            FrameBound::Preceding(None),
            FrameBound::Preceding(Some(3)),
            FrameBound::Preceding(Some(0)),
            FrameBound::CurrentRow,
            FrameBound::Following(Some(2)),
            FrameBound::Following(Some(u64::MAX)),
            FrameBound::Following(None),
        ];
        let start = self.below(6) as usize;
        let end = start.max(1) + self.below(7 - start.max(1) as u64) as usize;
        Window {
            partition_by: self.several(0, 2, |random| random.key_expr(depth, false)),
            order_by: self.several(0, 2, |random| random.key(depth, false)),
            frame: self.some(50, |random| Frame {
                units: *random.choose(&[FrameUnits::Rows, FrameUnits::Range, FrameUnits::Groups]),
                start: bounds[start],
                end: bounds[end],
            }),
        }
    }
}

fn expr(kind: ExprKind) -> Expr {
    let at = Position::default();
    Expr { kind, at }
}

fn operation(op: Operator, operands: impl Into<Vec<Expr>>) -> ExprKind {
    let operands = operands.into();
    ExprKind::Operation { op, operands }
}

fn name(text: &str) -> Name {
    Name {
        text: text.to_owned(),
        at: Position::default(),
    }
}
