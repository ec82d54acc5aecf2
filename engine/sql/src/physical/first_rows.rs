//! LIMIT and OFFSET: the first rows of an input, without some at the start.

use std::sync::Arc;
use std::task::{Poll, ready};

use datafusion_common::Result;
use datafusion_execution::TaskContext;
use futures::StreamExt;

use super::operator::{Batches, Node, Operator, Plan};

/// Passes on `fetch` rows after the first `skip`.
#[derive(Debug)]
pub(crate) struct FirstRows {
    skip: usize,
    fetch: usize,
    /// Whether all rows are read. A row that fails then fails with every size of batches.
    reads_all: bool,
}

impl FirstRows {
    pub(crate) fn plan(input: Plan, skip: usize, fetch: Option<usize>, reads_all: bool) -> Plan {
        let first = FirstRows {
            skip,
            fetch: fetch.unwrap_or(usize::MAX),
            reads_all,
        };
        Node::above(first, input)
    }
}

impl Operator for FirstRows {
    const NAME: &'static str = "FirstRows";
    const KEEPS_ORDER: &'static [bool] = &[true];

    fn details(&self) -> String {
        format!("skip={}, fetch={}", self.skip, self.fetch)
    }

    fn start(&self, node: &Node<FirstRows>, context: &Arc<TaskContext>) -> Result<Batches> {
        let (mut skip, mut left, reads_all) = (self.skip, self.fetch, self.reads_all);
        let mut input = node.input(0, context)?;
        Ok(Box::pin(futures::stream::poll_fn(move |context| {
            loop {
                if left == 0 && !reads_all {
                    return Poll::Ready(None);
                }
                let batch = match ready!(input.poll_next_unpin(context)) {
                    Some(Ok(batch)) => batch,
                    end => return Poll::Ready(end),
                };
                let start = skip.min(batch.num_rows());
                let rows = left.min(batch.num_rows() - start);
                skip -= start;
                left -= rows;
                if rows > 0 {
                    return Poll::Ready(Some(Ok(batch.slice(start, rows))));
                }
            }
        })))
    }
}
