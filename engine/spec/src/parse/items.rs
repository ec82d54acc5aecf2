//! Parses lists of mappings whose first key is a name, and the operands and conditions in them.

use std::collections::BTreeMap;

use super::state::{ParseState, quoted, scalar_style};
use crate::query::tree::{self, Expr, ExprKind};
use crate::query::{RESERVED_ROW, expression, is_row};
use crate::text::diagnostic::{Diagnostic, Span};
use crate::text::suggest::nearest;
use crate::text::yaml::{Style, YamlNode};
use crate::words::Section;
use crate::words::declaration::{Comparison, Item, Operand, Operator};

impl ParseState {
    /// Parses a list of mappings such as `{ place: integers, low: 1 }`.
    ///
    /// The author chooses the first key (`place`). Its value (`integers`) must be the name of one of `sections`. This section
    /// describes the other keys.
    pub fn items(
        &mut self,
        node: &YamlNode,
        sections: &'static [&'static Section],
    ) -> Option<Vec<Item>> {
        let nodes = self.list(node, "a list of mappings")?;
        if nodes.is_empty() {
            self.error("empty-list", node.span, "the list is empty");
        }
        let mut items: Vec<Item> = Vec::new();
        let mut places: BTreeMap<String, Span> = BTreeMap::new();
        let mut complete = true;
        for node in nodes {
            let Some(item) = self.item(node, sections) else {
                complete = false;
                continue;
            };
            let name = &item.name;
            if let Some(first) = places.get(&name.value) {
                let message = format!("the column `{}` appears twice", name.value);
                let found = Diagnostic::error("duplicate-column", name.span, message);
                self.report(found.label(*first, "first here"));
                complete = false;
            } else {
                places.insert(name.value.clone(), name.span);
            }
            items.push(item);
        }
        complete.then_some(items)
    }

    fn item(&mut self, node: &YamlNode, sections: &'static [&'static Section]) -> Option<Item> {
        let entries = self.keys(node, "the item")?;
        let Some((first, rest)) = entries.split_first() else {
            self.error("missing-key", node.span, "the mapping is empty");
            return None;
        };
        if is_row(&first.key) {
            self.error("reserved-column", first.key_span, RESERVED_ROW);
        }
        let names = || sections.iter().map(|section| section.name);
        let word = self.text(&first.value, &format!("one of {}", quoted(names())))?;
        let Some(section) = sections.iter().find(|one| one.name == word.value) else {
            let (names_of_sections, found) = (quoted(names()), &word.value);
            let message = format!("expected one of {names_of_sections}, found `{found}`");
            let near = nearest(&word.value, names());
            let found = Diagnostic::error("unknown-word", word.span, message);
            self.report(found.suggest(near));
            return None;
        };
        let title = format!("`{}`", section.name);
        let known = self.known_entries(rest, node, &[section], &title);
        let fields = self.select(&known, node, section, &title);
        let mut settings = BTreeMap::new();
        let mut complete = true;
        for key in section.keys {
            complete &= self.add_setting(key, fields.get(key.name), &mut settings);
        }
        complete.then(|| Item {
            name: first.name(),
            section,
            settings,
        })
    }

    pub fn operand(&mut self, node: &YamlNode) -> Option<Operand> {
        let text = self.text(node, "a number or the name of a column")?;
        match text.value.parse::<f64>() {
            Ok(_) if scalar_style(node) == Some(Style::Plain) => {
                self.number(node).map(Operand::Number)
            }
            _ => Some(Operand::Column(text.value)),
        }
    }

    pub fn condition(&mut self, node: &YamlNode) -> Option<Vec<Comparison>> {
        let text = self.text(node, "a condition")?;
        let mut comparisons = Vec::new();
        let parsed = expression(&text.value);
        if parsed.is_some_and(|expr| collect_comparisons(&expr, &mut comparisons).is_some()) {
            return Some(comparisons);
        }
        let message = format!("`{}` is not a condition", text.value);
        let help = "compare columns and numbers, joined by AND: `u <= 0.01 AND words > 2`";
        self.report(Diagnostic::error("bad-condition", node.span, message).help(help));
        None
    }
}

/// Adds the comparisons that are joined by AND. Returns `None` if the expression contains anything else.
fn collect_comparisons(expr: &Expr, comparisons: &mut Vec<Comparison>) -> Option<()> {
    let ExprKind::Operation { op, operands } = &expr.kind else {
        return None;
    };
    let [left, right] = operands.as_slice() else {
        return None;
    };
    let operator = match op {
        tree::Operator::And => {
            collect_comparisons(left, comparisons)?;
            return collect_comparisons(right, comparisons);
        }
        tree::Operator::Equal => Operator::Equal,
        tree::Operator::NotEqual => Operator::NotEqual,
        tree::Operator::Less => Operator::Less,
        tree::Operator::LessOrEqual => Operator::LessOrEqual,
        tree::Operator::Greater => Operator::Greater,
        tree::Operator::GreaterOrEqual => Operator::GreaterOrEqual,
        _ => return None,
    };
    comparisons.push(Comparison {
        left: side(left)?,
        operator,
        right: side(right)?,
    });
    Some(())
}

/// Converts one side of a comparison. Returns `None` if it is neither a column nor a number.
fn side(expr: &Expr) -> Option<Operand> {
    match &expr.kind {
        ExprKind::Column { table: None, name } => Some(Operand::Column(name.text.clone())),
        ExprKind::Integer(number) => Some(Operand::Number(*number as f64)),
        ExprKind::Double(number) => Some(Operand::Number(*number)),
        _ => None,
    }
}
