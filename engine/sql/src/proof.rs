//! Proves that the rows of a plan arrive in a determined order, which does not depend on memory, batches or timing.
//!
//! The proof does not depend on how the plan was built. For each operator, it derives whether the order is determined,
//! and which sets of columns are unique keys of the rows. An operator without a rule is an error.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion_common::{DataFusionError, JoinType, Result};
use datafusion_expr::WindowFrameUnits;
use datafusion_physical_expr::expressions::{Column, Literal};
use datafusion_physical_expr::window::{PlainAggregateWindowExpr, SlidingAggregateWindowExpr};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec,
};
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties, WindowExpr};

use crate::functions::{is_order_sensitive, ordered_bits};
use crate::physical::{
    Concat, FirstRows, Guard, Node, Numbered, Plan, Prepared, Rows, SameRows, Scan, SkipRepeated,
    Unnested, WindowsInParts,
};

/// The proven properties of an operator's rows.
#[derive(Debug, Clone, Default)]
struct Facts {
    /// Whether the order of the rows is determined.
    is_ordered: bool,
    /// Sets of columns. Each set is a unique key of the rows. An empty set means at most one row.
    unique: Vec<BTreeSet<usize>>,
}

/// For each join, at most this number of unique keys is derived, because nested joins would multiply their number.
const MAX_SETS: usize = 16;

impl Facts {
    /// Returns whether any two rows differ in one of these columns.
    fn differ_in(&self, columns: &BTreeSet<usize>) -> bool {
        self.unique.iter().any(|unique| unique.is_subset(columns))
    }

    fn is_single(&self) -> bool {
        self.differ_in(&BTreeSet::new())
    }
}

/// Verifies that no operator depends on an undetermined row order. If `in_order` is true, the row order of the plan's result
/// must be determined, too.
///
/// An error is a defect of this crate.
pub(crate) fn prove(plan: &Plan, in_order: bool) -> Result<()> {
    let facts = facts(plan.as_ref())?;
    match in_order && !facts.is_ordered {
        true => unproven(plan.as_ref(), "its rows have no determined order"),
        false => Ok(()),
    }
}

fn unproven<T>(plan: &dyn ExecutionPlan, why: &str) -> Result<T> {
    let message = format!("the order of rows cannot be proven: {}: {why}", plan.name());
    Err(DataFusionError::Internal(message))
}

/// Returns the properties of the rows of an operator. If there is at most one row, the order is determined.
fn facts(plan: &dyn ExecutionPlan) -> Result<Facts> {
    let facts = operator_facts(plan)?;
    Ok(Facts {
        is_ordered: facts.is_ordered || facts.is_single(),
        ..facts
    })
}

