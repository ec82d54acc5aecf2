//! Resolves calls: scalar functions, aggregates, window functions and `unnest`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_expr::type_coercion::functions::{UDFCoercionExt, fields_with_udf};
use datafusion_expr::{
    AggregateUDF, Operator, ReturnFieldArgs, ScalarUDF, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowFunctionDefinition,
};
use prep_failure::units;
use prep_spec::query::tree::{self, Call, FrameBound, FrameUnits, Position, SortKey};
use prep_spec::{construct, nearest};

use super::constant::{check_pattern, null};
use super::expr::{Exprs, unified};
use super::types::{
    TypeClass, canonical, cast, common, compared, comparison, computed_type, help, is_double,
    of_class, printed, refused, rejected, text,
};
use crate::QueryError;
use crate::functions::{
    NON_DETERMINISTIC, find_aggregate, find_scalar, find_window, is_order_sensitive, listed, names,
    takes_ignore_nulls,
};
use crate::relational::{ColumnId, Expr, needs_order_by};

#[derive(Debug, Clone)]
pub(super) struct OrderKey {
    pub expr: Expr,
    pub descending: bool,
    pub nulls_first: bool,
}

/// A call of an aggregate that the plan does not contain yet.
#[derive(Debug)]
pub(super) struct PendingAggregate {
    /// The column for the result.
    pub id: ColumnId,
    pub function: Arc<AggregateUDF>,
    pub args: Vec<Expr>,
    pub distinct: bool,
    pub ignores_nulls: bool,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderKey>,
}

/// A call of a window function that the plan does not contain yet.
#[derive(Debug)]
pub(super) struct PendingWindow {
    /// The column for the result.
    pub id: ColumnId,
    pub function: WindowFunctionDefinition,
    pub args: Vec<Expr>,
    pub ignores_nulls: bool,
    pub filter: Option<Expr>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderKey>,
    pub frame: WindowFrame,
    /// Whether the value depends on the order of rows with equal keys.
    pub depends_on_ties: bool,
}

/// Scalar functions that convert arguments of any type to text.
const TEXT_OF_ANY: [&str; 2] = ["concat", "concat_ws"];

/// Arguments, FILTER and ORDER BY of a call.
type CallParts = (Vec<Expr>, Option<Expr>, Vec<OrderKey>);

impl<'q> Exprs<'_, 'q, '_> {
    pub(super) fn call(
        &mut self,
        call: &'q Call,
        source: &'q tree::Expr,
    ) -> Result<Expr, QueryError> {
        let name = call.name.text.as_str();
        if name == "unnest" {
            reject_clauses(call, &[])?;
            return self.unnest(call);
        }
        if let Some(special) = self.conditional(call, source)? {
            return Ok(special);
        }
        if let Some(function) = find_scalar(name) {
            reject_clauses(call, &[])?;
            let args = call.args.iter().map(|arg| self.expr(arg));
            let args = args.collect::<Result<Vec<_>, _>>()?;
            let sources: Vec<&tree::Expr> = call.args.iter().collect();
            return scalar_call(function, args, &sources, source.at);
        }
        let aggregate = find_aggregate(name);
        let window = find_window(name);
        match (call.over.is_some(), aggregate, window) {
            (true, _, Some(window)) => {
                reject_clauses(call, &["OVER"])?;
                self.window(call, WindowFunctionDefinition::WindowUDF(window))
            }
            (true, Some(aggregate), None) => {
                reject_clauses(call, &["OVER", "FILTER", "*"])?;
                self.window(call, WindowFunctionDefinition::AggregateUDF(aggregate))
            }
            (false, Some(aggregate), _) => {
                reject_clauses(
                    call,
                    &["DISTINCT", "FILTER", "ORDER BY", "WITHIN GROUP", "*"],
                )?;
                self.aggregate(call, aggregate)
            }
            (false, None, Some(_)) => {
                Err(refused(call.name.at, format!("{name}() needs OVER (...)")))
            }
            (_, None, None) => Err(unknown(name, call.name.at)),
        }
    }

