//! Expands `one_hot`, `multi_hot`, `constants` and `columns`, each of which creates several columns in a select list.
//!
//! - `one_hot(column, list)` or `one_hot(column, 'a', 'b')`: for each text, a column with that name. It is 1 if the
//!   column equals the text, and 0 otherwise, including for null.
//! - `multi_hot(column, list)` or `multi_hot(column, 'a', 'b')`: for each text, a column with that name. It is 1 if the
//!   column's comma-separated list contains the text, and 0 otherwise, including for null.
//! - `constants(value, list)` or `constants(value, 'a', 'b')`: for each text, a column with that name that contains the
//!   value.
//! - an expression with `columns(list)` or `columns('a', 'b')` is repeated for each name. `t.columns(list)` refers to
//!   columns of the table `t`.
//!
//! `column IN list` and `* EXCLUDE columns(list)` are expanded before the text is parsed, in
//! [`lists`](super::super::lists).

use std::collections::BTreeSet;
use std::sync::Arc;

use sqlparser::ast::{
    Expr as AstExpr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, Spanned as _, Value,
};

use super::super::fault::Fault;
use super::super::tree::{BinaryOperator, CastType, Expr, ExprKind, Item, Name, Position};
use super::calls::plain_call;
use super::{Lowering, placeholder, single};

/// Maximum number of texts in a call. Planning time grows with the square of the number of computed columns.
const MAX_COLUMNS: usize = 2000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Macro {
    OneHot,
    MultiHot,
    Constants,
}

/// An item of a select list that is converted once for each name in its calls of `columns`.
#[derive(Default)]
pub(super) struct Repetition {
    /// The names, after the first call was found.
    names: Option<Arc<Vec<String>>>,
    /// The index of the current name.
    index: usize,
}

impl Lowering<'_> {
    /// Converts an item of a select list, which may contain macros.
    pub(super) fn columns(&mut self, expr: &AstExpr, alias: Option<&Ident>, items: &mut Vec<Item>) {
        if let (AstExpr::Function(function), None) = (expr, alias)
            && let Some(kind) = macro_of(function)
        {
            match self.expand(kind, function) {
                Ok(columns) => items.extend(columns),
                Err(fault) => self.faults.push(fault),
            }
            return;
        }
        let before = self.faults.len();
        self.repetition = Some(Repetition::default());
        let first = self.expr(expr);
        let names = self
            .repetition
            .take()
            .and_then(|repetition| repetition.names);
        let Some(names) = names else {
            let name = alias.map(|alias| self.name(alias));
            return items.push(Item::Expr { expr: first, name });
        };
        if let Some(alias) = alias {
            let message = "`columns` creates several columns and cannot have one name";
            let fault = Fault::new("bad-macro", self.start(alias.span), message);
            self.faults
                .push(fault.help("remove AS; each column keeps its name"));
        }
        if self.faults.len() > before {
            return;
        }
        let mut item = |expr: Expr, text: &str| {
            let name = Some(Name {
                text: text.to_owned(),
                at: expr.at,
            });
            items.push(Item::Expr { expr, name });
        };
        if let Some(text) = names.first() {
            item(first, text);
        }
        for (index, text) in names.iter().enumerate().skip(1) {
            let names = Some(Arc::clone(&names));
            self.repetition = Some(Repetition { names, index });
            item(self.expr(expr), text);
            self.repetition = None;
        }
    }

    /// Returns the column in place of a call of `columns`, or reports a macro where it is not expanded. Returns `None`
    /// for other functions.
    pub(super) fn macro_call(&mut self, function: &Function) -> Option<Expr> {
        let at = self.place(function);
        if is_columns(function) {
            if let Some(mut repetition) = self.repetition.take() {
                if repetition.index == 0 {
                    let names = self.repeated(function, repetition.names.as_deref());
                    let names = names.unwrap_or_else(|fault| {
                        self.faults.push(fault);
                        Vec::new()
                    });
                    repetition.names = Some(Arc::new(names));
                }
                let names = repetition.names.as_ref();
                let name = names.and_then(|names| names.get(repetition.index));
                let name = Name {
                    text: name.cloned().unwrap_or_default(),
                    at,
                };
                self.repetition = Some(repetition);
                let is_qualified = function.name.0.len() == 2;
                let table = function.name.0.first().and_then(|part| part.as_ident());
                let table = table.filter(|_| is_qualified).map(|table| self.name(table));
                let kind = ExprKind::Column { table, name };
                return Some(Expr { kind, at });
            }
        } else {
            macro_of(function)?;
        }
        let name = function.name.to_string().to_ascii_lowercase();
        let (end, help) = match is_columns(function) {
            true => ("used here", "write it in the list after SELECT"),
            false => (
                "part of an expression",
                "write it as a separate item in the list after SELECT, without AS",
            ),
        };
        let message = format!("`{name}` creates several columns and cannot be {end}");
        self.faults
            .push(Fault::new("bad-macro", at, message).help(help));
        Some(placeholder(at))
    }

    /// Returns the names of a call of `columns`, which must be equal to those of earlier calls in the expression.
    fn repeated(
        &mut self,
        function: &Function,
        earlier: Option<&Vec<String>>,
    ) -> Result<Vec<String>, Fault> {
        let at = self.place(function);
        let usage = || {
            Fault::new("bad-macro", at, "`columns` takes a list, or texts")
                .help("write `columns(list)` or `columns('a', 'b')`")
        };
        let args = plain_args(function).ok_or_else(usage)?;
        let texts = self.texts(&args, &usage)?;
        if earlier.is_some_and(|earlier| *earlier != texts) {
            let message = "an expression cannot have `columns` of two lists";
            return Err(Fault::new("bad-macro", at, message)
                .help("use the same list, or write the columns of one of them"));
        }
        if texts.len() > MAX_COLUMNS {
            let message = format!("`columns` creates more than {MAX_COLUMNS} columns");
            return Err(Fault::new("query-too-long", at, message));
        }
        Ok(texts)
    }

    fn expand(&mut self, kind: Macro, function: &Function) -> Result<Vec<Item>, Fault> {
        let at = self.place(function);
        let name = function.name.to_string().to_ascii_lowercase();
        let usage = || {
            let first = match kind {
                Macro::OneHot | Macro::MultiHot => "column",
                Macro::Constants => "value",
            };
            let message = format!("`{name}` takes a {first} and a list, or texts");
            Fault::new("bad-macro", at, message).help(format!(
                "write `{name}({first}, list)` or `{name}({first}, 'a', 'b')`"
            ))
        };
        let args = plain_args(function).ok_or_else(usage)?;
        let Some((value, rest)) = args.split_first() else {
            return Err(usage());
        };
        let texts = self.texts(rest, &usage)?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = texts.iter().find(|text| !seen.insert(text.as_str())) {
            let message = format!("`{twice}` appears twice");
            return Err(Fault::new("bad-macro", at, message)
                .help("each text creates a column, so write it only once"));
        }
        if texts.len() > MAX_COLUMNS {
            let message = format!("`{name}` creates more than {MAX_COLUMNS} columns");
            return Err(Fault::new("query-too-long", at, message)
                .help("use one row for each text instead: join with the list, `FROM list`"));
        }
        let value = self.expr(value);
        let item = |text: String| {
            let expr = match kind {
                Macro::OneHot => as_integer(equals(value.clone(), &text, at), at),
                Macro::MultiHot => as_integer(list_contains(value.clone(), &text, at), at),
                Macro::Constants => value.clone(),
            };
            let name = Some(Name { text, at });
            Item::Expr { expr, name }
        };
        Ok(texts.into_iter().map(item).collect())
    }

    /// Returns the texts that arguments specify: the texts of a list, or literal texts.
    fn texts(
        &mut self,
        args: &[&AstExpr],
        usage: &dyn Fn() -> Fault,
    ) -> Result<Vec<String>, Fault> {
        match args {
            [] => Err(usage()),
            [AstExpr::Identifier(name)] => {
                if let Some(texts) = self.lists.get(&name.value) {
                    self.used_lists.insert(name.value.clone());
                    return Ok(texts.clone());
                }
                let at = self.start(name.span);
                Err(Fault::unknown_list(&name.value, at, self.lists))
            }
            texts => {
                let texts: Option<Vec<String>> = texts.iter().map(|expr| literal(expr)).collect();
                texts.ok_or_else(usage)
            }
        }
    }

    fn place(&self, function: &Function) -> Position {
        self.start(function.name.span())
    }
}

