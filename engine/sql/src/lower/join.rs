//! Lowers joins: which side is kept in memory, and whether the rows keep their order.
//!
//! A hash join keeps one side in memory, and reads the rows of the other side in order. If neither side fits into memory,
//! both sides are sorted by the keys of the join.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, Field, Schema};
use datafusion_common::{JoinSide, JoinType, NullEquality, Result};
use datafusion_physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion_physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion_physical_plan::joins::{
    CrossJoinExec, HashJoinExec, NestedLoopJoinExec, PartitionMode, SortMergeJoinExec,
};
use datafusion_physical_plan::sorts::sort::SortExec;

use super::expr::call;
use super::{Arrival, Layout, Lowered, Lowering, Needed, Sides, column_at, internal, name};
use crate::functions::{cancellable, ordered_bits};
use crate::physical::{ConstantSlot, Guard, Plan, Prepared, SameRows, SkipRepeated, row_bytes};
use crate::relational::{ColumnId, Expr, JoinKind, JoinSpec, Relational};

/// Size in bytes of an entry of a hash table, without the row itself.
const HASH_ENTRY_BYTES: u64 = 24;

/// If the left side is kept in memory, the order of its rows is lost. Therefore the right side is kept in memory even
/// if it is larger than the left side, up to this factor.
const MAX_RATIO_FOR_ORDER: u64 = 4;