    /// Resolves `coalesce`, `nvl` and `nullif` to CASE, which evaluates only the arguments that it needs.
    fn conditional(
        &mut self,
        call: &'q Call,
        source: &'q tree::Expr,
    ) -> Result<Option<Expr>, QueryError> {
        let name = call.name.text.as_str();
        // If the number of arguments is wrong, `expected` is the end of the error message.
        let expected = match (name, call.args.len()) {
            ("coalesce" | "nvl", 1..) | ("nullif", 2) => None,
            ("coalesce" | "nvl", _) => Some("values"),
            ("nullif", _) => Some("2 values"),
            _ => return Ok(None),
        };
        reject_clauses(call, &[])?;
        if let Some(expected) = expected {
            return Err(refused(call.name.at, format!("{name}() takes {expected}")));
        }
        let args = call.args.iter().map(|arg| self.expr(arg));
        let args = args.collect::<Result<Vec<_>, _>>()?;
        let sources: Vec<&tree::Expr> = call.args.iter().collect();
        let what = format!("arguments of {name}()");
        if let ("nullif", [a, b], [left, right]) = (name, &*args, &*sources) {
            let texts: (&dyn Fn() -> String, &dyn Fn() -> String) =
                (&|| text(left), &|| text(right));
            let (left, right) = compared((a.clone(), b.clone()), texts, &what)?;
            let branches = vec![(comparison(Operator::Eq, left, right), null(&a.data_type))];
            return Ok(Some(Expr::case(branches, Some(a.clone()), source.at)));
        }
        let mut args = unified(args, &sources, &what)?;
        let last = args.pop();
        if args.is_empty() {
            return Ok(last);
        }
        let branches = args
            .into_iter()
            .map(|arg| (arg.clone().missing().not(), arg));
        Ok(Some(Expr::case(branches.collect(), last, source.at)))
    }

    fn unnest(&mut self, call: &'q Call) -> Result<Expr, QueryError> {
        let [list] = call.args.as_slice() else {
            return Err(refused(call.name.at, "unnest() takes one list"));
        };
        let resolved = self.expr(list)?;
        let element = element_type(&resolved, list)?;
        let id = self.binder.column("unnest", element);
        let Some(unnested) = &mut self.found.unnested else {
            let message = "unnest() can only be used in a select list or in FROM";
            return Err(refused(call.name.at, message));
        };
        unnested.push((id, resolved));
        Ok(self.binder.reference(id, call.name.at))
    }

    fn aggregate(
        &mut self,
        call: &'q Call,
        function: Arc<AggregateUDF>,
    ) -> Result<Expr, QueryError> {
        let name = call.name.text.as_str();
        let at = call.name.at;
        if is_order_sensitive(name) && call.order_by.is_empty() {
            return Err(needs_order_by(name));
        }
        if !call.order_by.is_empty() && !is_order_sensitive(name) && !call.within_group {
            return Err(refused(at, format!("ORDER BY cannot be used in {name}()")));
        }
        if self.found.aggregates.is_none() {
            let message = format!("{name}() cannot be used here");
            let help = "compute it in a subquery, or write the condition in HAVING";
            return Err(rejected(at, message, Some(help)));
        }
        // The arguments of an aggregate are evaluated before the rows are grouped. Therefore they cannot contain
        // aggregates, window functions or `unnest`, and their subqueries are joined before the other subqueries.
        let aggregates = self.found.aggregates.take();
        let windows = self.found.windows.take();
        let unnested = self.found.unnested.take();
        let subqueries = std::mem::take(&mut self.found.subqueries);
        let parts = self.aggregate_parts(call);
        let of_arguments = std::mem::replace(&mut self.found.subqueries, subqueries);
        self.found.inside.extend(of_arguments);
        (self.found.aggregates, self.found.windows) = (aggregates, windows);
        self.found.unnested = unnested;
        let (mut args, filter, order_by) = parts?;
        if call.within_group {
            let keys = order_by.iter().map(|key| key.expr.clone());
            args = keys.chain(args).collect();
        }
        let sources: Vec<&tree::Expr> = match call.within_group {
            true => call
                .order_by
                .iter()
                .map(|key| &key.expr)
                .chain(&call.args)
                .collect(),
            false => call.args.iter().collect(),
        };
        let args = coerced(function.as_ref(), args, &sources, at)?;
        let fields: Vec<FieldRef> = args.iter().map(field).collect();
        let result = function.return_field(&fields);
        let data_type =
            result.map_err(|error| not_accepted(name, (&args, &sources), at, &error))?;
        let id = self.binder.column(name, data_type.data_type().clone());
        let pending = PendingAggregate {
            id,
            function,
            // DISTINCT treats equal doubles as one value, including 0.0 and -0.0.
            args: match call.distinct {
                true => args.into_iter().map(canonical).collect(),
                false => args,
            },
            distinct: call.distinct,
            ignores_nulls: call.ignores_nulls,
            filter,
            order_by,
        };
        let result = self.binder.reference(id, at);
        let Some(aggregates) = &mut self.found.aggregates else {
            return Ok(result);
        };
        let same = aggregates.iter().find(|other| is_same(other, &pending));
        let result = same.map_or(result, |same| self.binder.reference(same.id, at));
        if result.as_column() == Some(id) {
            aggregates.push(pending);
        }
        let wide = computed_type(&result.data_type);
        Ok(cast(result, &wide))
    }

