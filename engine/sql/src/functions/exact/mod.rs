//! Aggregates of doubles whose results do not depend on the order of the rows.
//!
//! The floating-point sum of doubles depends on the order of the additions, and the order in which DataFusion merges
//! groups depends on the memory limit. In this module, doubles are added exactly (`sum`), and the result is rounded
//! once (`round`, `statistic`). So the result is the same in every order, and it is the double nearest to the exact
//! value.

mod moments;
mod round;
mod statistic;
mod sum;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::Result;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::format_state_name;
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator};

use super::describe_like_plain;
use moments::{Group, Groups};
use statistic::Statistic;

/// Returns the exact version of an aggregate. `None` if the aggregate does not add doubles.
pub(super) fn exact(plain: &Arc<AggregateUDF>) -> Option<Arc<AggregateUDF>> {
    let statistic = Statistic::from_function(plain)?;
    let plain = plain.clone();
    Some(Arc::new(AggregateUDF::from(Exact { plain, statistic })))
}

/// Computes the exact aggregate if the result is a double, and otherwise calls the original aggregate.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    plain: Arc<AggregateUDF>,
    statistic: Statistic,
}

fn is_double(result: &FieldRef) -> bool {
    *result.data_type() == DataType::Float64
}

impl AggregateUDFImpl for Exact {
    describe_like_plain!();

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if !is_double(&args.return_field) {
            return self.plain.accumulator(args);
        }
        let (statistic, is_distinct) = (self.statistic, args.is_distinct);
        Ok(match statistic.needs_squares() {
            false => Box::new(Group::<1>::new(statistic, is_distinct)),
            true => Box::new(Group::<2>::new(statistic, is_distinct)),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if !is_double(&args.return_field) {
            return self.plain.state_fields(args);
        }
        let name = format_state_name(args.name, "sums");
        Ok(vec![Arc::new(Field::new(name, DataType::Binary, true))])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        if is_double(&args.return_field) {
            !args.is_distinct
        } else {
            self.plain.groups_accumulator_supported(args)
        }
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        if !is_double(&args.return_field) {
            return self.plain.create_groups_accumulator(args);
        }
        let statistic = self.statistic;
        Ok(match statistic.needs_squares() {
            false => Box::new(Groups::<1>::new(statistic)),
            true => Box::new(Groups::<2>::new(statistic)),
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if is_double(&args.return_field) {
            self.accumulator(args)
        } else {
            self.plain.create_sliding_accumulator(args)
        }
    }
}
