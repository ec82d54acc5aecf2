//! Expands `one_hot`, `multi_hot`, `constants` and `columns`, each of which creates several columns in a select list.
//!
//! - `one_hot(column, list)` or `one_hot(column, 'a', 'b')`: for each text, a column with that name. It is 1 if the
//!   column equals the text, and 0 otherwise, including for null.
//! - `multi_hot(column, list)` or `multi_hot(column, 'a', 'b')`: for each text, a column with that name. It is 1 if the
//!   column's comma-separated list contains the text, and 0 otherwise, including for null.
//! - `constants(value, list)` or `constants(value, 'a', 'b')`: for each text, a column with that name that contains the
//!   value.
//! - an expression with `columns(list)`: see [`super::each_column`].

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, Query as Tree, Select, SelectItem,
    Value, Visit, VisitMut, Visitor, VisitorMut,
};
use sqlparser::tokenizer::Location;

use super::each_column::is_columns;
use super::fault::{Fault, Lists};

/// Maximum number of texts in a call. Planning time grows with the square of the number of computed columns.
pub(super) const MAX_COLUMNS: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Macro {
    OneHot,
    MultiHot,
    Constants,
}

/// Returns whether a function is a macro, which is expanded here and unknown to the query engine.
pub fn is_macro(function: &Function) -> bool {
    macro_of(function).is_some() || is_columns(function)
}

fn macro_of(function: &Function) -> Option<Macro> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    match name.as_ident()?.value.to_ascii_lowercase().as_str() {
        "one_hot" => Some(Macro::OneHot),
        "multi_hot" => Some(Macro::MultiHot),
        "constants" => Some(Macro::Constants),
        _ => None,
    }
}

/// Expands all macros of a query. Returns the names of the lists that they use.
pub(super) fn expand(tree: &mut Tree, lists: &Lists, faults: &mut Vec<Fault>) -> BTreeSet<String> {
    let mut expander = Expander {
        lists,
        faults,
        used: BTreeSet::new(),
    };
    let _: ControlFlow<()> = tree.visit(&mut expander);
    let used = expander.used;
    let mut strays = LeftoverMacros { faults };
    let _: ControlFlow<()> = Visit::visit(&*tree, &mut strays);
    used
}

pub(super) struct Expander<'a> {
    lists: &'a Lists,
    faults: &'a mut Vec<Fault>,
    used: BTreeSet<String>,
}

impl VisitorMut for Expander<'_> {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        let mut items = Vec::with_capacity(select.projection.len());
        for item in std::mem::take(&mut select.projection) {
            let call = match &item {
                SelectItem::UnnamedExpr(Expr::Function(function)) => {
                    macro_of(function).map(|kind| self.call(kind, function))
                }
                _ => None,
            };
            match call.or_else(|| self.each_column(&item)) {
                Some(Ok(columns)) => items.extend(columns),
                Some(Err(fault)) => self.faults.push(fault),
                None => items.push(item),
            }
        }
        select.projection = items;
        ControlFlow::Continue(())
    }
}

