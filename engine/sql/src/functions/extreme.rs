//! `min` and `max` of doubles in their total order: -0.0 is less than 0.0, and NaN is the greatest value.
//!
//! DataFusion's grouped `min` and `max` compare with `<`, which orders neither NaN nor the two zeros. Therefore the value of
//! these functions depends on the order of the rows.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Float64Type};
use datafusion_common::Result;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;

use super::describe_like_plain;

/// Returns `min` or `max` with the total order. `None` for other functions.
pub(super) fn ordered(plain: &Arc<AggregateUDF>) -> Option<Arc<AggregateUDF>> {
    let is_max = match plain.name() {
        "max" => true,
        "min" => false,
        _ => return None,
    };
    let plain = plain.clone();
    Some(Arc::new(AggregateUDF::from(Extreme { plain, is_max })))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    plain: Arc<AggregateUDF>,
    is_max: bool,
}

impl AggregateUDFImpl for Extreme {
    describe_like_plain!();

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.plain.accumulator(args)
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        self.plain.state_fields(args)
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.plain.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        if *args.return_field.data_type() != DataType::Float64 {
            return self.plain.create_groups_accumulator(args);
        }
        let is_max = self.is_max;
        let choose = move |current: &mut f64, new: f64| {
            let order = new.total_cmp(current);
            if (is_max && order.is_gt()) || (!is_max && order.is_lt()) {
                *current = new;
            }
        };
        // The greatest double in the total order: a NaN with all bits of the fraction.
        let greatest = f64::from_bits(f64::NAN.to_bits() | f64::MAX.to_bits());
        let starting_value = if is_max { -greatest } else { greatest };
        let groups = PrimitiveGroupsAccumulator::<Float64Type, _>::new(&DataType::Float64, choose);
        Ok(Box::new(groups.with_starting_value(starting_value)))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.plain.create_sliding_accumulator(args)
    }
}
