//! Window functions in parts.
//!
//! An operator of window functions holds all of its rows. Where they are divided by `PARTITION BY`, they come sorted by
//! what divides them, and what is computed of a partition does not depend on others: so whole partitions are collected until
//! there are enough rows, and computed. A sort goes to disk; what is held is a few partitions, or a single large one.

use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{concat, partition};
use arrow::datatypes::SchemaRef;
use datafusion::common::config::ConfigOptions;
use datafusion::common::internal_err;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, WindowExpr,
};
use futures::StreamExt;

/// Rows that are collected at least, where partitions are small.
const ROWS: usize = 1 << 16;

#[derive(Debug)]
pub(super) struct WindowsInParts;

impl PhysicalOptimizerRule for WindowsInParts {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let Some(window) = plan.downcast_ref::<WindowAggExec>() else {
                return Ok(Transformed::no(plan));
            };
            let divided = window.window_expr().first();
            let keys = divided.map_or(&[][..], |one| one.partition_by()).to_vec();
            if keys.is_empty() {
                return Ok(Transformed::no(plan));
            }
            let parts = Parts {
                keys,
                exprs: window.window_expr().to_vec(),
                properties: window.properties().clone(),
                input: window.input().clone(),
            };
            Ok(Transformed::yes(Arc::new(parts) as Arc<dyn ExecutionPlan>))
        })
        .data()
    }

    fn name(&self) -> &str {
        "windows_in_parts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Window functions over an input that is sorted by their partitions.
#[derive(Debug, Clone)]
struct Parts {
    /// What divides the rows.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    exprs: Vec<Arc<dyn WindowExpr>>,
    properties: Arc<PlanProperties>,
    input: Arc<dyn ExecutionPlan>,
}

impl DisplayAs for Parts {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.exprs.iter().map(|expr| expr.name()).collect();
        write!(f, "WindowsInParts: {}", names.join(", "))
    }
}

impl ExecutionPlan for Parts {
    fn name(&self) -> &'static str {
        "WindowsInParts"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) if children.is_empty() => Ok(Arc::new(Parts {
                input,
                ..self.as_ref().clone()
            })),
            _ => internal_err!("window functions have one child"),
        }
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, options)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("windows").register(context.memory_pool());
        let collecting = Collecting {
            input: self.input.execute(partition, context.clone())?,
            parts: self.clone(),
            context,
            held: Vec::new(),
            rows: 0,
            computing: None,
            is_through: false,
            reservation,
        };
        let computed = futures::stream::try_unfold(collecting, Collecting::next);
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            computed,
        )))
    }
}

/// Partitions on their way.
struct Collecting {
    input: SendableRecordBatchStream,
    parts: Parts,
    context: Arc<TaskContext>,
    /// Rows that wait until their partition is whole.
    held: Vec<RecordBatch>,
    rows: usize,
    /// Whole partitions, computed.
    computing: Option<SendableRecordBatchStream>,
    is_through: bool,
    reservation: MemoryReservation,
}

impl Collecting {
    async fn next(mut self) -> Result<Option<(RecordBatch, Collecting)>> {
        loop {
            if let Some(computing) = &mut self.computing {
                if let Some(batch) = computing.next().await {
                    return Ok(Some((batch?, self)));
                }
                self.computing = None;
                let held: usize = self.held.iter().map(taken).sum();
                self.reservation.try_resize(held)?;
            } else if self.is_through {
                if self.held.is_empty() {
                    return Ok(None);
                }
                let last = std::mem::take(&mut self.held);
                self.compute(last)?;
            } else {
                match self.input.next().await {
                    None => self.is_through = true,
                    Some(batch) => self.collect(batch?)?,
                }
            }
        }
    }

    fn collect(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.reservation.try_grow(taken(&batch))?;
        // Not where each batch would have to be searched in vain.
        let start = match self.rows + batch.num_rows() < ROWS {
            true => None,
            false => self.last_partition(&batch)?,
        };
        match start {
            None => {
                self.rows += batch.num_rows();
                self.held.push(batch);
            }
            Some(start) => {
                let rest = batch.slice(start, batch.num_rows() - start);
                let mut whole = std::mem::take(&mut self.held);
                if start > 0 {
                    whole.push(batch.slice(0, start));
                }
                self.rows = rest.num_rows();
                self.held = vec![rest];
                self.compute(whole)?;
            }
        }
        Ok(())
    }

    /// Where in a batch its last partition starts, if rows of another one come before.
    fn last_partition(&self, batch: &RecordBatch) -> Result<Option<usize>> {
        let keys = self.keys(batch)?;
        let last = partition(&keys)?.ranges().last().map_or(0, |one| one.start);
        if last > 0 {
            return Ok(Some(last));
        }
        let Some(before) = self.held.last() else {
            return Ok(None);
        };
        let before = self.keys(&before.slice(before.num_rows() - 1, 1))?;
        let both = before.iter().zip(&keys);
        let both = both.map(|(one, other)| Ok(concat(&[one.as_ref(), &other.slice(0, 1)])?));
        let both = both.collect::<Result<Vec<ArrayRef>>>()?;
        Ok((partition(&both)?.len() > 1).then_some(0))
    }

    fn keys(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        let rows = batch.num_rows();
        let keys = self.parts.keys.iter();
        keys.map(|key| key.evaluate(batch)?.into_array(rows))
            .collect()
    }

    fn compute(&mut self, batches: Vec<RecordBatch>) -> Result<()> {
        let whole = Arc::new(Whole {
            properties: self.parts.input.properties().clone(),
            schema: self.parts.input.schema(),
            batches,
        });
        let window = WindowAggExec::try_new(self.parts.exprs.clone(), whole, false)?;
        self.computing = Some(window.execute(0, self.context.clone())?);
        Ok(())
    }
}

/// What a batch takes: it is copied when it is computed with.
fn taken(batch: &RecordBatch) -> usize {
    2 * batch.get_array_memory_size()
}

/// Partitions as an input that has all the properties of the one that they are of.
#[derive(Debug)]
struct Whole {
    properties: Arc<PlanProperties>,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl DisplayAs for Whole {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Whole")
    }
}

impl ExecutionPlan for Whole {
    fn name(&self) -> &'static str {
        "Whole"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batches = self.batches.clone().into_iter().map(Ok);
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema.clone(),
            futures::stream::iter(batches),
        )))
    }
}
