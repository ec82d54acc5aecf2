//! `min` and `max` of doubles in their total order.
//!
//! DataFusion's grouped `min` and `max` compare doubles with `<`, which does not order -0.0 and 0.0 or NaN, so the
//! result depends on the order of the rows. Its `max` also starts with the smallest finite double, which is greater
//! than -infinity. In this module, -0.0 is less than 0.0, and NaN is greater than all other numbers.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion_common::Result;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;

use super::describe_like_plain;

/// Returns the version of `min` or `max` that uses the total order. `None` for other functions.
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

/// Creates a groups accumulator for a floating-point type. It starts with the value at the opposite end of the order.
macro_rules! groups {
    ($self:ident, $type:ty, $native:ty, $data_type:expr) => {{
        let is_max = $self.is_max;
        let worst = <$native>::from_bits(<$native>::NAN.to_bits() | <$native>::MAX.to_bits());
        let choose = move |current: &mut $native, new: $native| {
            let order = new.total_cmp(current);
            if (is_max && order.is_gt()) || (!is_max && order.is_lt()) {
                *current = new;
            }
        };
        let first = if is_max { -worst } else { worst };
        let groups = PrimitiveGroupsAccumulator::<$type, _>::new(&$data_type, choose);
        Ok(Box::new(groups.with_starting_value(first)))
    }};
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
        match args.return_field.data_type() {
            DataType::Float64 => groups!(self, Float64Type, f64, DataType::Float64),
            DataType::Float32 => groups!(self, Float32Type, f32, DataType::Float32),
            _ => self.plain.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        self.plain.create_sliding_accumulator(args)
    }
}
