//! A `sum` of integers that fails if the result exceeds 64 bits. It adds in 128 bits, so that only the final result can
//! overflow, whatever the order of the rows.

use std::collections::HashMap;
use std::hash::Hash;
use std::marker::PhantomData;
use std::mem::size_of;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BooleanArray, Decimal128Array, PrimitiveArray,
    PrimitiveBuilder,
};
use arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type};
use datafusion_common::Result;
use datafusion_functions_aggregate::sum::Sum as Plain;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::format_state_name;
use datafusion_expr::{Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator};
use datafusion_common::ScalarValue;
use prep_failure::Failure;

use super::describe_like_plain;
use crate::error::FunctionError;

/// The aggregate `sum`: DataFusion's implementation for floats, and the checked sum for integers.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Sum {
    plain: Plain,
}

/// Decimal digits of the intermediate sum of 64-bit integers.
const SUM_DIGITS: u8 = 38;

fn is_64_bit_integer(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Int64 | DataType::UInt64)
}

impl AggregateUDFImpl for Sum {
    describe_like_plain!();

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        match args.return_field.data_type() {
            DataType::Int64 => Ok(Box::new(Total::<Int64Type>::new(args.is_distinct))),
            DataType::UInt64 => Ok(Box::new(Total::<UInt64Type>::new(args.is_distinct))),
            _ => self.plain.accumulator(args),
        }
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let data_type = args.return_field.data_type();
        if args.is_distinct || !is_64_bit_integer(data_type) {
            return self.plain.state_fields(args);
        }
        let name = format_state_name(args.name, "sum");
        let state = Field::new(name, DataType::Decimal128(SUM_DIGITS, 0), true);
        Ok(vec![Arc::new(state)])
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        self.plain.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(
        &self,
        args: AccumulatorArgs,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        match args.return_field.data_type() {
            DataType::Int64 => Ok(Box::<Totals<Int64Type>>::default()),
            DataType::UInt64 => Ok(Box::<Totals<UInt64Type>>::default()),
            _ => self.plain.create_groups_accumulator(args),
        }
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        if is_64_bit_integer(args.return_field.data_type()) {
            self.accumulator(args)
        } else {
            self.plain.create_sliding_accumulator(args)
        }
    }
}

fn narrow<T>(sum: i128) -> Result<T::Native>
where
    T: ArrowPrimitiveType,
    T::Native: TryFrom<i128>,
{
    let beyond = || {
        FunctionError::error(
            Failure::Pipeline,
            format!("sum() exceeds 64-bit integers: {sum}"),
        )
    };
    T::Native::try_from(sum).map_err(|_| beyond())
}

/// The accumulator of one sum. It stores DISTINCT values with their number of occurrences, so that a sliding window can
/// remove values again.
#[derive(Debug)]
struct Total<T: ArrowPrimitiveType> {
    sum: i128,
    count: u64,
    distinct: Option<HashMap<T::Native, u64>>,
}

impl<T> Total<T>
where
    T: ArrowPrimitiveType,
    T::Native: Hash + Eq,
{
    fn new(is_distinct: bool) -> Total<T> {
        Total {
            sum: 0,
            count: 0,
            distinct: is_distinct.then(HashMap::new),
        }
    }
}

impl<T> Accumulator for Total<T>
where
    T: ArrowPrimitiveType + Send + Sync + std::fmt::Debug,
    T::Native: Hash + Eq + Into<i128> + TryFrom<i128>,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<T>().iter().flatten() {
            self.count += 1;
            if let Some(distinct) = &mut self.distinct {
                let times = distinct.entry(value).or_default();
                *times += 1;
                if *times > 1 {
                    continue;
                }
            }
            self.sum += value.into();
        }
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for value in values[0].as_primitive::<T>().iter().flatten() {
            self.count = self.count.saturating_sub(1);
            if let Some(distinct) = &mut self.distinct {
                let times = distinct.entry(value).or_default();
                *times = times.saturating_sub(1);
                if *times > 0 {
                    continue;
                }
                distinct.remove(&value);
            }
            self.sum -= value.into();
        }
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = match self.count {
            0 => None,
            _ => Some(narrow::<T>(self.sum)?),
        };
        ScalarValue::new_primitive::<T>(sum, &T::DATA_TYPE)
    }

    fn size(&self) -> usize {
        let entries = self.distinct.as_ref().map_or(0, HashMap::capacity);
        size_of::<Self>() + entries * (size_of::<T::Native>() + 9)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        if let Some(distinct) = &self.distinct {
            let values = distinct.keys();
            let values =
                values.map(|value| ScalarValue::new_primitive::<T>(Some(*value), &T::DATA_TYPE));
            let values = values.collect::<Result<Vec<_>>>()?;
            let list = ScalarValue::new_list_nullable(&values, &T::DATA_TYPE);
            return Ok(vec![ScalarValue::List(list)]);
        }
        let sum = (self.count > 0).then_some(self.sum);
        Ok(vec![ScalarValue::Decimal128(sum, SUM_DIGITS, 0)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        if self.distinct.is_some() {
            let lists = states[0].as_list::<i32>().iter().flatten();
            for values in lists.collect::<Vec<_>>() {
                self.update_batch(&[values])?;
            }
            return Ok(());
        }
        for sum in states[0].as_primitive::<Decimal128Type>().iter().flatten() {
            self.sum += sum;
            self.count += 1;
        }
        Ok(())
    }
}

/// A sum for each group. `None` if no value was added.
#[derive(Debug)]
struct Totals<T> {
    sums: Vec<Option<i128>>,
    values: PhantomData<T>,
}

impl<T> Default for Totals<T> {
    fn default() -> Totals<T> {
        Totals {
            sums: Vec::new(),
            values: PhantomData,
        }
    }
}

impl<T> Totals<T> {
    fn add(
        &mut self,
        values: impl Iterator<Item = Option<i128>>,
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) {
        self.sums.resize(count, None);
        for (row, (value, group)) in values.zip(groups).enumerate() {
            let is_chosen = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            let (Some(value), true) = (value, is_chosen) else {
                continue;
            };
            if let Some(sum) = self.sums.get_mut(*group) {
                *sum = Some(sum.unwrap_or(0) + value);
            }
        }
    }
}

fn decimals(sums: Vec<Option<i128>>) -> Result<ArrayRef> {
    let array = Decimal128Array::from(sums).with_precision_and_scale(SUM_DIGITS, 0)?;
    Ok(Arc::new(array))
}

impl<T> GroupsAccumulator for Totals<T>
where
    T: ArrowPrimitiveType + Send + Sync,
    T::Native: Into<i128> + TryFrom<i128>,
{
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        let values = values[0].as_primitive::<T>().iter();
        self.add(
            values.map(|value| value.map(Into::into)),
            groups,
            filter,
            count,
        );
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let sums = emit.take_needed(&mut self.sums);
        let mut array = PrimitiveBuilder::<T>::with_capacity(sums.len());
        for sum in sums {
            array.append_option(sum.map(narrow::<T>).transpose()?);
        }
        let array: PrimitiveArray<T> = array.finish();
        Ok(Arc::new(array))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![decimals(emit.take_needed(&mut self.sums))?])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        let values = values[0].as_primitive::<Decimal128Type>().iter();
        self.add(values, groups, None, count);
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let values = values[0].as_primitive::<T>().iter().enumerate();
        let states = values.map(|(row, value)| {
            let is_chosen = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            value.filter(|_| is_chosen).map(Into::into)
        });
        Ok(vec![decimals(states.collect())?])
    }

    fn size(&self) -> usize {
        self.sums.capacity() * size_of::<Option<i128>>()
    }
}