impl Lowering<'_> {
    pub(super) fn join(
        &self,
        left: &Relational,
        right: &Relational,
        spec: &JoinSpec,
        needed: &Needed,
        in_order: bool,
    ) -> Result<Lowered> {
        if spec.is_unique && spec.on.is_empty() && right.is_single_row() {
            return self.with_constants(left, right, needed, in_order);
        }
        let keys: Needed = spec.on.iter().flat_map(|(a, b)| [*a, *b]).collect();
        let all: Needed = needed.union(&keys).copied().collect();
        let below = |side: &Relational| self.with_used(&all, side, &spec.filter);
        let own = |needed: Needed, side: &Relational| -> Needed {
            needed.intersection(&side.columns).copied().collect()
        };
        let (left_needed, right_needed) = (own(below(left), left), own(below(right), right));
        let keeps_order = keeps_order(spec);
        let left_rows = self.lower(left, &left_needed, in_order && keeps_order)?;
        let right_rows = self.lower(right, &right_needed, false)?;
        let sides = Sizes {
            left: size(left, &left_rows),
            right: size(right, &right_rows),
        };
        let (left_rows, right_rows) = (
            self.narrowed(left_rows, &left_needed)?,
            self.narrowed(right_rows, &right_needed)?,
        );
        let is_difference =
            spec.kind == JoinKind::Anti && spec.nulls_equal && spec.filter.is_none();
        let compared = match is_difference && sides.left.rows == sides.right.rows {
            true => Some(compared(&spec.on, [&left_rows, &right_rows])?),
            false => None,
        };
        let mut joined = match spec.on.is_empty() {
            true => self.nested_loop(left_rows, right_rows, spec, &sides)?,
            false => self.keyed(left_rows, right_rows, spec, &sides)?,
        };
        if let Some(compared) = compared {
            joined.plan = SameRows::around(joined.plan, compared);
        }
        let joined = Lowered {
            plan: Guard::pass(joined.plan),
            ..joined
        };
        self.narrowed(joined, needed)
    }

    /// Joins a right side that has a single row. The values of this row become constants of the left rows.
    fn with_constants(
        &self,
        left: &Relational,
        right: &Relational,
        needed: &Needed,
        in_order: bool,
    ) -> Result<Lowered> {
        let own =
            |side: &Relational| -> Needed { needed.intersection(&side.columns).copied().collect() };
        let mut rows = self.lower(left, &own(left), in_order)?;
        let needed = own(right);
        let constants = self.lower(right, &needed, false)?;
        let constants = self.narrowed(constants, &needed)?;
        let schema = constants.plan.schema();
        let slots = schema
            .fields()
            .iter()
            .map(|field| Arc::new(ConstantSlot::new(field.data_type().clone())));
        let slots: Vec<Arc<ConstantSlot>> = slots.collect();
        rows.constants
            .extend(constants.columns.iter().copied().zip(slots.iter().cloned()));
        rows.plan = Prepared::plan(rows.plan, constants.plan, slots);
        Ok(rows)
    }

    /// Joins by comparing each left row with each right row.
    fn nested_loop(
        &self,
        left: Lowered,
        right: Lowered,
        spec: &JoinSpec,
        sides: &Sizes,
    ) -> Result<Lowered> {
        // The operator keeps its first input in memory. If that is the right side, the sides are exchanged.
        let is_exchanged = sides.right.bytes < sides.left.bytes;
        let (build, probe) = match is_exchanged {
            true => (right, left),
            false => (left, right),
        };
        if spec.filter.is_none() && spec.kind == JoinKind::Inner {
            let rows = if is_exchanged {
                sides.right.rows
            } else {
                sides.left.rows
            };
            let counted = Guard::count(build.plan.clone(), false, rows);
            let plan = CrossJoinExec::new(counted, probe.plan.clone());
            return Ok(joined(Arc::new(plan), &build, &probe, JoinType::Inner));
        }
        let join_type = join_type(spec.kind, is_exchanged);
        let filter = spec.filter.as_ref();
        let filter = filter.map(|filter| self.join_filter(filter, &build, &probe));
        let plan = NestedLoopJoinExec::try_new(
            Guard::pass(build.plan.clone()),
            Guard::pass(probe.plan.clone()),
            filter.transpose()?,
            &join_type,
            None,
        )?;
        Ok(joined(Arc::new(plan), &build, &probe, join_type))
    }

    /// Joins by equal keys: keeps one side in memory, or sorts both sides.
    fn keyed(
        &self,
        left: Lowered,
        right: Lowered,
        spec: &JoinSpec,
        sides: &Sizes,
    ) -> Result<Lowered> {
        let limit = match self.sides {
            Sides::InMemory => self.limits.max_build_side_bytes() as u64,
            Sides::Sorted => 0,
        };
        let keeps_order = keeps_order(spec);
        let ratio = match keeps_order && left.arrival != Arrival::Unknown {
            true => MAX_RATIO_FOR_ORDER,
            false => 1,
        };
        let keeps_right = sides.right.bytes <= sides.left.bytes.saturating_mul(ratio);
        let is_exchanged = match (sides.left.bytes < limit, sides.right.bytes < limit) {
            (false, false) => return self.sort_merge(left, right, spec),
            (true, true) => keeps_right,
            (keeps_left, _) => !keeps_left,
        };
        let join_type = join_type(spec.kind, is_exchanged);
        let arrival = match (is_exchanged && keeps_order, &left.arrival) {
            (true, arrival) => arrival.clone(),
            (false, _) => Arrival::Unknown,
        };
        let (mut left, mut right) = (left, right);
        if matches!(spec.kind, JoinKind::Semi | JoinKind::Anti) {
            right.plan = SkipRepeated::plan(right.plan);
        }
        let (build, probe, on) = match is_exchanged {
            true => {
                let on: Vec<_> = spec
                    .on
                    .iter()
                    .map(|(left, right)| (*right, *left))
                    .collect();
                (&mut right, &mut left, on)
            }
            false => (&mut left, &mut right, spec.on.clone()),
        };
        let filter = spec.filter.as_ref();
        let filter = filter.map(|filter| self.join_filter(filter, build, probe));
        let plan: Plan = Arc::new(HashJoinExec::try_new(
            build.plan.clone(),
            in_stated_order(probe.plan.clone()),
            pairs(&on, build, probe)?,
            filter.transpose()?,
            &join_type,
            None,
            PartitionMode::CollectLeft,
            null_equality(spec),
            false,
        )?);
        let plan = joined(plan, build, probe, join_type);
        Ok(Lowered { arrival, ..plan })
    }

    /// Sorts both sides by the keys, and merges them.
    fn sort_merge(&self, left: Lowered, right: Lowered, spec: &JoinSpec) -> Result<Lowered> {
        let pairs = pairs(&spec.on, &left, &right)?.into_iter();
        let pairs = pairs.map(|(a, b)| {
            Ok((
                self.merged_key(a, &left.plan)?,
                self.merged_key(b, &right.plan)?,
            ))
        });
        let pairs = pairs.collect::<Result<KeyPairs>>()?;
        let sorted = |side: Lowered, keys: Vec<Arc<dyn PhysicalExpr>>| {
            let options = SortOptions::default();
            let exprs = keys
                .into_iter()
                .map(|key| PhysicalSortExpr::new(key, options));
            match LexOrdering::new(exprs) {
                Some(ordering) => Lowered {
                    plan: Guard::pass(Arc::new(SortExec::new(ordering, side.plan))),
                    ..side
                },
                None => side,
            }
        };
        let (left_keys, right_keys) = pairs.iter().cloned().unzip();
        let (left, right) = (sorted(left, left_keys), sorted(right, right_keys));
        let filter = spec.filter.as_ref();
        let filter = filter.map(|filter| self.join_filter(filter, &left, &right));
        let join_type = join_type(spec.kind, false);
        let plan = SortMergeJoinExec::try_new(
            left.plan.clone(),
            right.plan.clone(),
            pairs,
            filter.transpose()?,
            join_type,
            vec![SortOptions::default(); spec.on.len()],
            null_equality(spec),
        )?;
        Ok(joined(Arc::new(plan), &left, &right, join_type))
    }

    /// Returns the key of a merge join. A double is converted to an integer that sorts in the same order, because
    /// DataFusion's merge join cannot compare NaN.
    fn merged_key(&self, key: Arc<dyn PhysicalExpr>, plan: &Plan) -> Result<Arc<dyn PhysicalExpr>> {
        if key.data_type(&plan.schema())? != DataType::Float64 {
            return Ok(key);
        }
        Ok(call(
            &ordered_bits(),
            vec![key],
            DataType::Int64,
            &self.options,
        ))
    }

    /// Converts a condition, and adds a check for cancellation. A join may compare many pairs before it returns a row.
    fn join_filter(&self, filter: &Expr, build: &Lowered, probe: &Lowered) -> Result<JoinFilter> {
        let mut used: BTreeSet<ColumnId> = filter.columns();
        if self.is_traced && filter.can_fail() {
            let columns = build.columns.iter().chain(&probe.columns);
            used.extend(columns.filter(|id| self.is_row(**id)));
        }
        if used.is_empty() {
            // DataFusion's merge join treats a batch of pairs without columns as empty.
            used.extend(build.columns.first());
        }
        let mut indices = Vec::new();
        let mut fields: Vec<Field> = Vec::new();
        let mut columns = Vec::new();
        // DataFusion's merge join needs the columns of its first input first.
        for (side, which) in [(build, JoinSide::Left), (probe, JoinSide::Right)] {
            let schema = side.plan.schema();
            for (index, id) in side.columns.iter().enumerate() {
                if !used.remove(id) {
                    continue;
                }
                let field = schema.field(index).clone();
                fields.push(field.with_name(name(*id)).with_nullable(true));
                indices.push(ColumnIndex { index, side: which });
                columns.push(*id);
            }
        }
        if let Some(id) = used.first() {
            return internal(format!("column {} is not part of the joined rows", id.0));
        }
        let layout = Layout {
            columns,
            constants: build.constants.clone(),
            schema: Arc::new(Schema::new(fields)),
        };
        let condition = self.expr(filter, &layout)?;
        let condition = call(
            &cancellable(),
            vec![condition],
            DataType::Boolean,
            &self.options,
        );
        Ok(JoinFilter::new(condition, indices, layout.schema))
    }
}

