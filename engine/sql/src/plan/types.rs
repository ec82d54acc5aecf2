//! Rejects implicit conversions between text and numbers.
//!
//! DataFusion compares a text with a number by converting one of them. It does the same for joins, unions and arguments
//! of functions. The result then depends on the cells, and a cell that is not a number makes the query fail while it
//! runs. Therefore every implicit conversion between text and numbers is an error when the pipeline is loaded. The
//! author of the pipeline adds a CAST.
//!
//! `||`, `concat` and `concat_ws` accept all types, because their purpose is to build text. A date may be compared with
//! a text literal.

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, Spans};
use datafusion::logical_expr::expr::WindowFunctionDefinition;
use datafusion::logical_expr::type_coercion::functions::{UDFCoercionExt, fields_with_udf};
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};

use prep_spec::shortened;

use crate::QueryError;

/// Functions that accept arguments of any type and convert them to text.
const TEXT_OF_ANY: [&str; 2] = ["concat", "concat_ws"];

/// The class of a type. Values of different classes cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TypeClass {
    Text,
    Number,
    Boolean,
    Time,
    /// Lists and structs, which DataFusion does not convert.
    Nested,
    /// A missing value, which is compatible with every class.
    Missing,
}

impl TypeClass {
    fn new(data_type: &DataType) -> TypeClass {
        match data_type {
            DataType::Null => TypeClass::Missing,
            DataType::Boolean => TypeClass::Boolean,
            data_type if data_type.is_string() => TypeClass::Text,
            data_type if data_type.is_numeric() => TypeClass::Number,
            data_type if data_type.is_temporal() => TypeClass::Time,
            DataType::Dictionary(_, values) => TypeClass::new(values),
            _ => TypeClass::Nested,
        }
    }

    fn name(self) -> &'static str {
        match self {
            TypeClass::Text => "text",
            TypeClass::Number => "a number",
            TypeClass::Boolean => "a boolean",
            TypeClass::Time => "a time",
            TypeClass::Nested => "a list",
            TypeClass::Missing => "missing",
        }
    }
}

