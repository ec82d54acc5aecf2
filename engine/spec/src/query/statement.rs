//! The parser's tree for the planner of `prep-sql`. This is its last use: delete the file with that planner.

use super::{BTreeMap, Query, text};

impl Query {
    /// Returns the parser's tree of the printed query, with positions in that text.
    pub fn statement(&self) -> &sqlparser::ast::Query {
        self.statement.get_or_init(|| {
            let text = self.tree().to_string();
            let parsed = text::select(
                &text,
                &BTreeMap::new(),
                &mut std::collections::BTreeSet::new(),
            );
            #[allow(clippy::expect_used, reason = "a printed query can be parsed")]
            let parsed = parsed.expect("a printed query can be parsed");
            std::sync::Arc::from(parsed.ast)
        })
    }
}
