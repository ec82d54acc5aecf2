//! Removes hidden columns (`_row`, and `record` of a JSON table) from `*`.
//!
//! For each `*` and `t.*` over a table of the pipeline, this module adds the hidden columns to the EXCLUDE list. An
//! unqualified `*` over a join first becomes one qualified `*` per table, because EXCLUDE is ambiguous if several
//! tables have the column.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query,
    Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor, VisitMut,
    VisitorMut, WildcardAdditionalOptions,
};

use crate::QueryError;

/// Hidden columns of each table of the pipeline.
pub(crate) type HiddenColumns = BTreeMap<String, Vec<String>>;

/// Rewrites all wildcards of a query. `tables` contains the tables of the pipeline. All other table names are defined
/// by the query itself (`WITH`).
pub(crate) fn hide_columns(query: &mut Query, tables: &HiddenColumns) -> Result<(), QueryError> {
    let mut rewriter = WildcardRewriter { tables };
    match query.visit(&mut rewriter) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct WildcardRewriter<'a> {
    tables: &'a HiddenColumns,
}

impl VisitorMut for WildcardRewriter<'_> {
    type Break = QueryError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<QueryError> {
        self.set_expr(&mut query.body)
    }
}

/// An item of FROM: the name that qualifies its columns, and its hidden columns if it is a table of the pipeline.
struct FromItem {
    qualifier: Option<ObjectName>,
    hidden: Vec<String>,
}

impl WildcardRewriter<'_> {
    fn set_expr(&self, body: &mut SetExpr) -> ControlFlow<QueryError> {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::SetOperation { left, right, .. } => {
                self.set_expr(left)?;
                self.set_expr(right)
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn select(&self, select: &mut Select) -> ControlFlow<QueryError> {
        let has_wildcard = select.projection.iter().any(|item| {
            matches!(
                item,
                SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
            )
        });
        if !has_wildcard {
            return ControlFlow::Continue(());
        }
        let (sources, merged) = self.sources(select);
        let mut projection = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            match item {
                SelectItem::Wildcard(options) if sources.len() <= 1 => {
                    let hidden = sources
                        .first()
                        .map(|source| source.hidden.as_slice())
                        .unwrap_or_default();
                    projection.push(SelectItem::Wildcard(exclude(options, hidden)));
                }
                SelectItem::Wildcard(options) => {
                    let plain = options.opt_exclude.is_none() && options.opt_replace.is_none();
                    if merged || !plain {
                        return ControlFlow::Break(QueryError::Unsupported(
                            "`*` over a join with USING, NATURAL, EXCLUDE or REPLACE is ambiguous; write `t.*` for each table"
                                .to_owned(),
                        ));
                    }
                    for source in &sources {
                        let Some(name) = source.qualifier.clone() else {
                            return ControlFlow::Break(QueryError::Unsupported(
                                "`*` over a join needs a name for each subquery in FROM".to_owned(),
                            ));
                        };
                        let options = exclude(options.clone(), &source.hidden);
                        let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
                        projection.push(SelectItem::QualifiedWildcard(kind, options));
                    }
                }
                SelectItem::QualifiedWildcard(kind, options) => {
                    let name = match &kind {
                        SelectItemQualifiedWildcardKind::ObjectName(name) => Some(name),
                        SelectItemQualifiedWildcardKind::Expr(_) => None,
                    };
                    let source = sources
                        .iter()
                        .find(|source| name.is_some() && source.qualifier.as_ref() == name);
                    let options = exclude(
                        options,
                        source
                            .map(|source| source.hidden.as_slice())
                            .unwrap_or_default(),
                    );
                    projection.push(SelectItem::QualifiedWildcard(kind, options));
                }
                other => projection.push(other),
            }
        }
        select.projection = projection;
        ControlFlow::Continue(())
    }

    /// Returns the items of FROM in order, and whether a join merges columns.
    fn sources(&self, select: &Select) -> (Vec<FromItem>, bool) {
        let mut sources = Vec::new();
        let mut merged = false;
        for table in &select.from {
            sources.push(self.source(&table.relation));
            for join in &table.joins {
                merged |= matches!(
                    constraint(&join.join_operator),
                    Some(JoinConstraint::Using(_) | JoinConstraint::Natural)
                );
                match &join.join_operator {
                    // These joins return only the columns of one side.
                    JoinOperator::LeftSemi(_) | JoinOperator::LeftAnti(_) => continue,
                    JoinOperator::RightSemi(_) | JoinOperator::RightAnti(_) => sources.clear(),
                    _ => {}
                }
                sources.push(self.source(&join.relation));
            }
        }
        (sources, merged)
    }

    fn source(&self, factor: &TableFactor) -> FromItem {
        match factor {
            TableFactor::Table { name, alias, .. } => FromItem {
                qualifier: Some(
                    alias
                        .as_ref()
                        .map_or_else(|| name.clone(), |alias| object_name(&alias.name)),
                ),
                hidden: name
                    .0
                    .last()
                    .and_then(ObjectNamePart::as_ident)
                    .and_then(|ident| self.tables.get(&ident.value).cloned())
                    .unwrap_or_default(),
            },
            TableFactor::Derived { alias, .. } => FromItem {
                qualifier: alias.as_ref().map(|alias| object_name(&alias.name)),
                hidden: Vec::new(),
            },
            _ => FromItem {
                qualifier: None,
                hidden: Vec::new(),
            },
        }
    }
}

fn object_name(name: &Ident) -> ObjectName {
    ObjectName::from(vec![name.clone()])
}

fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint) => Some(constraint),
        _ => None,
    }
}

fn exclude(mut options: WildcardAdditionalOptions, hidden: &[String]) -> WildcardAdditionalOptions {
    if hidden.is_empty() {
        return options;
    }
    let mut names = match options.opt_exclude.take() {
        None => Vec::new(),
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
    };
    names.extend(
        hidden
            .iter()
            .map(|name| object_name(&Ident::with_quote('"', name))),
    );
    options.opt_exclude = Some(ExcludeSelectItem::Multiple(names));
    options
}