/// Returns whether the joined rows have the order of the left rows.
fn keeps_order(spec: &JoinSpec) -> bool {
    spec.is_unique || matches!(spec.kind, JoinKind::Semi | JoinKind::Anti)
}

/// The estimated size of a side of a join.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    pub rows: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub left: Size,
    pub right: Size,
}

fn size(plan: &Relational, lowered: &Lowered) -> Size {
    let row = row_bytes(&lowered.plan.schema()) as u64 + HASH_ENTRY_BYTES;
    Size {
        rows: plan.rows,
        bytes: plan.rows.saturating_mul(row),
    }
}

fn null_equality(spec: &JoinSpec) -> NullEquality {
    match spec.nulls_equal {
        true => NullEquality::NullEqualsNull,
        false => NullEquality::NullEqualsNothing,
    }
}

/// Returns DataFusion's type of a join. `is_exchanged` means that the left side is DataFusion's right input.
fn join_type(kind: JoinKind, is_exchanged: bool) -> JoinType {
    match (kind, is_exchanged) {
        (JoinKind::Inner, _) => JoinType::Inner,
        (JoinKind::Full, _) => JoinType::Full,
        (JoinKind::Left, false) => JoinType::Left,
        (JoinKind::Left, true) => JoinType::Right,
        (JoinKind::Semi, false) => JoinType::LeftSemi,
        (JoinKind::Semi, true) => JoinType::RightSemi,
        (JoinKind::Anti, false) => JoinType::LeftAnti,
        (JoinKind::Anti, true) => JoinType::RightAnti,
    }
}

