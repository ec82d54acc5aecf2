//! Rewrites DataFusion's messages about types in the terms of the pipeline language.
//!
//! `types` finds most type errors. The planner finds some of them first and reports them with its own types and
//! signatures.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectNamePart, Query as Ast, Spanned as _, Visit, Visitor,
};

use crate::QueryError;

const HELP: &str = "convert the value: CAST(x AS VARCHAR), CAST(x AS BIGINT), CAST(x AS DOUBLE)";

/// Rewrites an error of the planner if it is about types. Returns other errors unchanged.
pub(crate) fn explain_mismatch(query: &Ast, error: QueryError) -> QueryError {
    let QueryError::Plan {
        message,
        place,
        column: None,
    } = &error
    else {
        return error;
    };
    if let Some(function) =
        text_between(message, "Function '", "'").or(text_between(message, "call to '", "'"))
    {
        let kinds = argument_kinds(message);
        let message = if kinds.is_empty() {
            format!("{function}() does not take these arguments")
        } else {
            format!("{function}() does not take {kinds}")
        };
        return QueryError::Rejected {
            message,
            place: call_location(query, function).or(*place),
            help: Some(HELP.to_owned()),
        };
    }
    const OPERATORS: [&str; 5] = [
        "Cannot coerce",
        "Cannot infer common",
        "Unary operator",
        "non-boolean predicate",
        "Cannot get result type",
    ];
    if OPERATORS.iter().any(|start| message.contains(start)) {
        return QueryError::Rejected {
            message: rename_types(message),
            place: *place,
            help: Some(HELP.to_owned()),
        };
    }
    error
}

/// Returns the text between the first `before` and the next `after`.
fn text_between<'a>(message: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

/// Returns the kinds of a call's arguments, such as `text` or `an integer and text`. Empty if a kind is unknown.
fn argument_kinds(message: &str) -> String {
    let types = text_between(message, "argument types '", "'")
        .and_then(|call| call.split_once('(')?.1.strip_suffix(')'))
        .or(text_between(message, "(DataType: ", ")"))
        .or(text_between(message, "coercion from ", " to the signature"));
    let kinds = types
        .unwrap_or_default()
        .split(", ")
        .map(|name| match name {
            "Utf8" | "LargeUtf8" | "Utf8View" | "String" => "text",
            "Boolean" => "a boolean",
            name if name.starts_with("Int") || name.starts_with("UInt") => "an integer",
            name if name.starts_with("Float") || name.starts_with("Decimal") => "a number",
            name if name.starts_with("List") => "a list",
            name if name.starts_with("Date") || name.starts_with("Time") => "a time",
            "Null" => "a missing value",
            _ => "",
        });
    let kinds: Vec<&str> = kinds.collect();
    if kinds.contains(&"") {
        return String::new();
    }
    kinds.join(" and ")
}

/// Replaces the names of DataFusion's types with those of the pipeline language.
fn rename_types(message: &str) -> String {
    [
        ("Utf8", "text"),
        ("Int64", "integer"),
        ("Int32", "integer"),
        ("Float64", "number"),
        ("Boolean", "boolean"),
    ]
    .iter()
    .fold(message.to_owned(), |message, (engine, own)| {
        message.replace(engine, own)
    })
}

/// Returns the line and column of the first call of a function.
fn call_location(query: &Ast, function: &str) -> Option<(u64, u64)> {
    struct CallFinder<'a>(&'a str);

    impl Visitor for CallFinder<'_> {
        type Break = (u64, u64);

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<(u64, u64)> {
            if let Expr::Function(call) = expr
                && let Some(name) = call.name.0.last().and_then(ObjectNamePart::as_ident)
                && name.value.eq_ignore_ascii_case(self.0)
            {
                let start = call.name.span().start;
                return ControlFlow::Break((start.line, start.column));
            }
            ControlFlow::Continue(())
        }
    }

    match Visit::visit(query, &mut CallFinder(function)) {
        ControlFlow::Break(place) => Some(place),
        ControlFlow::Continue(()) => None,
    }
}
