//! Aggregates of numbers that do not depend on the order of the rows.
//!
//! A floating-point sum depends on the order of its terms. In DataFusion, this order depends on the memory limit. Here,
//! doubles are added exactly (`sum`), and the exact value is rounded once (`round`, `statistic`).

mod moments;
mod round;
mod statistic;
mod sum;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::Result;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::format_state_name;
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, GroupsAccumulator};

use super::describe_like_plain;
use moments::{Group, Groups, Integers, Moments};
use statistic::Statistic;

/// Returns the exact version of an aggregate. `None` if the aggregate does not add numbers.
pub(super) fn exact(plain: &Arc<AggregateUDF>) -> Option<Arc<AggregateUDF>> {
    let statistic = Statistic::from_function(plain)?;
    let plain = plain.clone();
    Some(Arc::new(AggregateUDF::from(Exact { plain, statistic })))
}

/// An aggregate with exact sums. Types other than integers and doubles use `plain`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Exact {
    plain: Arc<AggregateUDF>,
    statistic: Statistic,
}

/// The type of the values that an aggregate adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Summands {
    Integers,
    Doubles,
    /// Doubles, and their squares.
    Squares,
    /// Values of another type, which the original aggregate of DataFusion adds.
    Other,
}

impl Exact {
    fn summands(&self, result: &FieldRef) -> Summands {
        match result.data_type() {
            DataType::Int64 => Summands::Integers,
            DataType::Float64 if self.statistic.needs_squares() => Summands::Squares,
            DataType::Float64 => Summands::Doubles,
            _ => Summands::Other,
        }
    }
}

impl AggregateUDFImpl for Exact {
    describe_like_plain!();

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let (statistic, is_distinct) = (self.statistic, args.is_distinct);
        Ok(match self.summands(&args.return_field) {
            Summands::Integers => Box::new(Group::<Integers>::new(statistic, is_distinct)),
            Summands::Doubles => Box::new(Group::<Moments<1>>::new(statistic, is_distinct)),
            Summands::Squares => Box::new(Group::<Moments<2>>::new(statistic, is_distinct)),
            Summands::Other => return self.plain.accumulator(args),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        if self.summands(&args.return_field) == Summands::Other {
            return self.plain.state_fields(args);
        }
        let name = format_state_name(args.name, "sums");
        Ok(vec![Arc::new(Field::new(name, DataType::Binary, true))])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        match self.summands(&args.return_field) {
            Summands::Other => self.plain.groups_accumulator_supported(args),
            _ => !args.is_distinct,
        }
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        let statistic = self.statistic;
        Ok(match self.summands(&args.return_field) {
            Summands::Integers => Box::new(Groups::<Integers>::new(statistic)),
            Summands::Doubles => Box::new(Groups::<Moments<1>>::new(statistic)),
            Summands::Squares => Box::new(Groups::<Moments<2>>::new(statistic)),
            Summands::Other => return self.plain.create_groups_accumulator(args),
        })
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match self.summands(&args.return_field) {
            Summands::Other => self.plain.create_sliding_accumulator(args),
            _ => self.accumulator(args),
        }
    }
}