    fn aggregate_parts(&mut self, call: &'q Call) -> Result<CallParts, QueryError> {
        Ok((
            self.arguments(call)?,
            self.call_filter(call)?,
            self.order_keys(&call.order_by)?,
        ))
    }

    fn arguments(&mut self, call: &'q Call) -> Result<Vec<Expr>, QueryError> {
        if call.star {
            if call.name.text != "count" {
                let message = format!("* cannot be used in {}()", call.name.text);
                return Err(refused(call.name.at, message));
            }
            if call.distinct {
                let message = "DISTINCT cannot be used with *";
                return Err(refused(call.name.at, message));
            }
            return Ok(vec![Expr::literal(1_i64.into(), call.name.at)]);
        }
        if call.name.text == "count" && call.args.len() != 1 {
            return Err(refused(call.name.at, "count() takes one value or *"));
        }
        call.args.iter().map(|arg| self.expr(arg)).collect()
    }

    fn call_filter(&mut self, call: &'q Call) -> Result<Option<Expr>, QueryError> {
        let filter = call.filter.as_ref();
        let filter = filter.map(|filter| self.class(filter, TypeClass::Boolean, "FILTER"));
        filter.transpose()
    }

    pub(super) fn order_keys(&mut self, keys: &'q [SortKey]) -> Result<Vec<OrderKey>, QueryError> {
        let mut resolved = Vec::with_capacity(keys.len());
        for key in keys {
            let expr = self.expr(&key.expr)?;
            resolved.push(self.binder.order_key(expr, key)?);
        }
        Ok(resolved)
    }

