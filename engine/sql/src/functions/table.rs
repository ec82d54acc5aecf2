//! The functions of `list.txt`.

use std::sync::LazyLock;

/// A line of `list.txt`, without the meaning and the example.
#[derive(Debug)]
pub(crate) struct ListedFunction {
    pub kind: FunctionKind,
    pub name: &'static str,
    pub aliases: Vec<&'static str>,
    /// The usual calls, for example `count(*), count(x)`.
    pub calls: &'static str,
}

impl ListedFunction {
    /// Returns the maximum number of arguments. `None` if there is no maximum.
    pub fn max_arguments(&self) -> Option<usize> {
        let calls = self.calls.split("), ");
        let counts = calls.map(|call| match call.contains("...") {
            true => None,
            false => Some(1 + call.matches(',').count()),
        });
        counts.max_by_key(|count| count.unwrap_or(usize::MAX))?
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FunctionKind {
    Scalar,
    Aggregate,
    Window,
    /// An aggregate and a window function.
    Both,
    /// The planner replaces the call by rows.
    Rows,
    /// The parser replaces the call by columns. A scalar function with the same name may compute each of them.
    Columns,
}

static FUNCTIONS: LazyLock<Vec<ListedFunction>> =
    LazyLock::new(|| include_str!("list.txt").lines().filter_map(parse).collect());

/// Parses a line of `list.txt`. Returns `None` for headings and text.
fn parse(line: &'static str) -> Option<ListedFunction> {
    let mut fields = line.split(" | ");
    let kind = match fields.next()? {
        "scalar" => FunctionKind::Scalar,
        "aggregate" => FunctionKind::Aggregate,
        "window" => FunctionKind::Window,
        "both" => FunctionKind::Both,
        "rows" => FunctionKind::Rows,
        "columns" => FunctionKind::Columns,
        _ => return None,
    };
    let names = fields.next()?;
    let (name, aliases) = names.split_once(" = ").unwrap_or((names, ""));
    let aliases = aliases.split(", ").filter(|alias| !alias.is_empty());
    Some(ListedFunction {
        kind,
        name,
        aliases: aliases.collect(),
        calls: fields.next()?,
    })
}

pub(crate) fn functions() -> &'static [ListedFunction] {
    &FUNCTIONS
}

/// Finds a function by its name or an alias.
pub(crate) fn listed(name: &str) -> Option<&'static ListedFunction> {
    let names =
        |function: &&ListedFunction| function.name == name || function.aliases.contains(&name);
    FUNCTIONS.iter().find(names)
}