fn operator_facts(plan: &dyn ExecutionPlan) -> Result<Facts> {
    let inputs = plan.children().into_iter();
    let inputs = inputs
        .map(|input| facts(input.as_ref()))
        .collect::<Result<Vec<Facts>>>()?;
    if let Some(scan) = Node::<Scan>::downcast(plan) {
        return Ok(Facts {
            is_ordered: !scan.is_unordered(),
            unique: scan
                .position()
                .into_iter()
                .map(|index| BTreeSet::from([index]))
                .collect(),
        });
    }
    if let Some(rows) = Node::<Rows>::downcast(plan) {
        return Ok(Facts {
            is_ordered: true,
            unique: rows.is_single().then(BTreeSet::new).into_iter().collect(),
        });
    }
    let first = inputs.first().cloned().unwrap_or_default();
    if Node::<Guard>::downcast(plan).is_some()
        || Node::<SkipRepeated>::downcast(plan).is_some()
        || Node::<Prepared>::downcast(plan).is_some()
        || plan.is::<FilterExec>()
    {
        return kept(plan, first);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let outputs = projection.expr().iter();
        let outputs: Vec<Option<usize>> = outputs.map(|output| column(&output.expr)).collect();
        let place = |index: &usize| outputs.iter().position(|own| *own == Some(*index));
        let unique = first.unique.iter();
        let unique = unique.filter_map(|unique| unique.iter().map(place).collect());
        let unique = unique.collect();
        return kept(plan, Facts { unique, ..first });
    }
    if let Some(sort) = plan.downcast_ref::<SortExec>() {
        let keys = sort.expr().iter().map(|key| column(&key.expr));
        let keys: BTreeSet<usize> = keys.flatten().collect();
        // If the keys contain all columns, rows with equal keys are identical, so their order does not matter.
        let has_all = keys.len() == plan.schema().fields().len();
        return Ok(Facts {
            is_ordered: has_all || first.differ_in(&keys),
            ..first
        });
    }
    if Node::<FirstRows>::downcast(plan).is_some() {
        return match first.is_ordered {
            true => kept(plan, first),
            false => unproven(plan, "it takes the first rows of an input without an order"),
        };
    }
    if Node::<Numbered>::downcast(plan).is_some() {
        let number = plan.schema().fields().len() - 1;
        return match first.is_ordered {
            true => Ok(Facts {
                is_ordered: true,
                unique: vec![BTreeSet::from([number])],
            }),
            false => unproven(plan, "it numbers rows without an order"),
        };
    }
    if Node::<Unnested>::downcast(plan).is_some() {
        return Ok(Facts {
            is_ordered: first.is_ordered,
            unique: Vec::new(),
        });
    }
    if Node::<Concat>::downcast(plan).is_some() {
        return Ok(Facts {
            is_ordered: inputs.iter().all(|input| input.is_ordered),
            unique: Vec::new(),
        });
    }
    if let Some(same) = Node::<SameRows>::downcast(plan) {
        let join = inputs.get(same.join_index()).cloned();
        return Ok(join.unwrap_or_default());
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        return aggregate_facts(plan, aggregate, &first);
    }
    let windows = match plan.downcast_ref::<BoundedWindowAggExec>() {
        Some(window) => Some(window.window_expr()),
        None => match plan.downcast_ref::<WindowAggExec>() {
            Some(window) => Some(window.window_expr()),
            None => Node::<WindowsInParts>::downcast(plan).map(WindowsInParts::exprs),
        },
    };
    if let Some(windows) = windows {
        let depends = windows
            .iter()
            .any(|window| depends_on_order(window.as_ref()));
        return match first.is_ordered || !depends {
            true => kept(plan, first),
            false => unproven(
                plan,
                "a window function depends on an order that is not determined",
            ),
        };
    }
    join_facts(plan, &inputs)
}

/// Returns `first` if the operator states that it keeps the order of its first input, otherwise an error.
fn kept(plan: &dyn ExecutionPlan, first: Facts) -> Result<Facts> {
    match plan.maintains_input_order().first() {
        Some(true) => Ok(first),
        _ => unproven(plan, "it does not keep the order of its rows"),
    }
}

/// Returns the index of the column, if the expression is a column.
fn column(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    Some(expr.downcast_ref::<Column>()?.index())
}

/// Returns the column of a join key. For doubles, the key is [`ordered_bits`] of the column.
fn compared_column(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    match expr.downcast_ref::<ScalarFunctionExpr>() {
        Some(call) if call.fun() == ordered_bits().as_ref() => column(call.args().first()?),
        _ => column(expr),
    }
}

fn aggregate_facts(
    plan: &dyn ExecutionPlan,
    aggregate: &AggregateExec,
    input: &Facts,
) -> Result<Facts> {
    for call in aggregate.aggr_expr() {
        let keys = call.order_bys().iter().map(|key| column(&key.expr));
        let keys: BTreeSet<usize> = keys.flatten().collect();
        let args = call.expressions();
        // `keys` are the columns of the aggregate's ORDER BY. The order of the arguments is determined if rows with
        // equal keys have equal arguments, or if no two rows have equal keys.
        let of_keys = args
            .iter()
            .all(|arg| column(arg).is_some_and(|index| keys.contains(&index)) || is_literal(arg));
        let is_determined = of_keys || input.differ_in(&keys) || call.order_bys().is_empty();
        if is_order_sensitive(call.fun().name()) && !is_determined {
            return unproven(
                plan,
                "an aggregate depends on an order that is not determined",
            );
        }
    }
    let keys = aggregate.group_expr().expr().len();
    Ok(Facts {
        is_ordered: keys == 0,
        unique: vec![(0..keys).collect()],
    })
}

fn is_literal(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.is::<Literal>()
}

/// Returns whether a window function may depend on the order of rows with equal keys.
fn depends_on_order(window: &dyn WindowExpr) -> bool {
    let frame = window.get_window_frame();
    let counts_rows = frame.units == WindowFrameUnits::Rows
        && !(frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded());
    let any = window.as_any();
    let aggregate = match any.downcast_ref::<PlainAggregateWindowExpr>() {
        Some(plain) => Some(plain.get_aggregate_expr()),
        None => any
            .downcast_ref::<SlidingAggregateWindowExpr>()
            .map(SlidingAggregateWindowExpr::get_aggregate_expr),
    };
    counts_rows || aggregate.is_none_or(|call| is_order_sensitive(call.fun().name()))
}