    fn window(
        &mut self,
        call: &'q Call,
        function: WindowFunctionDefinition,
    ) -> Result<Expr, QueryError> {
        let (name, at) = (call.name.text.as_str(), call.name.at);
        let Some(window) = &call.over else {
            return Err(refused(at, format!("{name}() needs OVER (...)")));
        };
        // Window functions are computed together, so they cannot contain each other.
        let Some(windows) = self.found.windows.take() else {
            let message = format!("{name}() OVER (...) cannot be used here");
            let help = "compute it in a subquery, or write the condition in QUALIFY";
            return Err(rejected(at, message, Some(help)));
        };
        let unnested = self.found.unnested.take();
        let parts = self.window_parts(call, window);
        (self.found.windows, self.found.unnested) = (Some(windows), unnested);
        let (args, filter, partition_by, order_by) = parts?;
        let sources: Vec<&tree::Expr> = call.args.iter().collect();
        let args = match &function {
            WindowFunctionDefinition::AggregateUDF(function) => {
                coerced(function.as_ref(), args, &sources, at)?
            }
            WindowFunctionDefinition::WindowUDF(function) => {
                // `lag(a, 1, b)` returns `b` in the first row, so `a` and `b` need a common type.
                if let ([value, _, default], [of_value, _, of_default]) = (&*args, &*sources) {
                    unified(
                        vec![value.clone(), default.clone()],
                        &[of_value, of_default],
                        "values of one column",
                    )?;
                }
                coerced(function.as_ref(), args, &sources, at)?
            }
        };
        let fields: Vec<FieldRef> = args.iter().map(field).collect();
        let result = function.return_field(&fields, name);
        let data_type =
            result.map_err(|error| not_accepted(name, (&args, &sources), at, &error))?;
        let frame = frame(window, &order_by, at)?;
        let id = self.binder.column(name, data_type.data_type().clone());
        let counts_rows = frame.units == WindowFrameUnits::Rows
            && !(frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded());
        let is_aggregate = matches!(function, WindowFunctionDefinition::AggregateUDF(_));
        let pending = PendingWindow {
            id,
            function,
            args,
            ignores_nulls: call.ignores_nulls,
            filter,
            partition_by,
            order_by,
            // Functions such as `lag` process rows one by one, so the order of rows with equal keys matters.
            depends_on_ties: counts_rows || !is_aggregate || is_order_sensitive(name),
            frame,
        };
        if let Some(windows) = &mut self.found.windows {
            windows.push(pending);
        }
        let result = self.binder.reference(id, at);
        let wide = computed_type(&result.data_type);
        Ok(cast(result, &wide))
    }

    #[allow(clippy::type_complexity, reason = "the parts of one call, used once")]
    fn window_parts(
        &mut self,
        call: &'q Call,
        window: &'q tree::Window,
    ) -> Result<(Vec<Expr>, Option<Expr>, Vec<Expr>, Vec<OrderKey>), QueryError> {
        let args = self.arguments(call)?;
        let filter = self.call_filter(call)?;
        let mut partition_by = Vec::with_capacity(window.partition_by.len());
        for key in &window.partition_by {
            let expr = self.expr(key)?;
            check_key(&expr, key, "PARTITION BY")?;
            partition_by.push(self.binder.canonical(expr));
        }
        let order_by = self.order_keys(&window.order_by)?;
        Ok((args, filter, partition_by, order_by))
    }
}

/// Returns whether two calls have the same result, so that one of them is enough.
fn is_same(a: &PendingAggregate, b: &PendingAggregate) -> bool {
    a.function == b.function
        && a.args == b.args
        && a.distinct == b.distinct
        && a.ignores_nulls == b.ignores_nulls
        && a.filter == b.filter
        && a.order_by.is_empty()
        && b.order_by.is_empty()
}

/// Rejects a sort, group or partition key without columns, because such a key has no effect.
pub(super) fn check_key(expr: &Expr, source: &tree::Expr, clause: &str) -> Result<(), QueryError> {
    if expr.is_constant() {
        let message = format!(
            "`{clause} {}` names no column, so it has no effect",
            text(source)
        );
        return Err(refused(source.at, message));
    }
    Ok(())
}

/// Returns an error if a call has a clause, such as FILTER, that is not in `supported`.
fn reject_clauses(call: &Call, supported: &[&str]) -> Result<(), QueryError> {
    let name = call.name.text.as_str();
    let ignores = call.ignores_nulls && !takes_ignore_nulls(name);
    let within = call.within_group && !matches!(name, "percentile_cont");
    for (clause, is_present) in [
        ("OVER", call.over.is_some()),
        ("FILTER", call.filter.is_some()),
        ("IGNORE NULLS", ignores),
        ("WITHIN GROUP", within),
        ("DISTINCT", call.distinct),
        ("ORDER BY", !call.order_by.is_empty()),
        ("*", call.star),
    ] {
        let is_supported = supported.contains(&clause) && !(clause == "WITHIN GROUP" && within);
        if is_present && !is_supported {
            let over = match call.over.is_some() && clause != "OVER" {
                true => " OVER a window",
                false => "",
            };
            let message = format!("{clause} cannot be used in {name}(){over}");
            return Err(refused(call.name.at, message));
        }
    }
    Ok(())
}

