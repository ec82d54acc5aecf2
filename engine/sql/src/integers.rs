//! Whole numbers have 64 bits and a sign.
//!
//! Some of the engine's functions count in 32 bits, or without a sign. Computing on with the former overflows early, and
//! of an unsigned and a signed number the engine makes a decimal, which prints as `1.0000`. So their calls are wrapped in
//! a cast to BIGINT.

use std::mem::replace;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    CastKind, DataType, Expr, ObjectNamePart, Query as Ast, Value, VisitMut, VisitorMut,
};

/// Functions that give whole numbers of another kind, by all their names.
const COUNTING: [&str; 26] = [
    "array_length",
    "array_ndims",
    "array_position",
    "ascii",
    "bit_length",
    "cardinality",
    "char_length",
    "character_length",
    "dense_rank",
    "find_in_set",
    "instr",
    "length",
    "levenshtein",
    "list_indexof",
    "list_length",
    "list_ndims",
    "list_position",
    "array_indexof",
    "ntile",
    "octet_length",
    "position",
    "rank",
    "regexp_count",
    "regexp_instr",
    "row_number",
    "strpos",
];

/// Casts what the counting functions give.
pub(crate) fn widen(query: &mut Ast) {
    let _: ControlFlow<()> = query.visit(&mut Widener);
}

struct Widener;

impl VisitorMut for Widener {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let counts = match expr {
            Expr::Position { .. } => true,
            Expr::Function(call) => {
                let name = call.name.0.last().and_then(ObjectNamePart::as_ident);
                name.is_some_and(|name| COUNTING.contains(&name.value.to_lowercase().as_str()))
            }
            _ => false,
        };
        if counts {
            let call = replace(expr, Expr::value(Value::Null));
            *expr = Expr::Cast {
                kind: CastKind::Cast,
                expr: Box::new(call),
                data_type: DataType::BigInt(None),
                array: false,
                format: None,
            };
        }
        ControlFlow::Continue(())
    }
}
