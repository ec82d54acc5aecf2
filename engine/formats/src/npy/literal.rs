//! Parses the Python dictionary in a header.

/// A value in the dictionary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Literal {
    Text(String),
    Bool(bool),
    Integer(u64),
    /// A tuple of integers.
    Tuple(Vec<u64>),
    /// A list, which describes the type of a record array. Its content is not parsed.
    List,
}

/// Parses `{'key': literal, ...}`. Returns `None` for any other text.
pub(super) fn dictionary(text: &str) -> Option<Vec<(String, Literal)>> {
    let mut rest = text.trim().strip_prefix('{')?.trim_start();
    let mut entries = Vec::new();
    while !rest.starts_with('}') {
        let (key, after) = quoted(rest)?;
        let after = after.trim_start().strip_prefix(':')?;
        let (value, after) = literal(after.trim_start())?;
        entries.push((key, value));
        rest = comma(after, '}')?;
    }
    rest.strip_prefix('}')?.trim().is_empty().then_some(entries)
}

fn literal(text: &str) -> Option<(Literal, &str)> {
    if let Some(rest) = text.strip_prefix("True") {
        return Some((Literal::Bool(true), rest));
    }
    if let Some(rest) = text.strip_prefix("False") {
        return Some((Literal::Bool(false), rest));
    }
    match text.chars().next()? {
        '\'' | '"' => quoted(text).map(|(text, rest)| (Literal::Text(text), rest)),
        '(' => tuple(text),
        '[' => text.rsplit_once(']').map(|(_, rest)| (Literal::List, rest)),
        _ => integer(text).map(|(value, rest)| (Literal::Integer(value), rest)),
    }
}

fn tuple(text: &str) -> Option<(Literal, &str)> {
    let mut rest = text.strip_prefix('(')?.trim_start();
    let mut values = Vec::new();
    while !rest.starts_with(')') {
        let (value, after) = integer(rest)?;
        values.push(value);
        rest = comma(after, ')')?;
    }
    Some((Literal::Tuple(values), rest.strip_prefix(')')?))
}

/// Skips the comma after an element. If there is no comma, `end` must follow.
fn comma(text: &str, end: char) -> Option<&str> {
    let text = text.trim_start();
    match text.strip_prefix(',') {
        Some(rest) => Some(rest.trim_start()),
        None => text.starts_with(end).then_some(text),
    }
}

fn quoted(text: &str) -> Option<(String, &str)> {
    let quote = text
        .chars()
        .next()
        .filter(|quote| matches!(quote, '\'' | '"'))?;
    let (content, rest) = text.get(1..)?.split_once(quote)?;
    (!content.contains('\\')).then(|| (content.to_owned(), rest))
}

/// Parses an integer, with or without the suffix `L` that Python 2 writes after long integers.
fn integer(text: &str) -> Option<(u64, &str)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    Some((digits.parse().ok()?, rest.strip_prefix('L').unwrap_or(rest)))
}