fn unknown(name: &str, at: Position) -> QueryError {
    if NON_DETERMINISTIC.contains(&name) {
        let message = format!(
            "{name}() returns a different value each time, but results must be reproducible"
        );
        let help = "use a seeded split or `draws` for random numbers";
        return rejected(at, message, Some(help));
    }
    let special = ["unnest", "coalesce", "nullif", "nvl"];
    let candidates = names()
        .chain(special)
        .chain(["one_hot", "multi_hot", "constants"]);
    let near = nearest(name, candidates);
    let help = construct(name).or_else(|| near.map(|near| format!("did you mean `{near}`?")));
    let help = help.unwrap_or_else(|| "docs/reference/functions.md lists all functions".to_owned());
    rejected(at, format!("there is no function `{name}`"), Some(help))
}

fn field(arg: &Expr) -> FieldRef {
    Arc::new(Field::new("argument", arg.data_type.clone(), true))
}

/// Creates a call of a scalar function. Casts the result to a type in which queries compute, for example to 64 bits.
pub(super) fn scalar_call(
    function: Arc<ScalarUDF>,
    args: Vec<Expr>,
    sources: &[&tree::Expr],
    at: Position,
) -> Result<Expr, QueryError> {
    let name = function.name().to_owned();
    let mut args = args;
    if name == "trunc" && args.len() == 1 {
        // Keeps the sign of -0.0: `trunc(-0.0)` is 0.0, but `trunc(-0.0, 0)` is -0.0.
        args.push(Expr::literal(0_i64.into(), at));
    }
    let mut args = coerced(function.as_ref(), args, sources, at)?;
    if matches!(name.as_str(), "lpad" | "rpad")
        && let Some(length) = args.get_mut(1)
    {
        // `lpad` and `rpad` reserve memory for the sum of all lengths, so no length may be negative.
        *length = at_least_zero(length.clone());
    }
    if name == "array_to_string"
        && let Some(list) = args
            .first_mut()
            .filter(|list| is_double(innermost(&list.data_type)))
    {
        *list = printed(list.clone());
    }
    if name.starts_with("regexp_")
        && let (Some(pattern), Some(source)) = (args.get(1), sources.get(1))
    {
        let flags = match name.as_str() {
            "regexp_like" | "regexp_match" => args.get(2),
            "regexp_count" => args.get(3),
            "regexp_instr" => args.get(4),
            // The flag `g` is valid only in `regexp_replace`.
            _ => args.get(3),
        };
        check_pattern(pattern, flags, source)?;
    }
    let fields: Vec<FieldRef> = args.iter().map(field).collect();
    let scalars: Vec<Option<&ScalarValue>> = args.iter().map(Expr::as_literal).collect();
    let returned = function.return_field_from_args(ReturnFieldArgs {
        arg_fields: &fields,
        scalar_arguments: &scalars,
    });
    let returned = returned.map_err(|error| not_accepted(&name, (&args, sources), at, &error))?;
    let data_type = returned.data_type().clone();
    let wide = computed_type(&data_type);
    Ok(cast(Expr::call(function, args, data_type, at), &wide))
}

/// Replaces negative values by 0.
fn at_least_zero(value: Expr) -> Expr {
    let at = value.at;
    let zero = || Expr::literal(0_i64.into(), at);
    if let Some(ScalarValue::Int64(Some(number))) = value.as_literal() {
        return if *number < 0 { zero() } else { value };
    }
    let is_negative = Expr::binary(Operator::Lt, value.clone(), zero(), DataType::Boolean);
    Expr::case(vec![(is_negative, zero())], Some(value), at)
}

