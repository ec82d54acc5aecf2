//! Limits of the size of queries.

use super::super::fault::Fault;
use super::super::tree::{Expr, Position};
use super::{Lowering, placeholder};

/// Maximum nesting of expressions. Each operator of a chain such as `a + b + c` is one level.
const MAX_DEPTH: usize = 250;

/// Maximum number of joins, parts of WITH, and set operations other than chains of UNION. The depth of the query's plan
/// is that number, and plans are processed recursively.
const MAX_PARTS: usize = 100;

/// Maximum number of tables in a SELECT. Planning a chain of joins takes time cubic in the number of tables.
const MAX_TABLES: usize = 50;

/// Maximum number of tables that a query reads. A part of WITH is planned wherever it is used, so parts that use the
/// previous part twice double the plan each.
const MAX_READS: usize = 2000;

/// The size of a query so far.
#[derive(Default)]
pub(super) struct Limits {
    /// Number of joins and other parts that increase the depth of the plan.
    pub parts: usize,
    /// Largest number of tables in a SELECT.
    pub tables: usize,
    /// Number of tables that the query reads. Each use of a part of WITH adds the tables that the part reads.
    reads: usize,
    /// The parts of WITH that can be used at the current position, each with the number of tables that it reads.
    pub defined: Vec<(String, usize)>,
    is_too_deep: bool,
}

impl Limits {
    /// Counts the use of a table or of a part of WITH.
    pub fn read(&mut self, name: &str) {
        let mut defined = self.defined.iter().rev();
        let reads = defined.find(|(other, _)| other == name);
        let reads = reads.map_or(1, |(_, reads)| *reads);
        self.reads = self.reads.saturating_add(reads);
    }

    /// Starts counting a part of WITH. Returns the number to pass to [`Self::define`] after it.
    pub fn start_part(&mut self) -> usize {
        self.parts += 1;
        self.reads
    }

    /// Defines a part of WITH after it has been converted.
    pub fn define(&mut self, name: String, before: usize) {
        let reads = std::mem::replace(&mut self.reads, before).saturating_sub(before);
        // A part that reads no table is also planned wherever it is used.
        self.defined.push((name, reads.max(1)));
    }
}

impl Lowering<'_> {
    /// Runs `lower` one level deeper, unless the expression is too deep.
    pub(super) fn deeper(&mut self, lower: impl FnOnce(&mut Self) -> Expr) -> Expr {
        if self.depth == MAX_DEPTH {
            if !self.limits.is_too_deep {
                self.limits.is_too_deep = true;
                let message = format!("an expression is nested more than {MAX_DEPTH} levels deep");
                self.unsupported(Fault::new("query-too-long", Position::START, message));
            }
            return placeholder(self.at);
        }
        self.depth += 1;
        let lowered = lower(self);
        self.depth -= 1;
        lowered
    }

    /// Reports the limits that the query exceeds.
    pub(super) fn check_limits(&mut self) {
        let Limits {
            parts,
            tables,
            reads,
            ..
        } = self.limits;
        let help = "join some of them in a separate table, or combine them as rows with UNION ALL";
        let found = [
            (
                tables > MAX_TABLES,
                format!("a SELECT joins more than {MAX_TABLES} tables"),
                help,
            ),
            (
                parts > MAX_PARTS && tables <= MAX_TABLES,
                format!("the query has more than {MAX_PARTS} joins and parts"),
                "divide it into several tables",
            ),
            (
                reads > MAX_READS && tables <= MAX_TABLES,
                format!(
                    "the query reads more than {MAX_READS} tables, if each use of a part of WITH is counted"
                ),
                "write the parts of WITH as separate tables",
            ),
        ];
        let at = self.words.start();
        for (_, message, help) in found.into_iter().filter(|(exceeded, ..)| *exceeded) {
            self.unsupported(Fault::new("query-too-long", at, message).help(help));
        }
    }
}
