//! Expands macros: calls in a select list that create one column for each string of a list.
//!
//! - `one_hot(column, list)`: 1 if `column` equals the string, otherwise 0.
//! - `multi_hot(column, list)`: 1 if the list in `column` contains the string, otherwise 0. A call of the function `multi_hot`
//!   with each string replaces the macro.
//! - `constants(value, list)`: `value`, in each of the columns.
//! - `columns(list)`: the surrounding expression, repeated with each string of the list as the name of a column.
//!
//! Each macro also accepts the strings as arguments instead of the list: `one_hot(column, 'a', 'b')`.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::fault::Fault;
use super::super::token::TokenKind;
use super::super::tree::{CastType, Expr, ExprKind, Item, Name, Operator, Position};
use super::calls::plain_call;
use super::exprs::column;
use super::query::check_name;
use super::{Parsed, Parser};

/// Maximum number of strings in a macro. Planning time is quadratic in the number of computed columns.
const MAX_COLUMNS: usize = 2000;

/// The macros that create a column for each string. The second value is the word for the first argument in messages.
const MACROS: [(&str, &str); 3] = [
    ("one_hot", "column"),
    ("multi_hot", "column"),
    ("constants", "value"),
];

/// The state of a select list item that is parsed once for each name in its calls of `columns`.
#[derive(Default)]
pub(super) struct Repetition {
    /// The names of the columns. `None` before the first call of `columns` is parsed.
    names: Option<Arc<Vec<String>>>,
    index: usize,
}