/// Casts arguments to the types that a function accepts. A cast between text and numbers is an error.
fn coerced<F: UDFCoercionExt>(
    function: &F,
    args: Vec<Expr>,
    sources: &[&tree::Expr],
    at: Position,
) -> Result<Vec<Expr>, QueryError> {
    let name = function.name();
    let args: Vec<Expr> = args.into_iter().map(super::types::widened).collect();
    let fields: Vec<FieldRef> = args.iter().map(field).collect();
    let accepted_fields = fields_with_udf(&fields, function);
    let accepted_fields =
        accepted_fields.map_err(|error| not_accepted(name, (&args, sources), at, &error))?;
    let mut coerced = Vec::with_capacity(args.len());
    for (index, (arg, accepted_field)) in args.into_iter().zip(&accepted_fields).enumerate() {
        let given = innermost(&arg.data_type);
        let accepted = innermost(accepted_field.data_type());
        let (given_class, accepted_class) = (TypeClass::of(given), TypeClass::of(accepted));
        let is_mixed = given_class != accepted_class
            && ![given_class, accepted_class].contains(&TypeClass::Missing)
            && !TEXT_OF_ANY.contains(&name)
            && common(given, accepted).is_none();
        if is_mixed {
            let message = format!(
                "{name}() takes {}, and `{}` is {}",
                accepted_class.name(),
                sources
                    .get(index)
                    .map_or(String::new(), |source| text(source)),
                given_class.name()
            );
            let help = help(given_class, accepted_class);
            return Err(rejected(arg.at, message, Some(help)));
        }
        coerced.push(cast(arg, accepted_field.data_type()));
    }
    check_constants(name, &coerced, sources)?;
    Ok(coerced)
}

/// Rejects arguments that must be constants but are not, for example the number of `ntile`.
fn check_constants(name: &str, args: &[Expr], sources: &[&tree::Expr]) -> Result<(), QueryError> {
    let (index, kind) = match name {
        "ntile" => (0, "positive integer"),
        "nth_value" => (1, "positive integer"),
        "lag" | "lead" => (1, "integer"),
        "string_agg" => (1, "text"),
        _ => return Ok(()),
    };
    let (Some(arg), Some(source)) = (args.get(index), sources.get(index)) else {
        return Ok(());
    };
    let integer = arg
        .as_literal()
        .map(|value| value.cast_to(&DataType::Int64));
    let is_valid = match (kind, integer) {
        ("text", _) => arg.as_literal().is_some(),
        ("integer", Some(Ok(ScalarValue::Int64(Some(_))))) => true,
        (_, Some(Ok(ScalarValue::Int64(Some(value))))) => value > 0,
        _ => false,
    };
    if is_valid {
        return Ok(());
    }
    let message = format!("{name}() takes a constant {kind}, not `{}`", text(source));
    Err(refused(source.at, message))
}

/// Returns the type of the innermost elements of a list, whose elements may be lists again. Returns any other type
/// unchanged.
fn innermost(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => {
            innermost(field.data_type())
        }
        other => other,
    }
}

/// Creates the error for a call whose arguments DataFusion rejects with `error`.
fn not_accepted(
    name: &str,
    (args, sources): (&[Expr], &[&tree::Expr]),
    at: Position,
    error: &datafusion_common::DataFusionError,
) -> QueryError {
    let classes: Vec<&str> = args
        .iter()
        .map(|arg| match &arg.data_type {
            integer if integer.is_integer() => "an integer",
            other => TypeClass::of(other).name(),
        })
        .collect();
    if let Some(message) = crate::error::function_message(error) {
        return refused(at, message);
    }
    if classes.is_empty() {
        return refused(at, format!("{name}() needs arguments"));
    }
    if let Some(listed) = listed(name)
        && let Some(max) = listed.max_arguments().filter(|max| classes.len() > *max)
    {
        let message = format!(
            "{name}() takes at most {}, not {}",
            units::count(max as u64, "argument"),
            classes.len()
        );
        return rejected(at, message, Some(format!("write `{}`", listed.calls)));
    }
    let message = match (classes.as_slice(), sources) {
        ([class], [source]) => {
            format!(
                "{name}() does not take `{}`, which is {class}",
                text(source)
            )
        }
        _ => format!("{name}() does not take {}", classes.join(" and ")),
    };
    let help = "convert the value: CAST(x AS VARCHAR), CAST(x AS BIGINT), CAST(x AS DOUBLE)";
    rejected(at, message, Some(help))
}

