//! Accumulators of exact sums: for one group, for many groups, and for a sliding window.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, BinaryBuilder, BooleanArray, PrimitiveBuilder,
};
use arrow::compute::cast;
use arrow::datatypes::{Float64Type, Int64Type};
use datafusion_common::{Result, ScalarValue, internal_datafusion_err};
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};
use prep_failure::Failure;

use super::statistic::Statistic;
use super::sum::{Change, ExactSum, read_word};
use crate::error::FunctionError;
use crate::functions::canonical::key;

/// The sums from which a statistic of a group is computed.
pub(super) trait Sums: Debug + Default + Send + Sync + 'static {
    /// The type of the values and of the statistic.
    type Values: ArrowPrimitiveType;

    fn change(&mut self, value: Native<Self>, change: Change);
    fn result(&self, statistic: Statistic) -> Result<Option<Native<Self>>>;
    /// Returns the memory on the heap in bytes.
    fn heap(&self) -> usize;
    /// Appends the serialized state to `out`.
    fn write(&self, out: &mut Vec<u8>);
    /// Adds a serialized state. `None` if the state is truncated.
    fn merge(&mut self, state: &[u8]) -> Option<()>;
    /// Returns the bits of a value. Implementations must return equal bits for equal values.
    fn bits(value: Native<Self>) -> u64;
    /// Returns the value with these bits.
    fn value(bits: u64) -> Native<Self>;
}

type Native<S> = <<S as Sums>::Values as ArrowPrimitiveType>::Native;

/// The number of integers, and their sum. The sum of 2^64 integers fits into 128 bits.
#[derive(Debug, Default)]
pub(super) struct Integers {
    count: u64,
    sum: i128,
}

impl Sums for Integers {
    type Values = Int64Type;

    fn change(&mut self, value: i64, change: Change) {
        let value = i128::from(value);
        match change {
            Change::Add => (self.count, self.sum) = (self.count + 1, self.sum + value),
            Change::Remove => (self.count, self.sum) = (self.count - 1, self.sum - value),
        }
    }

    fn result(&self, _: Statistic) -> Result<Option<i64>> {
        if self.count == 0 {
            return Ok(None);
        }
        let beyond = |_| {
            let message = format!("sum() exceeds 64-bit integers: {}", self.sum);
            FunctionError::error(Failure::Pipeline, message)
        };
        i64::try_from(self.sum).map(Some).map_err(beyond)
    }

    fn heap(&self) -> usize {
        0
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.count.to_le_bytes());
        out.extend(self.sum.to_le_bytes());
    }

    fn merge(&mut self, mut state: &[u8]) -> Option<()> {
        self.count += read_word(&mut state)?;
        self.sum += i128::from_le_bytes(state.try_into().ok()?);
        Some(())
    }

    fn bits(value: i64) -> u64 {
        value as u64
    }

    fn value(bits: u64) -> i64 {
        bits as i64
    }
}

/// The number of doubles, their sum, and with `SUMS == 2` also the sum of their squares.
#[derive(Debug)]
pub(super) struct Moments<const SUMS: usize> {
    count: u64,
    sums: [ExactSum; SUMS],
}

impl<const SUMS: usize> Default for Moments<SUMS> {
    fn default() -> Moments<SUMS> {
        Moments {
            count: 0,
            sums: std::array::from_fn(|_| ExactSum::default()),
        }
    }
}

impl<const SUMS: usize> Sums for Moments<SUMS> {
    type Values = Float64Type;

    fn change(&mut self, value: f64, change: Change) {
        self.count = match change {
            Change::Add => self.count + 1,
            Change::Remove => self.count.saturating_sub(1),
        };
        let [sum, squares @ ..] = self.sums.as_mut_slice() else {
            return;
        };
        sum.change(value, change);
        if let [squares] = squares
            && value.is_finite()
        {
            squares.change_square(value, change);
        }
    }

    fn result(&self, statistic: Statistic) -> Result<Option<f64>> {
        Ok(statistic.of_sums(self.count, &self.sums))
    }

    fn heap(&self) -> usize {
        self.sums.iter().map(ExactSum::heap).sum()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.count.to_le_bytes());
        for sum in &self.sums {
            sum.write(out);
        }
    }

    fn merge(&mut self, mut state: &[u8]) -> Option<()> {
        self.count += read_word(&mut state)?;
        for sum in &mut self.sums {
            sum.merge(&ExactSum::read(&mut state)?);
        }
        Some(())
    }

    fn bits(value: f64) -> u64 {
        key(value).to_bits()
    }

    fn value(bits: u64) -> f64 {
        f64::from_bits(bits)
    }
}

fn merge<S: Sums>(sums: &mut S, state: &[u8]) -> Result<()> {
    let truncated = || internal_datafusion_err!("the state of a sum is truncated");
    sums.merge(state).ok_or_else(truncated)
}