impl Parser<'_> {
    /// Parses an item of a select list that is not a wildcard, and adds the columns that it creates to `items`.
    pub(super) fn columns(&mut self, items: &mut Vec<Item>) -> Parsed<()> {
        let (start, at) = (self.next, self.at());
        if let Some((name, first)) = self.macro_ahead() {
            self.expand(name, first, items)?;
            let is_operand = self.kind() == TokenKind::Symbol && !self.is_any(", ) ;");
            return match is_operand || self.maybe_alias()?.is_some() {
                true => Err(not_expanded(name, at)),
                false => Ok(()),
            };
        }
        self.repetition = Some(Repetition::default());
        let first = self.expr()?;
        let names = self
            .repetition
            .take()
            .and_then(|repetition| repetition.names);
        let end = self.next;
        let alias = self.maybe_alias()?;
        let Some(names) = names else {
            alias.iter().try_for_each(check_name)?;
            items.push(Item::Expr {
                expr: first,
                name: alias,
            });
            return Ok(());
        };
        if let Some(alias) = &alias {
            let message = "`columns` creates several columns and cannot have one name";
            let fault = Fault::new("bad-macro", alias.at, message);
            return Err(fault.help("remove AS; each column keeps its name"));
        }
        for (index, text) in names.iter().cloned().enumerate() {
            let names = Some(Arc::clone(&names));
            (self.next, self.repetition) = (start, Some(Repetition { names, index }));
            let expr = self.expr()?;
            let at = expr.at;
            let name = Some(Name { text, at });
            items.push(Item::Expr { expr, name });
        }
        (self.next, self.repetition) = (end, None);
        Ok(())
    }

    /// Returns the entry of [`MACROS`] whose call begins here.
    fn macro_ahead(&self) -> Option<(&'static str, &'static str)> {
        let mut macros = MACROS.into_iter();
        macros.find(|(name, _)| self.is_ahead(0, name) && self.is_ahead(1, "("))
    }

    /// Parses a call of `columns`, if one begins here. Calls of other macros are errors, because no expression may contain them.
    pub(super) fn macro_call(&mut self) -> Parsed<Option<Expr>> {
        let at = self.at();
        if let Some((name, _)) = self.macro_ahead() {
            return Err(not_expanded(name, at));
        }
        let table = self.next_name(true).filter(|_| self.is_ahead(1, "."));
        let ahead = if table.is_some() { 2 } else { 0 };
        if !(self.is_ahead(ahead, "columns") && self.is_ahead(ahead + 1, "(")) {
            return Ok(None);
        }
        let Some(mut repetition) = self.repetition.take() else {
            let message = "`columns` creates several columns and cannot be used here";
            let fault = Fault::new("bad-macro", at, message);
            return Err(fault.help("write it in the list after SELECT"));
        };
        self.next += ahead + 2;
        let texts = self.texts(&|| {
            Fault::new("bad-macro", at, "`columns` takes either a list or strings")
                .help("write `columns(list)` or `columns('a', 'b')`")
        })?;
        if texts.len() > MAX_COLUMNS {
            let message = format!("`columns` creates more than {MAX_COLUMNS} columns");
            return Err(Fault::new("query-too-long", at, message));
        }
        let names = repetition
            .names
            .get_or_insert_with(|| Arc::new(texts.clone()));
        if **names != texts {
            let message = "an expression cannot have `columns` of two lists";
            return Err(Fault::new("bad-macro", at, message)
                .help("use the same list in both, or write the expression once for each column of one list"));
        }
        let text = names.get(repetition.index).cloned().unwrap_or_default();
        self.repetition = Some(repetition);
        Ok(Some(column(table, Name { text, at }).at(at)))
    }

    /// Parses a call of the macro `name`, and adds its columns to `items`. `first` describes the first argument.
    fn expand(&mut self, name: &str, first: &str, items: &mut Vec<Item>) -> Parsed<()> {
        let at = self.at();
        self.next += 2;
        let usage = || {
            let message = format!("`{name}` takes a {first} and either a list or strings");
            Fault::new("bad-macro", at, message).help(format!(
                "write `{name}({first}, list)` or `{name}({first}, 'a', 'b')`"
            ))
        };
        if self.is(")") {
            return Err(usage());
        }
        let value = self.expr()?;
        if !self.take(",") {
            return Err(usage());
        }
        let texts = self.texts(&usage)?;
        let mut seen = BTreeSet::new();
        if let Some(twice) = texts.iter().find(|text| !seen.insert(text.as_str())) {
            let message = format!("`{twice}` appears twice");
            return Err(Fault::new("bad-macro", at, message)
                .help("each string creates a column, so write each string only once"));
        }
        if texts.len() > MAX_COLUMNS {
            let message = format!("`{name}` creates more than {MAX_COLUMNS} columns");
            return Err(Fault::new("query-too-long", at, message)
                .help("create one row for each string, not one column: join with the list, as in `FROM list`"));
        }
        items.extend(texts.into_iter().map(|text| {
            let expr = match name {
                "one_hot" => as_integer(equals(value.clone(), &text, at), at),
                "multi_hot" => plain_call(name, vec![value.clone(), quoted(&text, at)], at),
                _ => value.clone(),
            };
            let name = Some(Name { text, at });
            Item::Expr { expr, name }
        }));
        Ok(())
    }

    /// Parses the last arguments of a macro, up to the closing parenthesis: the name of a list, or strings.
    fn texts(&mut self, usage: &dyn Fn() -> Fault) -> Parsed<Vec<String>> {
        if let Some(name) = self.next_name(true).filter(|_| self.is_ahead(1, ")")) {
            let texts = self.texts_of_list(&name)?;
            self.next += 2;
            return Ok(texts);
        }
        let text = |inner: &mut Self| {
            let token = inner.token(0).filter(|token| token.kind == TokenKind::Text);
            inner.next += 1;
            token.map(|token| token.text.clone()).ok_or_else(usage)
        };
        let texts = self.list(text)?;
        match self.take(")") {
            true => Ok(texts),
            false => Err(usage()),
        }
    }

    pub(super) fn texts_of_list(&mut self, name: &Name) -> Parsed<Vec<String>> {
        let texts = self.lists.get(&name.text).cloned();
        let texts = texts.ok_or_else(|| Fault::unknown_list(&name.text, name.at, self.lists))?;
        self.used_lists.insert(name.text.clone());
        Ok(texts)
    }

    /// Parses `columns(list)` after EXCLUDE. Returns `None` if something else follows.
    pub(super) fn columns_of_list(&mut self) -> Parsed<Option<Vec<Name>>> {
        if !self.take("columns (") {
            return Ok(None);
        }
        let list = self.name()?;
        self.expect(")")?;
        let name = |text| Name { text, at: list.at };
        Ok(Some(
            self.texts_of_list(&list)?.into_iter().map(name).collect(),
        ))
    }
}

fn not_expanded(name: &str, at: Position) -> Fault {
    let message = format!("`{name}` creates several columns and cannot be part of an expression");
    let help = "write it as a separate item in the list after SELECT, without AS";
    Fault::new("bad-macro", at, message).help(help)
}

fn equals(column: Expr, text: &str, at: Position) -> Expr {
    ExprKind::operation(Operator::Equal, [column, quoted(text, at)]).at(at)
}

/// Returns an expression that is 1 if the condition is true, and 0 if it is false or NULL.
fn as_integer(condition: Expr, at: Position) -> Expr {
    let otherwise = ExprKind::Boolean(false).at(at);
    let known = plain_call("coalesce", vec![condition, otherwise], at);
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
