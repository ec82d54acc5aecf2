//! Accumulators of exact sums: for one group, for many groups, and for a sliding window.

use std::collections::HashMap;

use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder, BooleanArray, Float64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use datafusion_common::Result;
use datafusion_common::ScalarValue;
use datafusion_common::internal_datafusion_err;
use datafusion_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::sync::Arc;

use super::statistic::Statistic;
use super::sum::{Change, ExactSum, read_word};

/// The number of values, their sum, and the sum of their squares if `SUMS` is 2.
#[derive(Debug, Clone)]
struct Moments<const SUMS: usize> {
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

impl<const SUMS: usize> Moments<SUMS> {
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

    fn heap(&self) -> usize {
        self.sums.iter().map(ExactSum::heap).sum()
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.count.to_le_bytes());
        for sum in &self.sums {
            sum.write(out);
        }
    }

    fn merge(&mut self, mut state: &[u8]) -> Result<()> {
        let truncated = || internal_datafusion_err!("the state of a sum is truncated");
        self.count += read_word(&mut state).ok_or_else(truncated)?;
        for sum in &mut self.sums {
            sum.merge(&ExactSum::read(&mut state).ok_or_else(truncated)?);
        }
        Ok(())
    }
}

/// Returns the argument of a statistic as doubles.
fn doubles(values: &[ArrayRef]) -> Result<Float64Array> {
    let values = cast(&values[0], &DataType::Float64)?;
    Ok(values.as_primitive::<Float64Type>().clone())
}

/// The accumulator of one group. It stores DISTINCT values with their number of occurrences, so that a sliding window
/// can remove values again.
#[derive(Debug)]
pub(super) struct Group<const SUMS: usize> {
    statistic: Statistic,
    moments: Moments<SUMS>,
    distinct: Option<HashMap<u64, u64>>,
}

impl<const SUMS: usize> Group<SUMS> {
    pub(super) fn new(statistic: Statistic, is_distinct: bool) -> Group<SUMS> {
        Group {
            statistic,
            moments: Moments::default(),
            distinct: is_distinct.then(HashMap::new),
        }
    }

    fn change(&mut self, values: &[ArrayRef], change: Change) -> Result<()> {
        for value in doubles(values)?.iter().flatten() {
            self.change_value(value, change);
        }
        Ok(())
    }

    fn change_value(&mut self, value: f64, change: Change) {
        if let Some(distinct) = &mut self.distinct {
            // 0.0 and -0.0 are the same value, as in GROUP BY.
            let bits = (value + 0.0).to_bits();
            let times = distinct.entry(bits).or_default();
            match change {
                Change::Add => *times += 1,
                Change::Remove => *times = times.saturating_sub(1),
            }
            match (change, *times) {
                (Change::Add, 1) => {}
                (Change::Remove, 0) => {
                    distinct.remove(&bits);
                }
                _ => return,
            }
        }
        self.moments.change(value, change);
    }
}

impl<const SUMS: usize> Accumulator for Group<SUMS> {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.change(values, Change::Add)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.change(values, Change::Remove)
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self
            .statistic
            .of_sums(self.moments.count, &self.moments.sums);
        Ok(ScalarValue::Float64(value))
    }

    fn size(&self) -> usize {
        let entries = self.distinct.as_ref().map_or(0, HashMap::capacity);
        size_of::<Self>() + self.moments.heap() + entries * (size_of::<(u64, u64)>() + 1)
    }

    /// Returns the sums, or the distinct values.
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = Vec::new();
        match &self.distinct {
            Some(distinct) => {
                let values = distinct.keys().flat_map(|value| value.to_le_bytes());
                state.extend(values);
            }
            None => self.moments.write(&mut state),
        }
        Ok(vec![ScalarValue::Binary(Some(state))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        for mut state in states[0].as_binary::<i32>().iter().flatten() {
            if self.distinct.is_none() {
                self.moments.merge(state)?;
                continue;
            }
            while let Some(value) = read_word(&mut state) {
                self.change_value(f64::from_bits(value), Change::Add);
            }
        }
        Ok(())
    }
}

/// The accumulator of many groups.
#[derive(Debug)]
pub(super) struct Groups<const SUMS: usize> {
    statistic: Statistic,
    groups: Vec<Moments<SUMS>>,
    /// Heap size of the groups, in bytes.
    heap: usize,
}

impl<const SUMS: usize> Groups<SUMS> {
    pub(super) fn new(statistic: Statistic) -> Groups<SUMS> {
        Groups {
            statistic,
            groups: Vec::new(),
            heap: 0,
        }
    }

    fn update(
        &mut self,
        group: usize,
        change: impl FnOnce(&mut Moments<SUMS>) -> Result<()>,
    ) -> Result<()> {
        let Some(moments) = self.groups.get_mut(group) else {
            return Ok(());
        };
        let before = moments.heap();
        change(moments)?;
        self.heap += moments.heap() - before;
        Ok(())
    }

    fn take(&mut self, emit: EmitTo) -> Vec<Moments<SUMS>> {
        let taken = emit.take_needed(&mut self.groups);
        let heap: usize = taken.iter().map(Moments::heap).sum();
        self.heap = self.heap.saturating_sub(heap);
        taken
    }
}

impl<const SUMS: usize> GroupsAccumulator for Groups<SUMS> {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        self.groups.resize_with(count, Moments::default);
        for (row, (value, group)) in doubles(values)?.iter().zip(groups).enumerate() {
            let is_chosen = filter.is_none_or(|filter| filter.is_valid(row) && filter.value(row));
            if let (Some(value), true) = (value, is_chosen) {
                self.update(*group, |moments| {
                    moments.change(value, Change::Add);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let statistic = self.statistic;
        let groups = self.take(emit).into_iter();
        let values = groups.map(|group| statistic.of_sums(group.count, &group.sums));
        Ok(Arc::new(values.collect::<Float64Array>()))
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
        self.groups.resize_with(count, Moments::default);
        let states = states[0].as_binary::<i32>().iter();
        for (state, group) in states.zip(groups) {
            if let Some(state) = state {
                self.update(*group, |moments| moments.merge(state))?;
            }
        }
        Ok(())
    }

    /// Returns the state that results if each row is a separate group.
    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, Array::len);
        let groups: Vec<usize> = (0..rows).collect();
        let mut alone = Groups::<SUMS>::new(self.statistic);
        alone.update_batch(values, &groups, filter, rows)?;
        alone.state(EmitTo::All)
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Moments<SUMS>>() + self.heap
    }
}
