//! The functions that queries can call, as `list.txt` states them.

use std::sync::LazyLock;

/// A function that queries can call.
#[derive(Debug)]
pub(crate) struct ListedFunction {
    pub kind: FunctionKind,
    /// The name, in lower case.
    pub name: &'static str,
    /// Other names of the function.
    pub aliases: Vec<&'static str>,
}

/// The kind of a function, by the values that its result depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    /// The values of one row.
    Scalar,
    /// The values of a group or a window.
    Aggregate,
    /// The rows of a window.
    Window,
    /// The values of a group, or the rows of a window.
    Both,
    /// The planner replaces the call: it creates rows or columns.
    Planned,
}

static FUNCTIONS: LazyLock<Vec<ListedFunction>> =
    LazyLock::new(|| include_str!("list.txt").lines().filter_map(parse).collect());

/// Parses a line of the list. Returns `None` for headings and text.
fn parse(line: &'static str) -> Option<ListedFunction> {
    let mut fields = line.split(" | ");
    let kind = match fields.next()? {
        "scalar" => FunctionKind::Scalar,
        "aggregate" => FunctionKind::Aggregate,
        "window" => FunctionKind::Window,
        "both" => FunctionKind::Both,
        "rows" | "columns" => FunctionKind::Planned,
        _ => return None,
    };
    let names = fields.next()?;
    let (name, aliases) = names.split_once(" = ").unwrap_or((names, ""));
    let aliases = aliases.split(", ").filter(|alias| !alias.is_empty());
    Some(ListedFunction {
        kind,
        name,
        aliases: aliases.collect(),
    })
}

/// Returns all functions.
pub(crate) fn functions() -> &'static [ListedFunction] {
    &FUNCTIONS
}

/// Returns the function with this name or alias, in lower case.
pub(crate) fn listed(name: &str) -> Option<&'static ListedFunction> {
    let names =
        |function: &&ListedFunction| function.name == name || function.aliases.contains(&name);
    FUNCTIONS.iter().find(names)
}
