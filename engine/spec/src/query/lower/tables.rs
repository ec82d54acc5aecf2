//! Converts FROM: tables, subqueries and joins.

use sqlparser::ast::{
    Join as AstJoin, JoinConstraint, JoinOperator, ObjectName, Spanned as _, TableAlias,
    TableAliasColumnDef, TableFactor, TableWithJoins,
};

use super::super::tree::{
    Alias, Condition, From, Join, JoinKind, Name, Position, QueryTree, Source,
};
use super::{Lowering, single};

const ONLY_UNNEST: &str = "the only table function is `unnest(list)`";
const NO_LATERAL: &str = "write a join, or `CROSS JOIN unnest(list) AS u(x)`";

impl Lowering<'_> {
    pub(super) fn from(&mut self, table: &TableWithJoins) -> From {
        let TableWithJoins { relation, joins } = table;
        From {
            first: self.source(relation),
            joins: joins.iter().map(|join| self.join(join)).collect(),
        }
    }

    fn join(&mut self, join: &AstJoin) -> Join {
        let AstJoin {
            relation,
            global,
            join_operator,
        } = join;
        let right = self.source(relation);
        if *global {
            self.clause("GLOBAL", "");
        }
        let at = right.at();
        let (kind, condition) = match self.join_kind(join_operator, at) {
            Some((kind, constraint)) => (kind, self.condition(constraint, at)),
            None => (JoinKind::Cross, Condition::None),
        };
        Join {
            kind,
            right,
            condition,
            at,
        }
    }

    fn join_kind<'j>(
        &mut self,
        operator: &'j JoinOperator,
        at: Position,
    ) -> Option<(JoinKind, &'j JoinConstraint)> {
        let (words, help) = match operator {
            JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => {
                return Some((JoinKind::Inner, constraint));
            }
            JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => {
                return Some((JoinKind::Left, constraint));
            }
            JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => {
                return Some((JoinKind::Right, constraint));
            }
            JoinOperator::FullOuter(constraint) => return Some((JoinKind::Full, constraint)),
            JoinOperator::LeftSemi(constraint) => return Some((JoinKind::LeftSemi, constraint)),
            JoinOperator::RightSemi(constraint) => return Some((JoinKind::RightSemi, constraint)),
            JoinOperator::LeftAnti(constraint) => return Some((JoinKind::LeftAnti, constraint)),
            JoinOperator::RightAnti(constraint) => return Some((JoinKind::RightAnti, constraint)),
            JoinOperator::CrossJoin(JoinConstraint::None) => return None,
            JoinOperator::CrossJoin(_) => {
                self.reject(at, "CROSS JOIN ... ON", "write JOIN");
                return None;
            }
            JoinOperator::Semi(_) => ("SEMI JOIN", "write LEFT SEMI JOIN"),
            JoinOperator::Anti(_) => ("ANTI JOIN", "write LEFT ANTI JOIN"),
            JoinOperator::CrossApply => ("CROSS APPLY", NO_LATERAL),
            JoinOperator::OuterApply => ("OUTER APPLY", NO_LATERAL),
            JoinOperator::AsOf { .. } => ("ASOF JOIN", ""),
            JoinOperator::StraightJoin(_) => ("STRAIGHT_JOIN", "write JOIN"),
            JoinOperator::ArrayJoin
            | JoinOperator::LeftArrayJoin
            | JoinOperator::InnerArrayJoin => {
                ("ARRAY JOIN", "write `CROSS JOIN unnest(list) AS u(x)`")
            }
        };
        self.clause(words, help);
        None
    }

    fn condition(&mut self, constraint: &JoinConstraint, at: Position) -> Condition {
        match constraint {
            JoinConstraint::On(condition) => return Condition::On(self.expr(condition)),
            JoinConstraint::Using(names) => {
                let names = names.iter().filter_map(|name| self.plain_name(name, "USING"));
                return Condition::Using(names.collect());
            }
            JoinConstraint::Natural => self.clause(
                "NATURAL",
                "every table has the hidden column `_row`, which would also be compared; write USING",
            ),
            JoinConstraint::None => {
                let message = "this JOIN has no condition".to_owned();
                self.report(at, message, "add ON or USING, or write CROSS JOIN");
            }
        }
        Condition::None
    }

    /// Returns the name of a column in `clause`, or reports that it has a table.
    pub(super) fn plain_name(&mut self, name: &ObjectName, clause: &str) -> Option<Name> {
        if let Some(name) = single(name) {
            return Some(self.name(name));
        }
        let help = format!("in {clause}, write column names without a table");
        self.reject(self.start(name.span()), &name.to_string(), &help);
        None
    }

    fn source(&mut self, factor: &TableFactor) -> Source {
        self.inside(factor.span(), |inner| inner.source_inside(factor))
    }

    fn source_inside(&mut self, factor: &TableFactor) -> Source {
        let rejected = Source::Table {
            name: Name {
                text: String::new(),
                at: self.at,
            },
            alias: None,
        };
        match factor {
            TableFactor::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                if args.is_some() {
                    self.reject(self.at, &format!("{name}(...) in FROM"), ONLY_UNNEST);
                } else if single(name).is_none() {
                    let help = "the name of a table has no dots";
                    self.reject(self.at, &name.to_string(), help);
                }
                if !with_hints.is_empty() {
                    self.clause("WITH", "");
                }
                if version.is_some() {
                    self.clause("FOR", "remove it: a table has only one version");
                }
                self.check_ordinality(*with_ordinality);
                if !partitions.is_empty() {
                    self.clause("PARTITION", "write a condition in WHERE");
                }
                if json_path.is_some() {
                    self.reject(self.at, "a path into a table", "");
                }
                self.check_sample(sample.is_some());
                if let Some(hint) = index_hints.first() {
                    let first = hint.to_string();
                    let first = first.split_whitespace().next().unwrap_or("INDEX");
                    let help = "remove it: the engine chooses how to execute a query";
                    self.clause(first, help);
                }
                let alias = self.maybe_alias(alias.as_ref());
                let Some(name) = single(name).map(|name| self.name(name)) else {
                    return rejected;
                };
                self.limits.read(&name.text);
                Source::Table { name, alias }
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                sample,
            } => {
                if *lateral {
                    let at = self.words.last("LATERAL", self.at);
                    self.reject(at, "LATERAL", NO_LATERAL);
                }
                let query = self.query(subquery);
                let alias = self.maybe_alias(alias.as_ref());
                self.check_part(&query, alias.as_ref());
                self.check_sample(sample.is_some());
                Source::Query {
                    at: self.words.before(query.at, 1),
                    query: Box::new(query),
                    alias,
                }
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset,
                with_offset_alias,
                with_ordinality,
            } => {
                let lists = self.exprs(array_exprs);
                if *with_offset || with_offset_alias.is_some() {
                    self.clause("WITH OFFSET", "also unnest a list of numbers");
                }
                self.check_ordinality(*with_ordinality);
                let first = lists.first().map_or(self.at, |list| list.at);
                Source::Unnest {
                    at: self.words.last("UNNEST", first),
                    alias: self.maybe_alias(alias.as_ref()),
                    lists,
                }
            }
            other => {
                self.reject_factor(other);
                rejected
            }
        }
    }

    fn reject_factor(&mut self, factor: &TableFactor) {
        match factor {
            TableFactor::NestedJoin { .. } => {
                let help = "write a subquery: (SELECT ... FROM a JOIN b) AS c";
                self.reject(self.at, "(a JOIN b)", help);
            }
            TableFactor::Pivot { .. } => self.clause("PIVOT", "write sum(...) FILTER (WHERE ...)"),
            TableFactor::Unpivot { .. } => {
                self.clause("UNPIVOT", "declare a table with the key `unpivot`");
            }
            TableFactor::MatchRecognize { .. } => self.clause("MATCH_RECOGNIZE", ""),
            TableFactor::Function { name, .. } => {
                self.reject(self.at, &format!("{name}(...) in FROM"), ONLY_UNNEST);
            }
            other => {
                let text = other.to_string();
                let first = text.split(['(', ' ']).next().unwrap_or_default();
                self.reject(self.at, first, "");
            }
        }
    }

    fn check_ordinality(&mut self, with_ordinality: bool) {
        if with_ordinality {
            self.clause("WITH ORDINALITY", "also unnest a list of numbers");
        }
    }

    fn check_sample(&mut self, has_sample: bool) {
        if has_sample {
            let is_long = self.words.find("TABLESAMPLE", Position::START).is_some();
            let help = "draw a sample with a `split`, which has a seed";
            self.clause(if is_long { "TABLESAMPLE" } else { "SAMPLE" }, help);
        }
    }

    /// Reports unnamed computed columns of a subquery. The outer query refers to the columns of a subquery by name, or
    /// passes them on with their names through `*`.
    pub(super) fn check_part(&mut self, query: &QueryTree, alias: Option<&Alias>) {
        if alias.is_some_and(|alias| !alias.columns.is_empty()) {
            return;
        }
        for expr in query.unnamed() {
            let message = format!("the computed column `{expr}` has no name");
            self.report(expr.at, message, "write `... AS name`");
        }
    }

    fn maybe_alias(&mut self, alias: Option<&TableAlias>) -> Option<Alias> {
        alias.map(|alias| self.alias(alias))
    }

    pub(super) fn alias(&mut self, alias: &TableAlias) -> Alias {
        let TableAlias {
            explicit: _,
            name,
            columns,
            at,
        } = alias;
        if let Some(at) = at {
            self.reject(self.start(at.span), "AT", "");
        }
        let column = |column: &TableAliasColumnDef| {
            let TableAliasColumnDef { name, data_type } = column;
            self.check_name(name);
            if let Some(data_type) = data_type {
                let what = format!("{name} {data_type}");
                let help = "write a CAST where the column is computed";
                self.reject(self.start(name.span), &what, help);
            }
            self.name(name)
        };
        let columns = columns.iter().map(column).collect();
        Alias {
            name: self.name(name),
            columns,
        }
    }
}