/// States that `probe` is sorted by its first column. A hash join keeps the order of its second input only if this
/// input states an order.
///
/// The rows of `probe` may have a different order. The guard above the join hides the stated order from other
/// operators.
fn in_stated_order(probe: Plan) -> Plan {
    let schema = probe.schema();
    let order = schema.fields().first().and_then(|_| {
        let first = column_at(&schema, 0);
        LexOrdering::new([PhysicalSortExpr::new(first, SortOptions::default())])
    });
    Guard::ordered(probe, order)
}

/// For each key of a join, the expressions of both sides.
type KeyPairs = Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>;

fn pairs(on: &[(ColumnId, ColumnId)], left: &Lowered, right: &Lowered) -> Result<KeyPairs> {
    let column = |side: &Lowered, id: ColumnId| match side.columns.iter().position(|own| *own == id)
    {
        Some(index) => Ok(column_at(&side.plan.schema(), index)),
        None => internal(format!("key {} is not part of the rows", id.0)),
    };
    let pairs = on
        .iter()
        .map(|(a, b)| Ok((column(left, *a)?, column(right, *b)?)));
    pairs.collect()
}

/// Returns the two sides of a join, each with the indices of its keys.
fn compared(
    on: &[(ColumnId, ColumnId)],
    [left, right]: [&Lowered; 2],
) -> Result<[(Plan, Vec<usize>); 2]> {
    let places = |side: &Lowered, keys: Vec<ColumnId>| {
        let places = keys.into_iter().map(|key| {
            let place = side.columns.iter().position(|own| *own == key);
            place.map_or_else(|| internal("a key is missing".to_owned()), Ok)
        });
        places.collect::<Result<Vec<usize>>>()
    };
    let (left_keys, right_keys) = on.iter().copied().unzip();
    Ok([
        (left.plan.clone(), places(left, left_keys)?),
        (right.plan.clone(), places(right, right_keys)?),
    ])
}

/// Describes the rows of a join. `build` is DataFusion's left input, and `probe` its right input.
fn joined(plan: Plan, build: &Lowered, probe: &Lowered, join_type: JoinType) -> Lowered {
    let columns = match join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => build.columns.clone(),
        JoinType::RightSemi | JoinType::RightAnti => probe.columns.clone(),
        _ => build
            .columns
            .iter()
            .chain(&probe.columns)
            .copied()
            .collect(),
    };
    Lowered {
        plan,
        columns,
        constants: Default::default(),
        arrival: Arrival::Unknown,
    }
}