fn macro_of(function: &Function) -> Option<Macro> {
    match single(&function.name)?.value.to_ascii_lowercase().as_str() {
        "one_hot" => Some(Macro::OneHot),
        "multi_hot" => Some(Macro::MultiHot),
        "constants" => Some(Macro::Constants),
        _ => None,
    }
}

/// Returns whether a function is `columns` or `table.columns`.
fn is_columns(function: &Function) -> bool {
    let last = function.name.0.last().and_then(|part| part.as_ident());
    function.name.0.len() <= 2
        && last.is_some_and(|name| {
            name.quote_style.is_none() && name.value.eq_ignore_ascii_case("columns")
        })
}

/// Returns the arguments of a call that has no other clauses.
fn plain_args(function: &Function) -> Option<Vec<&AstExpr>> {
    let Function {
        name: _,
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(list),
        filter: None,
        null_treatment: None,
        over: None,
        within_group,
    } = function
    else {
        return None;
    };
    let FunctionArgumentList {
        duplicate_treatment: None,
        args,
        clauses,
    } = list
    else {
        return None;
    };
    let arg = |arg| match arg {
        &FunctionArg::Unnamed(FunctionArgExpr::Expr(ref expr)) => Some(expr),
        _ => None,
    };
    let is_plain = within_group.is_empty() && clauses.is_empty();
    is_plain.then(|| args.iter().map(arg).collect())?
}

fn literal(expr: &AstExpr) -> Option<String> {
    match expr {
        AstExpr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns `column = 'text'`.
fn equals(column: Expr, text: &str, at: Position) -> Expr {
    ExprKind::Binary {
        op: BinaryOperator::Equal,
        left: Box::new(column),
        right: Box::new(quoted(text, at)),
    }
    .at(at)
}

/// Returns `array_has(string_to_array(column, ','), 'text')`.
fn list_contains(column: Expr, text: &str, at: Position) -> Expr {
    let texts = plain_call("string_to_array", vec![column, quoted(",", at)], at);
    plain_call("array_has", vec![texts, quoted(text, at)], at)
}

/// Returns `CAST(coalesce(condition, false) AS BIGINT)`.
fn as_integer(condition: Expr, at: Position) -> Expr {
    let kind = ExprKind::Boolean(false);
    let known = plain_call("coalesce", vec![condition, Expr { kind, at }], at);
    ExprKind::Cast {
        expr: Box::new(known),
        to: CastType::BigInt,
        is_try: false,
    }
    .at(at)
}

fn quoted(text: &str, at: Position) -> Expr {
    ExprKind::Text(text.to_owned()).at(at)
}
