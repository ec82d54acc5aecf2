//! Predicate pushdown: moves conditions of WHERE down to the operators where they remove rows earliest.
//!
//! A condition that can fail because of a value is not moved. Further down, it could fail for rows that the query removes
//! before the condition is evaluated.

use std::sync::Arc;

use super::expr::{and, equated};
use super::{Expr, JoinKind, JoinSpec, Node, Relational};

/// Keeps the rows of a plan for which the condition is true, and evaluates the condition as early as possible.
pub(super) fn filter(plan: Relational, condition: Expr) -> Relational {
    if condition.can_fail() {
        return filtered(plan, condition);
    }
    let columns = condition.columns();
    match plan.node.as_ref() {
        Node::Compute { input, exprs } if columns.is_subset(&input.columns) => {
            let input = filter(input.clone(), condition);
            let exprs = exprs.clone();
            replaced(plan, |_| Node::Compute { input, exprs })
        }
        Node::Filter {
            input,
            condition: before,
        } => {
            let (input, before) = (input.clone(), before.clone());
            if before.can_fail() {
                let input = filter(input, condition);
                return replaced(plan, |_| Node::Filter {
                    input,
                    condition: before,
                });
            }
            let condition = and(before, condition);
            replaced(plan, |_| Node::Filter { input, condition })
        }
        Node::Join { left, right, spec } => {
            let is_inner = spec.kind == JoinKind::Inner;
            let (left, right, spec) = (left.clone(), right.clone(), spec.clone());
            let keeps_left = spec.kind != JoinKind::Full;
            if keeps_left && columns.is_subset(&left.columns) {
                let left = filter(left, condition);
                return replaced(plan, |_| Node::Join { left, right, spec });
            }
            if is_inner && !spec.is_unique && columns.is_subset(&right.columns) {
                let right = filter(right, condition);
                return replaced(plan, |_| Node::Join { left, right, spec });
            }
            let pair = equated(&condition, &left.columns, &right.columns);
            let pair = pair.and_then(|(a, b)| Some((a.as_column()?, b.as_column()?)));
            match pair {
                Some(pair) if is_inner && !spec.nulls_equal => {
                    let on = spec.on.iter().copied().chain([pair]).collect();
                    let rows = left.rows.max(right.rows);
                    let spec = JoinSpec { on, ..spec };
                    let joined = replaced(plan, |_| Node::Join { left, right, spec });
                    Relational { rows, ..joined }
                }
                _ => filtered(plan, condition),
            }
        }
        _ => filtered(plan, condition),
    }
}

/// Adds the condition above the plan.
fn filtered(plan: Relational, condition: Expr) -> Relational {
    let node = Node::Filter {
        input: plan.clone(),
        condition,
    };
    Relational::above(&plan, [], node)
}

/// Replaces the node of a plan. The new node must have the same columns and the same order.
fn replaced(plan: Relational, node: impl FnOnce(&Node) -> Node) -> Relational {
    let node = Arc::new(node(&plan.node));
    Relational { node, ..plan }
}
