//! Finds JSON members that a query names, but that no row has. Usually their names are misspelled. `json_get` and
//! `json_without` accept such members, because optional members are missing in some rows.

use std::collections::{BTreeMap, BTreeSet};

use prep_formats::json::JsonValue;
use prep_spec::model::Query;

use crate::bind::{RowDemand, bind};
use crate::check::Columns;
use crate::functions::json::{member, parse, texts};
use crate::relation::{ScanError, Tables};
use crate::relational::{Expr, ExprKind, Relational};
use crate::trace::{Origin, Trace};

/// Number of rows per batch.
const BATCH_ROWS: usize = 1024;

/// Maximum number of names that are collected for suggestions.
const MAX_NAMES: usize = 1000;

/// A member of JSON values that no row has, although some rows have the object that could contain it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbsentMember {
    /// The table that contains the values.
    pub table: String,
    /// The column that contains the values.
    pub column: String,
    /// The keys and positions from the column to the member, separated by dots. The last one is absent.
    pub path: String,
    /// The members that the object has in some rows.
    pub known: BTreeSet<String>,
}

/// A path that a query names, and its longest prefix that exists in some row.
struct NamedPath {
    path: Vec<String>,
    /// Number of steps in the longest existing prefix.
    depth: usize,
    /// The members of the objects at the end of this prefix. None of them is the next step of the path.
    known: BTreeSet<String>,
}

/// Searches the tables of a query for members that no row has. `tables` are the tables that the query reads. The search
/// ends early if `stop` returns true.
///
/// # Errors
/// If a table cannot be read.
pub fn absent_members(
    query: &Query,
    tables: &Tables,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<AbsentMember>, ScanError> {
    let Ok(bound) = bind(query.tree(), tables, RowDemand::AnyOrder) else {
        return Ok(Vec::new());
    };
    let columns = tables.iter();
    let columns = columns.map(|(name, table)| (name.clone(), table.columns().into()));
    let columns: Vec<(String, Columns)> = columns.collect();
    let mut named: BTreeMap<(String, String), BTreeSet<Vec<String>>> = BTreeMap::new();
    visit(
        &bound.plan,
        &Trace::copies(&columns, &bound),
        &mut |origin| {
            let paths = named.entry((origin.table, origin.column)).or_default();
            paths.insert(origin.path);
        },
    );
    let mut absent = Vec::new();
    for ((table, column), paths) in named {
        let Some(relation) = tables.get(&table) else {
            continue;
        };
        let mut places = relation.columns().iter();
        let Some(place) = places.position(|one| one.name == column) else {
            continue;
        };
        let mut paths: Vec<NamedPath> = paths.into_iter().map(NamedPath::new).collect();
        for batch in relation.clone().scan(vec![place], BATCH_ROWS) {
            for cells in &batch?.columns {
                for value in texts(cells)?
                    .iter()
                    .flatten()
                    .filter_map(|cell| parse(cell).ok())
                {
                    paths.iter_mut().for_each(|path| path.follow(&value));
                }
            }
            if paths.iter().all(NamedPath::exists) || stop() {
                break;
            }
        }
        let lost = paths
            .into_iter()
            .filter(|path| !path.exists() && !path.known.is_empty());
        for path in lost {
            let member = AbsentMember {
                table: table.clone(),
                column: column.clone(),
                path: path.path[..=path.depth].join("."),
                known: path.known,
            };
            if !absent.contains(&member) {
                absent.push(member);
            }
        }
    }
    Ok(absent)
}

/// Calls `found` for each JSON member that an expression of the plan names.
fn visit(plan: &Relational, trace: &Trace<'_>, found: &mut dyn FnMut(Origin)) {
    plan.node.visit_exprs(&mut |expr| {
        expr.visit(&mut |expr| {
            let ExprKind::Call { function, args } = &expr.kind else {
                return;
            };
            match (function.name(), args.as_slice()) {
                ("json_get", _) => trace.expr(expr).into_iter().for_each(&mut *found),
                ("json_without", [json, keys @ ..]) => {
                    let Some(origin) = trace.expr(complete(json)) else {
                        return;
                    };
                    let keys = keys.iter().filter_map(Expr::as_literal);
                    let keys = keys.filter_map(|key| key.try_as_str().flatten());
                    // A key with a dot is skipped, because it can be a name or a path.
                    for key in keys.filter(|key| !key.contains('.')) {
                        let mut member = origin.clone();
                        member.path.push(key.to_owned());
                        found(member);
                    }
                }
                _ => {}
            }
        });
    });
    for input in plan.node.inputs() {
        visit(input, trace, found);
    }
}

/// Returns the object from which one or several nested calls of `json_without` remove members.
fn complete(json: &Expr) -> &Expr {
    match &json.kind {
        ExprKind::Call { function, args } if function.name() == "json_without" => {
            args.first().map_or(json, complete)
        }
        _ => json,
    }
}

impl NamedPath {
    fn new(path: Vec<String>) -> NamedPath {
        NamedPath {
            path,
            depth: 0,
            known: BTreeSet::new(),
        }
    }

    fn exists(&self) -> bool {
        self.depth == self.path.len()
    }

    /// Follows the path in the value of a row.
    fn follow(&mut self, mut value: &JsonValue) {
        for (depth, step) in self.path.iter().enumerate() {
            let Some(next) = member(value, step) else {
                if let JsonValue::Object(object) = value
                    && depth == self.depth
                    && self.known.len() < MAX_NAMES
                {
                    let names = object.keys().map(|key| key.to_string_lossy().into_owned());
                    self.known.extend(names);
                }
                return;
            };
            value = next;
            if self.depth <= depth {
                self.depth = depth + 1;
                self.known.clear();
            }
        }
    }
}
