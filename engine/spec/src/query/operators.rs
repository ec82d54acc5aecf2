//! The symbols and binding powers of operators.

use super::tree::{Expr, ExprKind, Operator, SubqueryKind};

/// Binding powers. An operand with a lower power than its operator requires is printed in parentheses.
pub(super) mod power {
    pub const ANY: u8 = 0;
    pub const OR: u8 = 5;
    pub const AND: u8 = 10;
    pub const NOT: u8 = 15;
    pub const IS: u8 = 17;
    pub const LIKE: u8 = 19;
    pub const COMPARISON: u8 = 20;
    pub const BIT_OR: u8 = 21;
    pub const SHIFT: u8 = 22;
    pub const BIT_AND: u8 = 23;
    pub const SUM: u8 = 30;
    pub const PRODUCT: u8 = 40;
    pub const SIGN: u8 = 45;
    pub const ELEMENT: u8 = 50;
    pub const PRIMARY: u8 = 60;
}

/// Each operator with its binding power and symbol. If an operator has several symbols, only the first is printed.
const OPERATORS: [(Operator, u8, &str); 32] = [
    (Operator::Or, power::OR, "OR"),
    (Operator::And, power::AND, "AND"),
    (Operator::Not, power::NOT, "NOT"),
    (Operator::IsNull, power::IS, "IS NULL"),
    (Operator::IsTrue, power::IS, "IS TRUE"),
    (Operator::IsFalse, power::IS, "IS FALSE"),
    (Operator::IsUnknown, power::IS, "IS UNKNOWN"),
    (Operator::IsDistinct, power::IS, "IS DISTINCT FROM"),
    (Operator::Like, power::LIKE, "LIKE"),
    (Operator::Ilike, power::LIKE, "ILIKE"),
    (Operator::In, power::COMPARISON, "IN"),
    (Operator::Equal, power::COMPARISON, "="),
    (Operator::Equal, power::COMPARISON, "=="),
    (Operator::NotEqual, power::COMPARISON, "<>"),
    (Operator::NotEqual, power::COMPARISON, "!="),
    (Operator::Less, power::COMPARISON, "<"),
    (Operator::LessOrEqual, power::COMPARISON, "<="),
    (Operator::Greater, power::COMPARISON, ">"),
    (Operator::GreaterOrEqual, power::COMPARISON, ">="),
    (Operator::Matches, power::COMPARISON, "~"),
    (Operator::MatchesAnyCase, power::COMPARISON, "~*"),
    (Operator::BitOr, power::BIT_OR, "|"),
    (Operator::ShiftLeft, power::SHIFT, "<<"),
    (Operator::ShiftRight, power::SHIFT, ">>"),
    (Operator::BitAnd, power::BIT_AND, "&"),
    (Operator::Add, power::SUM, "+"),
    (Operator::Subtract, power::SUM, "-"),
    (Operator::Multiply, power::PRODUCT, "*"),
    (Operator::Divide, power::PRODUCT, "/"),
    (Operator::Remainder, power::PRODUCT, "%"),
    (Operator::Join, power::PRODUCT, "||"),
    (Operator::Negate, power::SIGN, "-"),
];

impl Operator {
    /// Returns the operator with this symbol between or after its operands. `symbol` must be in upper case.
    pub(super) fn from_symbol(symbol: &str) -> Option<Operator> {
        let mut all = OPERATORS.iter();
        let found = all.find(|(op, _, own)| *own == symbol && *op != Operator::Not);
        found.map(|(op, ..)| *op)
    }

    fn power_and_symbol(self) -> (u8, &'static str) {
        let found = OPERATORS.iter().find(|(op, ..)| *op == self);
        found.map_or((power::ANY, ""), |(_, power, symbol)| (*power, symbol))
    }

    pub(super) fn power(self) -> u8 {
        self.power_and_symbol().0
    }

    /// Returns the symbol of the operator.
    pub fn symbol(self) -> &'static str {
        self.power_and_symbol().1
    }

    /// Returns whether NOT is written within the operation, as in `a NOT IN (b)` and `a IS NOT NULL`.
    pub(super) fn takes_not(self) -> bool {
        matches!(self.power(), power::IS | power::LIKE) || self == Operator::In
    }
}

impl Expr {
    /// Returns the binding power of the outermost operator in the printed form of the expression.
    pub(super) fn power(&self) -> u8 {
        match &self.kind {
            ExprKind::Integer(..0) => power::SIGN,
            ExprKind::Double(number) if *number < 0.0 => power::SIGN,
            ExprKind::Operation {
                op: Operator::Not,
                operands,
            } => match operands.first().map(|operand| &operand.kind) {
                Some(ExprKind::Operation { op, .. }) if op.takes_not() => op.power(),
                Some(ExprKind::Subquery {
                    kind: SubqueryKind::In(_),
                    ..
                }) => power::COMPARISON,
                _ => power::NOT,
            },
            ExprKind::Operation { op, .. } => op.power(),
            ExprKind::Subquery {
                kind: SubqueryKind::In(_),
                ..
            } => power::COMPARISON,
            _ => power::PRIMARY,
        }
    }
}