/// Returns the type of the elements of `list`, the argument of `unnest`. An argument that is not a list is an error.
pub(super) fn element_type(list: &Expr, source: &tree::Expr) -> Result<DataType, QueryError> {
    match &list.data_type {
        DataType::List(field) | DataType::LargeList(field) => Ok(field.data_type().clone()),
        DataType::Null => Ok(DataType::Null),
        other => {
            let class = TypeClass::of(other).name();
            let message = format!("unnest() takes a list, and `{}` is {class}", text(source));
            Err(refused(source.at, message))
        }
    }
}

/// Resolves the frame of a window. The bounds of a RANGE frame have the type of the ORDER BY key.
fn frame(
    window: &tree::Window,
    order_by: &[OrderKey],
    at: Position,
) -> Result<WindowFrame, QueryError> {
    let frame = window.frame.unwrap_or(tree::Frame {
        units: FrameUnits::Range,
        start: FrameBound::Preceding(None),
        end: FrameBound::CurrentRow,
    });
    let has_number = |bound: FrameBound| {
        use FrameBound::{Following, Preceding};
        matches!(bound, Preceding(Some(_)) | Following(Some(_)))
    };
    let has_distance = has_number(frame.start) || has_number(frame.end);
    let (units, data_type) = match (frame.units, order_by) {
        (FrameUnits::Rows, _) => (WindowFrameUnits::Rows, DataType::UInt64),
        (FrameUnits::Groups, []) => {
            return Err(refused(at, "a frame of GROUPS needs an ORDER BY"));
        }
        (FrameUnits::Groups, _) => (WindowFrameUnits::Groups, DataType::UInt64),
        (FrameUnits::Range, [key]) if has_distance && !key.expr.data_type.is_numeric() => {
            let message =
                "a frame of RANGE with a distance needs an ORDER BY column that is numeric";
            return Err(refused(at, message));
        }
        (FrameUnits::Range, keys) if has_distance && keys.len() != 1 => {
            let message = "a frame of RANGE with a distance needs exactly one ORDER BY column";
            return Err(refused(at, message));
        }
        // Without ORDER BY, all rows of a partition are equal, so the frame is the entire partition.
        (FrameUnits::Range, []) => return Ok(WindowFrame::new(None)),
        (FrameUnits::Range, [first, ..]) => (WindowFrameUnits::Range, first.expr.data_type.clone()),
    };
    let distance = |rows: Option<u64>| match rows {
        None => ScalarValue::try_from(&data_type).unwrap_or(ScalarValue::Null),
        Some(rows) => {
            let rows = ScalarValue::UInt64(Some(rows));
            rows.cast_to(&data_type).unwrap_or(rows)
        }
    };
    let bound = |bound: FrameBound| match bound {
        FrameBound::Preceding(rows) => WindowFrameBound::Preceding(distance(rows)),
        FrameBound::CurrentRow => WindowFrameBound::CurrentRow,
        FrameBound::Following(rows) => WindowFrameBound::Following(distance(rows)),
    };
    let (start, end) = (bound(frame.start), bound(frame.end));
    Ok(WindowFrame::new_bounds(units, start, end))
}

/// Returns the argument of an `unnest` in FROM, or an error if the argument is not a list.
pub(super) fn list_class(expr: Expr, source: &tree::Expr) -> Result<Expr, QueryError> {
    match TypeClass::of(&expr.data_type) {
        TypeClass::List | TypeClass::Missing => Ok(expr),
        _ => of_class(expr, source, TypeClass::List, "unnest()"),
    }
}