/// Returns an error if an expression in the logical plan mixes text and numbers.
pub(crate) fn check(plan: &LogicalPlan) -> std::result::Result<(), QueryError> {
    let mut found = None;
    let walk = plan.apply_with_subqueries(|node| {
        if found.is_none() {
            found = in_node(node)?;
        }
        Ok(if found.is_some() {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    });
    walk.map_err(|error| QueryError::plan(&error))?;
    found.map_or(Ok(()), Err)
}

fn in_node(node: &LogicalPlan) -> Result<Option<QueryError>> {
    let found = match node {
        LogicalPlan::Union(union) => {
            let [first, rest @ ..] = union.inputs.as_slice() else {
                return Ok(None);
            };
            rest.iter().find_map(|next| columns(first, next))
        }
        LogicalPlan::RecursiveQuery(query) => columns(&query.static_term, &query.recursive_term),
        LogicalPlan::Join(join) => {
            let mut found = None;
            for (left, right) in &join.on {
                let pair = (
                    left.get_type(join.left.schema())?,
                    right.get_type(join.right.schema())?,
                );
                found = found.or_else(|| check_types(left, &pair.0, right, &pair.1, "compared"));
            }
            found
        }
        LogicalPlan::Values(values) => {
            let mut found = None;
            for expr in values.values.iter().flatten() {
                // The planner adds casts to literals if the types in a VALUES column differ.
                if let Expr::Cast(cast) = expr
                    && let Expr::Literal(value, _) = cast.expr.as_ref()
                {
                    let (from, to) = (value.data_type(), cast.field.data_type());
                    let classes = (TypeClass::new(&from), TypeClass::new(to));
                    if are_incompatible(classes.0, classes.1) {
                        found = Some(rejected(
                            expr,
                            None,
                            "VALUES contains text and numbers in one column".to_owned(),
                        ));
                    }
                }
            }
            found
        }
        _ => None,
    };
    if found.is_some() {
        return Ok(found);
    }
    let Some(schema) = input_schema(node)? else {
        return Ok(None);
    };
    let mut found = None;
    node.apply_expressions(|expr| {
        if matches!(expr, Expr::Column(_)) {
            return Ok(TreeNodeRecursion::Continue);
        }
        expr.apply(|inner| {
            if found.is_none() {
                found = in_expr(inner, &schema)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}

/// Returns the columns that a node's expressions can refer to. `None` for a node without expressions.
pub(crate) fn input_schema(node: &LogicalPlan) -> Result<Option<DFSchema>> {
    Ok(match node.inputs().as_slice() {
        [] => Some(node.schema().as_ref().clone()),
        [input] => Some(input.schema().as_ref().clone()),
        [left, right] if matches!(node, LogicalPlan::Join(_)) => {
            Some(left.schema().join(right.schema())?)
        }
        _ => None,
    })
}

/// Compares the types of columns at the same position in two branches of a union.
fn columns(left: &LogicalPlan, right: &LogicalPlan) -> Option<QueryError> {
    let pairs = left.schema().fields().iter().zip(right.schema().fields());
    for (a, b) in pairs {
        let classes = (TypeClass::new(a.data_type()), TypeClass::new(b.data_type()));
        if are_incompatible(classes.0, classes.1) {
            let message = format!(
                "column `{}` is {} in one SELECT and {} in another",
                a.name(),
                classes.0.name(),
                classes.1.name()
            );
            return Some(QueryError::Rejected {
                message,
                place: None,
                help: Some(help(classes.0, classes.1).to_owned()),
            });
        }
    }
    None
}

fn in_expr(expr: &Expr, schema: &DFSchema) -> Result<Option<QueryError>> {
    let kind = |expr: &Expr| expr.get_type(schema);
    let check_pair = |a: &Expr, b: &Expr, what: &str| -> Result<Option<QueryError>> {
        Ok(check_types(a, &kind(a)?, b, &kind(b)?, what))
    };
    Ok(match expr {
        Expr::BinaryExpr(binary) => in_binary(binary, schema)?,
        Expr::Between(between) => {
            let low = check_pair(&between.expr, &between.low, "compared")?;
            low.or(check_pair(&between.expr, &between.high, "compared")?)
        }
        Expr::InList(list) => {
            let of = kind(&list.expr)?;
            for item in &list.list {
                let found = check_types(&list.expr, &of, item, &kind(item)?, "compared");
                if found.is_some() {
                    return Ok(found);
                }
            }
            None
        }
        Expr::InSubquery(within) => {
            let of = kind(&within.expr)?;
            let fields = within.subquery.subquery.schema().fields();
            let field = fields.first().map(|field| field.data_type().clone());
            field.and_then(|field| check_types(&within.expr, &of, &within.expr, &field, "compared"))
        }
        Expr::Like(like) | Expr::SimilarTo(like) => {
            let value = check_class(&like.expr, &kind(&like.expr)?, TypeClass::Text, "LIKE");
            value.or(check_class(
                &like.pattern,
                &kind(&like.pattern)?,
                TypeClass::Text,
                "LIKE",
            ))
        }
        Expr::Not(inner) => check_class(inner, &kind(inner)?, TypeClass::Boolean, "NOT"),
        Expr::Negative(inner) => {
            let of = kind(inner)?;
            if TypeClass::new(&of) == TypeClass::Time {
                None
            } else {
                check_class(inner, &of, TypeClass::Number, "-")
            }
        }
        Expr::Case(case) => {
            let mut found = None;
            for (when, _) in &case.when_then_expr {
                found = match &case.expr {
                    Some(operand) => found.or(check_pair(operand, when, "compared")?),
                    None => found.or(check_class(when, &kind(when)?, TypeClass::Boolean, "WHEN")),
                };
            }
            let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
            let results: Vec<&Expr> = results.chain(case.else_expr.as_deref()).collect();
            let typed = |result: &&&Expr| {
                kind(result).is_ok_and(|of| TypeClass::new(&of) != TypeClass::Missing)
            };
            if let Some(first) = results.iter().find(typed) {
                for next in &results {
                    found = found.or(check_pair(first, next, "results of one CASE")?);
                }
            }
            found
        }
        Expr::ScalarFunction(call) if !TEXT_OF_ANY.contains(&call.name()) => {
            in_call(call.func.as_ref(), &call.args, schema)?
        }
        Expr::AggregateFunction(call) => in_call(call.func.as_ref(), &call.params.args, schema)?,
        Expr::WindowFunction(call) => match &call.fun {
            WindowFunctionDefinition::AggregateUDF(function) => {
                in_call(function.as_ref(), &call.params.args, schema)?
            }
            WindowFunctionDefinition::WindowUDF(function) => {
                // `lag(a, 1, b)` returns `b` where there is no earlier row.
                if let [value, _, default] = call.params.args.as_slice()
                    && let Some(found) = check_pair(value, default, "values of one column")?
                {
                    return Ok(Some(found));
                }
                in_call(function.as_ref(), &call.params.args, schema)?
            }
        },
        _ => None,
    })
}

fn in_binary(binary: &BinaryExpr, schema: &DFSchema) -> Result<Option<QueryError>> {
    let BinaryExpr { left, op, right } = binary;
    let (a, b) = (left.get_type(schema)?, right.get_type(schema)?);
    let both = |class: TypeClass| {
        let name = op.to_string();
        check_class(left, &a, class, &name).or_else(|| check_class(right, &b, class, &name))
    };
    Ok(match op {
        Operator::And | Operator::Or => both(TypeClass::Boolean),
        Operator::RegexMatch
        | Operator::RegexIMatch
        | Operator::RegexNotMatch
        | Operator::RegexNotIMatch => both(TypeClass::Text),
        Operator::Plus
        | Operator::Minus
        | Operator::Multiply
        | Operator::Divide
        | Operator::Modulo => {
            let is_time = |of: &DataType| TypeClass::new(of) == TypeClass::Time;
            if is_time(&a) || is_time(&b) {
                None
            } else {
                both(TypeClass::Number)
            }
        }
        Operator::BitwiseAnd
        | Operator::BitwiseOr
        | Operator::BitwiseXor
        | Operator::BitwiseShiftLeft
        | Operator::BitwiseShiftRight => both(TypeClass::Number),
        op if op.supports_propagation() => check_types(left, &a, right, &b, "compared"),
        _ => None,
    })
}

/// Compares the types of a call's arguments with the types to which DataFusion would convert them.
fn in_call<F: UDFCoercionExt>(
    function: &F,
    args: &[Expr],
    schema: &DFSchema,
) -> Result<Option<QueryError>> {
    let fields: Result<Vec<FieldRef>> = args
        .iter()
        .map(|arg| {
            let field = Field::new("argument", arg.get_type(schema)?, true);
            Ok(FieldRef::new(field))
        })
        .collect();
    let fields = fields?;
    // The planner itself reports arguments that cannot be converted at all.
    let Ok(taken) = fields_with_udf(&fields, function) else {
        return Ok(None);
    };
    for ((arg, given), taken) in args.iter().zip(&fields).zip(&taken) {
        let classes = (innermost(given.data_type()), innermost(taken.data_type()));
        let (given, taken) = (TypeClass::new(classes.0), TypeClass::new(classes.1));
        if are_incompatible(given, taken) && !is_time_literal(arg, given, taken) {
            let message = format!(
                "{}() takes {}, and `{}` is {}",
                function.name(),
                taken.name(),
                expression_text(arg),
                given.name()
            );
            return Ok(Some(rejected(arg, Some((given, taken)), message)));
        }
    }
    Ok(None)
}

/// Returns the type of a list's innermost elements, or the type itself if it is not a list.
fn innermost(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            innermost(field.data_type())
        }
        other => other,
    }
}

fn are_incompatible(a: TypeClass, b: TypeClass) -> bool {
    a != b && ![a, b].contains(&TypeClass::Missing) && ![a, b].contains(&TypeClass::Nested)
}

/// Returns whether an expression is a text literal where a time is expected, as in `day < '2020-01-31'`.
fn is_time_literal(expr: &Expr, given: TypeClass, expected: TypeClass) -> bool {
    given == TypeClass::Text && expected == TypeClass::Time && matches!(expr, Expr::Literal(..))
}

/// Returns an error if two values that are compared or combined have different classes.
fn check_types(
    a: &Expr,
    of_a: &DataType,
    b: &Expr,
    of_b: &DataType,
    what: &str,
) -> Option<QueryError> {
    let (left, right) = (TypeClass::new(of_a), TypeClass::new(of_b));
    if !are_incompatible(left, right)
        || is_time_literal(a, left, right)
        || is_time_literal(b, right, left)
    {
        return None;
    }
    let message = if std::ptr::eq(a, b) {
        let (a, left, right) = (expression_text(a), left.name(), right.name());
        format!("`{a}` is {left}, and the subquery returns {right}: they cannot be {what}")
    } else {
        let (a, b, left, right) = (
            expression_text(a),
            expression_text(b),
            left.name(),
            right.name(),
        );
        format!("`{a}` is {left} and `{b}` is {right}: they cannot be {what}")
    };
    let placed = if span(a).is_some() { a } else { b };
    Some(rejected(placed, Some((left, right)), message))
}

fn check_class(expr: &Expr, of: &DataType, expected: TypeClass, what: &str) -> Option<QueryError> {
    let class = TypeClass::new(of);
    if class == expected || class == TypeClass::Missing {
        return None;
    }
    let message = format!(
        "{what} takes {}, and `{}` is {}",
        expected.name(),
        expression_text(expr),
        class.name()
    );
    Some(rejected(expr, Some((class, expected)), message))
}

fn rejected(expr: &Expr, classes: Option<(TypeClass, TypeClass)>, message: String) -> QueryError {
    QueryError::Rejected {
        message,
        place: span(expr),
        help: classes.map(|(a, b)| help(a, b).to_owned()),
    }
}

fn help(a: TypeClass, b: TypeClass) -> &'static str {
    match (a, b) {
        (TypeClass::Text, TypeClass::Number) | (TypeClass::Number, TypeClass::Text) => {
            "declare the column with the other type in `columns`, write the value in quotes, or convert: CAST(x AS BIGINT), CAST(x AS DOUBLE), CAST(x AS VARCHAR)"
        }
        (TypeClass::Boolean, _) | (_, TypeClass::Boolean) => {
            "write a condition (`a = 1`), or convert a boolean to a number: CAST(x AS BIGINT)"
        }
        _ => "convert one of them: CAST(x AS ...)",
    }
}

/// Formats an expression for a message.
fn expression_text(expr: &Expr) -> String {
    match expr {
        Expr::Column(column) | Expr::OuterReferenceColumn(_, column) => column.name.clone(),
        Expr::Alias(alias) => expression_text(&alias.expr),
        // Quotes distinguish a text from a column.
        Expr::Literal(value, _) => match value.try_as_str().flatten() {
            Some(text) => format!("'{}'", text.replace('\'', "''")),
            None => value.to_string(),
        },
        other => shortened(&other.human_display().to_string(), 60),
    }
}

/// Returns the line and column of the first column in an expression. The planner does not record the positions of other
/// expressions.
pub(crate) fn span(expr: &Expr) -> Option<(u64, u64)> {
    let first = |spans: &Spans| {
        let span = spans.first()?;
        Some((span.start.line, span.start.column))
    };
    let mut place = None;
    let _ = expr.apply(|inner| {
        if let Expr::Column(column) | Expr::OuterReferenceColumn(_, column) = inner {
            place = place.or_else(|| first(&column.spans));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    place
}