fn join_facts(plan: &dyn ExecutionPlan, inputs: &[Facts]) -> Result<Facts> {
    let [build, probe] = inputs else {
        return unproven(plan, "the operator is not known");
    };
    let (join_type, keeps) = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        // A hash join keeps the order of its second input only if this input states an order.
        let is_stated = join.right().output_ordering().is_some();
        let keeps = plan.maintains_input_order();
        (
            *join.join_type(),
            keeps.into_iter().map(|keeps| keeps && is_stated).collect(),
        )
    } else if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        (join.join_type(), vec![false, false])
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        (*join.join_type(), vec![false, false])
    } else if plan.is::<CrossJoinExec>() {
        (JoinType::Inner, vec![false, false])
    } else {
        return unproven(plan, "the operator is not known");
    };
    let build_width = plan
        .children()
        .first()
        .map_or(0, |input| input.schema().fields().len());
    // A hash join keeps the order of its second input, but the order of several matches of a row is not known.
    let keeps_probe = keeps.get(1) == Some(&true);
    Ok(match join_type {
        JoinType::RightSemi | JoinType::RightAnti => Facts {
            is_ordered: keeps_probe && probe.is_ordered,
            unique: probe.unique.clone(),
        },
        JoinType::LeftSemi | JoinType::LeftAnti => Facts {
            is_ordered: false,
            unique: build.unique.clone(),
        },
        _ => {
            // A row has at most one match if the rows of the other input have different keys.
            let (one_build_row, one_probe_row) = match keys(plan) {
                Some((left, right)) => (build.differ_in(&left), probe.differ_in(&right)),
                None => (false, false),
            };
            // In the joined rows, the columns of `probe` follow those of `build`.
            let moved: Vec<BTreeSet<usize>> = probe
                .unique
                .iter()
                .map(|unique| unique.iter().map(|index| index + build_width).collect())
                .collect();
            let unique = match join_type {
                JoinType::Inner | JoinType::Right if one_build_row => moved,
                JoinType::Inner | JoinType::Left if one_probe_row => build.unique.clone(),
                JoinType::Full => full_pairs(plan, pairs(&build.unique, &moved)),
                _ => pairs(&build.unique, &moved),
            };
            Facts {
                is_ordered: keeps_probe && probe.is_ordered && one_build_row,
                unique,
            }
        }
    })
}

/// Returns unions of a left set and a right set, at most [`MAX_SETS`]. Each union is a unique key of the joined rows.
fn pairs(left: &[BTreeSet<usize>], right: &[BTreeSet<usize>]) -> Vec<BTreeSet<usize>> {
    let pairs = left.iter().flat_map(|left| {
        right
            .iter()
            .map(|right| left.union(right).copied().collect())
    });
    pairs.take(MAX_SETS).collect()
}

/// Returns sets of columns that are unique keys of the rows of a full join.
///
/// A left row without a match has NULL in the right columns, and a right row without a match has NULL in the left
/// columns. Such a left row equals such a right row in a set of columns if all their values in it are NULL. Therefore
/// each returned set contains a column that is never NULL in its input.
fn full_pairs(plan: &dyn ExecutionPlan, pairs: Vec<BTreeSet<usize>>) -> Vec<BTreeSet<usize>> {
    let inputs = plan.children().into_iter();
    let fields =
        inputs.flat_map(|input| input.schema().fields().iter().cloned().collect::<Vec<_>>());
    let present: Vec<usize> = fields
        .enumerate()
        .filter(|(_, field)| !field.is_nullable())
        .map(|(index, _)| index)
        .collect();
    let mut sets = Vec::new();
    for pair in pairs {
        if present.iter().any(|index| pair.contains(index)) {
            sets.push(pair);
            continue;
        }
        for index in &present {
            let mut set = pair.clone();
            set.insert(*index);
            sets.push(set);
        }
    }
    sets.truncate(MAX_SETS);
    sets
}

/// Returns the columns of both inputs that a join compares. `None` if the join compares other expressions.
fn keys(plan: &dyn ExecutionPlan) -> Option<(BTreeSet<usize>, BTreeSet<usize>)> {
    let on = match plan.downcast_ref::<HashJoinExec>() {
        Some(join) => join.on(),
        None => plan.downcast_ref::<SortMergeJoinExec>()?.on(),
    };
    let pairs = on
        .iter()
        .map(|(left, right)| Some((compared_column(left)?, compared_column(right)?)));
    pairs.collect()
}