/// Calls `change` with the row and value of each value that is not NULL.
fn for_each<S: Sums>(values: &[ArrayRef], mut change: impl FnMut(usize, Native<S>)) -> Result<()> {
    let values = cast(&values[0], &S::Values::DATA_TYPE)?;
    for (row, value) in values.as_primitive::<S::Values>().iter().enumerate() {
        if let Some(value) = value {
            change(row, value);
        }
    }
    Ok(())
}

/// The accumulator of a group or sliding window. With DISTINCT, `distinct` contains the added values.
#[derive(Debug)]
pub(super) struct Group<S> {
    statistic: Statistic,
    sums: S,
    distinct: Option<HashSet<u64>>,
}

impl<S: Sums> Group<S> {
    pub(super) fn new(statistic: Statistic, is_distinct: bool) -> Group<S> {
        Group {
            statistic,
            sums: S::default(),
            distinct: is_distinct.then(HashSet::new),
        }
    }

    fn add(&mut self, value: Native<S>) {
        let distinct = self.distinct.as_mut();
        if distinct.is_none_or(|distinct| distinct.insert(S::bits(value))) {
            self.sums.change(value, Change::Add);
        }
    }
}

impl<S: Sums> Accumulator for Group<S> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for_each::<S>(values, |_, value| self.add(value))
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        for_each::<S>(values, |_, value| self.sums.change(value, Change::Remove))
    }

    fn supports_retract_batch(&self) -> bool {
        self.distinct.is_none()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result = self.sums.result(self.statistic)?;
        ScalarValue::new_primitive::<S::Values>(result, &S::Values::DATA_TYPE)
    }

    fn size(&self) -> usize {
        let entries = self.distinct.as_ref().map_or(0, HashSet::capacity);
        size_of::<Self>() + self.sums.heap() + entries * (size_of::<u64>() + 1)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = Vec::new();
        match &self.distinct {
            Some(distinct) => state.extend(distinct.iter().flat_map(|bits| bits.to_le_bytes())),
            None => self.sums.write(&mut state),
        }
        Ok(vec![ScalarValue::Binary(Some(state))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for mut state in states[0].as_binary::<i32>().iter().flatten() {
            if self.distinct.is_none() {
                merge(&mut self.sums, state)?;
                continue;
            }
            while let Some(bits) = read_word(&mut state) {
                self.add(S::value(bits));
            }
        }
        Ok(())
    }
}

/// The accumulator of many groups.
#[derive(Debug)]
pub(super) struct Groups<S> {
    statistic: Statistic,
    groups: Vec<S>,
    /// Memory of all groups on the heap in bytes.
    heap: usize,
}

impl<S: Sums> Groups<S> {
    pub(super) fn new(statistic: Statistic) -> Groups<S> {
        Groups {
            statistic,
            groups: Vec::new(),
            heap: 0,
        }
    }

    /// Changes the sums of a group, and updates `heap`.
    fn update<T>(&mut self, group: usize, change: impl FnOnce(&mut S) -> T) -> Option<T> {
        let sums = self.groups.get_mut(group)?;
        let before = sums.heap();
        let changed = change(sums);
        self.heap += sums.heap() - before;
        Some(changed)
    }

    /// Removes and returns the groups that DataFusion requests.
    fn take(&mut self, emit: EmitTo) -> Vec<S> {
        let taken = emit.take_needed(&mut self.groups);
        let heap: usize = taken.iter().map(Sums::heap).sum();
        self.heap = self.heap.saturating_sub(heap);
        taken
    }
}

impl<S: Sums> GroupsAccumulator for Groups<S> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.groups.resize_with(count, S::default);
        for_each::<S>(values, |row, value| {
            if filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row)) {
                self.update(groups[row], |sums| sums.change(value, Change::Add));
            }
        })
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let groups = self.take(emit);
        let mut results = PrimitiveBuilder::<S::Values>::with_capacity(groups.len());
        for group in groups {
            results.append_option(group.result(self.statistic)?);
        }
        Ok(Arc::new(results.finish()))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.take(emit);
        let mut states = BinaryBuilder::with_capacity(groups.len(), 32 * groups.len());
        let mut state = Vec::new();
        for group in groups {
            state.clear();
            group.write(&mut state);
            states.append_value(&state);
        }
        Ok(vec![Arc::new(states.finish())])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.groups.resize_with(count, S::default);
        let states = states[0].as_binary::<i32>().iter();
        for (state, group) in states.zip(groups) {
            if let Some(state) = state {
                self.update(*group, |sums| merge(sums, state)).transpose()?;
            }
        }
        Ok(())
    }

    /// Returns a state for each row, as if each row were a group.
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, Array::len);
        let groups: Vec<usize> = (0..rows).collect();
        let mut alone = Groups::<S>::new(self.statistic);
        alone.update_batch(values, &groups, filter, rows)?;
        alone.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<S>() + self.heap
    }
}