impl Expander<'_> {
    fn call(&mut self, kind: Macro, function: &Function) -> Result<Vec<SelectItem>, Fault> {
        let at = place(function);
        let usage = || {
            let first = match kind {
                Macro::OneHot | Macro::MultiHot => "column",
                Macro::Constants => "value",
            };
            let name = function.name.to_string().to_ascii_lowercase();
            let message = format!("`{name}` takes a {first} and a list, or texts");
            Fault::new("bad-macro", at, message).help(format!(
                "write `{name}({first}, list)` or `{name}({first}, 'a', 'b')`"
            ))
        };
        let args = plain_args(function).ok_or_else(usage)?;
        let Some((value, rest)) = args.split_first() else {
            return Err(usage());
        };
        let (value, texts) = (*value, self.texts(rest, &usage)?);
        let mut seen = BTreeSet::new();
        if let Some(twice) = texts.iter().find(|text| !seen.insert(text.as_str())) {
            let message = format!("`{twice}` appears twice");
            return Err(Fault::new("bad-macro", at, message)
                .help("each text creates a column, so write it only once"));
        }
        if texts.len() > MAX_COLUMNS {
            let name = function.name.to_string().to_ascii_lowercase();
            let message = format!("`{name}` creates more than {MAX_COLUMNS} columns");
            return Err(Fault::new("query-too-long", at, message)
                .help("use one row for each text instead: join with the list, `FROM list`"));
        }
        Ok(texts
            .iter()
            .map(|text| SelectItem::ExprWithAlias {
                expr: match kind {
                    Macro::OneHot => as_integer(equals(value, text)),
                    Macro::MultiHot => as_integer(list_contains(value, text)),
                    Macro::Constants => value.clone(),
                },
                alias: Ident::with_quote('"', text),
            })
            .collect())
    }

    /// Returns the texts that arguments specify: the texts of a list, or literal texts.
    pub(super) fn texts(
        &mut self,
        args: &[&Expr],
        usage: &dyn Fn() -> Fault,
    ) -> Result<Vec<String>, Fault> {
        match args {
            [] => Err(usage()),
            [Expr::Identifier(list)] => self.list(list),
            texts => {
                let texts: Option<Vec<String>> = texts.iter().map(|expr| literal(expr)).collect();
                texts.ok_or_else(usage)
            }
        }
    }

    fn list(&mut self, name: &Ident) -> Result<Vec<String>, Fault> {
        if let Some(texts) = self.lists.get(&name.value) {
            self.used.insert(name.value.clone());
            return Ok(texts.clone());
        }
        let at = name.span.start;
        Err(Fault::unknown_list(&name.value, at, self.lists))
    }
}

/// Returns the arguments of a call that has no other clauses.
pub(super) fn plain_args(function: &Function) -> Option<Vec<&Expr>> {
    let plain = function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty();
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    if !plain || list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return None;
    }
    let args = list.args.iter();
    args.map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    })
    .collect()
}

fn literal(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns `column = 'text'`.
fn equals(column: &Expr, text: &str) -> Expr {
    let column = match column {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Function(_) | Expr::Nested(_) => {
            column.clone()
        }
        other => Expr::Nested(Box::new(other.clone())),
    };
    Expr::BinaryOp {
        left: Box::new(column),
        op: BinaryOperator::Eq,
        right: Box::new(quoted(text)),
    }
}

/// Returns `array_has(string_to_array(column, ','), 'text')`.
fn list_contains(column: &Expr, text: &str) -> Expr {
    let texts = call("string_to_array", [column.clone(), quoted(",")]);
    call("array_has", [texts, quoted(text)])
}

/// Returns `CAST(coalesce(condition, false) AS BIGINT)`.
fn as_integer(condition: Expr) -> Expr {
    let known = call("coalesce", [condition, Expr::value(Value::Boolean(false))]);
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(known),
        data_type: DataType::BigInt(None),
        array: false,
        format: None,
    }
}

fn quoted(text: &str) -> Expr {
    Expr::value(Value::SingleQuotedString(text.to_owned()))
}

fn call(name: &str, args: [Expr; 2]) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args
                .map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)))
                .into(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

/// Reports macro calls outside of a select list, where macros are not expanded.
struct LeftoverMacros<'f> {
    faults: &'f mut Vec<Fault>,
}

impl Visitor for LeftoverMacros<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(function) = expr
            && is_macro(function)
        {
            let name = function.name.to_string().to_ascii_lowercase();
            let (message, help) = match is_columns(function) {
                true => (
                    format!("`{name}` creates several columns and cannot be used here"),
                    "write it in the list after SELECT",
                ),
                false => (
                    format!("`{name}` creates several columns and cannot be part of an expression"),
                    "write it as a separate item in the list after SELECT, without AS",
                ),
            };
            let fault = Fault::new("bad-macro", place(function), message);
            self.faults.push(fault.help(help));
        }
        ControlFlow::Continue(())
    }
}

pub(super) fn place(function: &Function) -> Location {
    let name = function.name.0.first().and_then(|part| part.as_ident());
    name.map_or(Location::empty(), |ident| ident.span.start)
}
