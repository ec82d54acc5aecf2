//! Rebalances chains of UNIONs.
//!
//! The parser converts `a UNION ALL b UNION ALL c ...` into a tree as deep as the chain is long, and every pass over
//! the query processes the tree recursively. UNION ALL is associative, and so is UNION. So the tree can be rebalanced
//! to logarithmic depth. The text of the query does not change.

use std::mem::replace;
use std::ops::ControlFlow;

use sqlparser::ast::{
    Query as Tree, SetExpr, SetOperator, SetQuantifier, Values, VisitMut, VisitorMut,
};

/// Balances every chain of UNIONs in a query.
pub(super) fn balance(query: &mut Tree) {
    let _: ControlFlow<()> = query.visit(&mut Balancer);
}

struct Balancer;

impl VisitorMut for Balancer {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Tree) -> ControlFlow<()> {
        let body = replace(&mut *query.body, placeholder());
        *query.body = balance_body(body);
        ControlFlow::Continue(())
    }
}

/// Returns a placeholder that is used while the tree is rearranged.
fn placeholder() -> SetExpr {
    SetExpr::Values(Values {
        explicit_row: false,
        value_keyword: false,
        rows: Vec::new(),
    })
}

fn balance_body(body: SetExpr) -> SetExpr {
    let SetExpr::SetOperation {
        op: SetOperator::Union,
        set_quantifier,
        ..
    } = body
    else {
        return body;
    };
    let mut branches = Vec::new();
    let mut rest = body;
    loop {
        match rest {
            SetExpr::SetOperation {
                left,
                op: SetOperator::Union,
                set_quantifier: quantifier,
                right,
            } if quantifier == set_quantifier => {
                branches.push(*right);
                rest = *left;
            }
            // This is a chain of a different operator, or the first branch.
            first => {
                branches.push(balance_body(first));
                break;
            }
        }
    }
    branches.reverse();
    tree(branches, set_quantifier)
}

fn tree(mut branches: Vec<SetExpr>, set_quantifier: SetQuantifier) -> SetExpr {
    if branches.len() <= 1 {
        return branches.pop().unwrap_or_else(placeholder);
    }
    let right = branches.split_off(branches.len().div_ceil(2));
    SetExpr::SetOperation {
        left: Box::new(tree(branches, set_quantifier)),
        op: SetOperator::Union,
        set_quantifier,
        right: Box::new(tree(right, set_quantifier)),
    }
}
