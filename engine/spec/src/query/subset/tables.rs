//! Checks FROM: tables, subqueries and joins.

use sqlparser::ast::{
    Join, JoinConstraint, JoinOperator, Query as Tree, Spanned as _, TableAlias,
    TableAliasColumnDef, TableFactor, TableWithJoins,
};

use super::Subset;
use super::clauses::single;
use super::names::unnamed;

impl Subset<'_, '_> {
    pub(super) fn table_with_joins(&mut self, table: &TableWithJoins) {
        let TableWithJoins { relation, joins } = table;
        self.parts += 1 + joins.len();
        self.table(relation);
        for join in joins {
            self.join(join);
        }
    }

    fn join(&mut self, join: &Join) {
        let Join {
            relation,
            global,
            join_operator,
        } = join;
        self.table(relation);
        if *global {
            self.clause("GLOBAL", "");
        }
        let constraint = match join_operator {
            JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)
            | JoinOperator::LeftSemi(constraint)
            | JoinOperator::RightSemi(constraint)
            | JoinOperator::LeftAnti(constraint)
            | JoinOperator::RightAnti(constraint) => constraint,
            JoinOperator::CrossJoin(JoinConstraint::None) => return,
            JoinOperator::CrossJoin(_) => {
                let at = self.start(relation.span());
                return self.reject(at, "CROSS JOIN ... ON", "write JOIN");
            }
            JoinOperator::Semi(_) => return self.clause("SEMI JOIN", "write LEFT SEMI JOIN"),
            JoinOperator::Anti(_) => return self.clause("ANTI JOIN", "write LEFT ANTI JOIN"),
            JoinOperator::CrossApply => {
                return self.clause("CROSS APPLY", "write CROSS JOIN LATERAL");
            }
            JoinOperator::OuterApply => {
                return self.clause("OUTER APPLY", "write LEFT JOIN LATERAL ... ON true");
            }
            JoinOperator::AsOf { .. } => return self.clause("ASOF JOIN", ""),
            JoinOperator::StraightJoin(_) => return self.clause("STRAIGHT_JOIN", "write JOIN"),
            _ => return self.clause("ARRAY JOIN", "write `CROSS JOIN unnest(list) AS u(x)`"),
        };
        match constraint {
            JoinConstraint::On(condition) => self.expr(condition),
            JoinConstraint::Using(names) => {
                for name in names.iter().filter(|name| single(name).is_none()) {
                    let at = self.start(name.span());
                    self.reject(at, &name.to_string(), "in USING, write column names without a table");
                }
            }
            JoinConstraint::Natural => self.clause(
                "NATURAL",
                "every table has the hidden column `_row`, which would also be compared; write USING",
            ),
            JoinConstraint::None => {
                let at = self.start(relation.span());
                let message = "this JOIN has no condition".to_owned();
                self.report(at, message, "add ON or USING, or write CROSS JOIN");
            }
        }
    }

    fn table(&mut self, factor: &TableFactor) {
        let span = factor.span();
        self.inside(span, |inner| inner.table_inside(factor));
    }

    fn table_inside(&mut self, factor: &TableFactor) {
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
                let defined = single(name).and_then(|name| {
                    let mut defined = self.defined.iter().rev();
                    defined.find(|(other, _)| *other == name.value)
                });
                let reads = defined.map_or(1, |(_, reads)| *reads);
                self.reads = self.reads.saturating_add(reads);
                if args.is_some() {
                    let what = format!("{name}(...) in FROM");
                    self.reject(self.at, &what, "the only table function is `unnest(list)`");
                }
                self.maybe_alias(alias.as_ref());
                if !with_hints.is_empty() {
                    self.clause("WITH", "");
                }
                if version.is_some() {
                    self.clause("FOR", "remove it: a table has only one version");
                }
                if *with_ordinality {
                    self.ordinality();
                }
                if !partitions.is_empty() {
                    self.clause("PARTITION", "write a condition in WHERE");
                }
                if json_path.is_some() {
                    self.reject(self.at, "a path into a table", "");
                }
                if sample.is_some() {
                    self.sample();
                }
                if let Some(hint) = index_hints.first() {
                    let first = hint.to_string();
                    let first = first.split_whitespace().next().unwrap_or("INDEX");
                    self.clause(
                        first,
                        "remove it: the engine chooses how to execute a query",
                    );
                }
            }
            TableFactor::Derived {
                lateral: _,
                subquery,
                alias,
                sample,
            } => {
                self.query(subquery);
                self.part_of_from(subquery, alias.as_ref());
                self.maybe_alias(alias.as_ref());
                if sample.is_some() {
                    self.sample();
                }
            }
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_offset,
                with_offset_alias,
                with_ordinality,
            } => {
                self.exprs(array_exprs);
                self.maybe_alias(alias.as_ref());
                if *with_offset || with_offset_alias.is_some() {
                    self.clause("WITH OFFSET", "also unnest a list of numbers");
                }
                if *with_ordinality {
                    self.ordinality();
                }
            }
            TableFactor::NestedJoin { .. } => {
                self.reject(
                    self.at,
                    "(a JOIN b)",
                    "write a subquery: (SELECT ... FROM a JOIN b) AS c",
                );
            }
            TableFactor::Pivot { .. } => self.clause("PIVOT", "write sum(...) FILTER (WHERE ...)"),
            TableFactor::Unpivot { .. } => self.clause("UNPIVOT", "write UNION ALL"),
            TableFactor::MatchRecognize { .. } => self.clause("MATCH_RECOGNIZE", ""),
            TableFactor::Function { name, .. } => {
                let what = format!("{name}(...) in FROM");
                self.reject(self.at, &what, "the only table function is `unnest(list)`");
            }
            other => {
                let text = other.to_string();
                let first = text.split(['(', ' ']).next().unwrap_or_default().to_owned();
                self.reject(self.at, &first, "");
            }
        }
    }

    fn ordinality(&mut self) {
        self.clause("WITH ORDINALITY", "also unnest a list of numbers");
    }

    fn sample(&mut self) {
        let help = "draw a sample with a `split`, which has a seed";
        let is_short = !self.words.iter().any(|word| word.text == "TABLESAMPLE");
        self.clause(if is_short { "SAMPLE" } else { "TABLESAMPLE" }, help);
    }

    /// Reports unnamed computed columns of a subquery. The outer query refers to the columns of a subquery by name, or
    /// passes them on with their names through `*`.
    pub(super) fn part_of_from(&mut self, query: &Tree, alias: Option<&TableAlias>) {
        if alias.is_some_and(|alias| !alias.columns.is_empty()) {
            return;
        }
        for (at, text) in unnamed(query) {
            let message = format!("the computed column `{text}` has no name");
            self.report(at, message, "write `... AS name`");
        }
    }

    fn maybe_alias(&mut self, alias: Option<&TableAlias>) {
        if let Some(alias) = alias {
            self.alias(alias);
        }
    }

    pub(super) fn alias(&mut self, alias: &TableAlias) {
        let TableAlias {
            explicit: _,
            name: _,
            columns,
            at,
        } = alias;
        for column in columns {
            let TableAliasColumnDef { name, data_type } = column;
            if let Some(data_type) = data_type {
                let what = format!("{name} {data_type}");
                self.reject(
                    name.span.start,
                    &what,
                    "write a CAST where the column is computed",
                );
            }
        }
        if let Some(at) = at {
            self.reject(at.span.start, "AT", "");
        }
    }
}
