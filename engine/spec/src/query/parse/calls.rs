//! Parses calls and windows. The engine checks which functions exist, and which clauses they support.

use super::super::fault::Fault;
use super::super::functions::canonical;
use super::super::operators::power;
use super::super::token::TokenKind;
use super::super::tree::{
    Call, Expr, ExprKind, Frame, FrameBound, FrameUnits, Name, Position, Window,
};
use super::{Parsed, Parser};

/// Returns a call that has only arguments. `name` must not be an alias.
pub(super) fn plain_call(name: &str, args: Vec<Expr>, at: Position) -> Expr {
    let text = name.to_owned();
    ExprKind::Call(Box::new(Call::new(Name { text, at }, args))).at(at)
}

impl Call {
    fn new(name: Name, args: Vec<Expr>) -> Call {
        Call {
            name,
            args,
            star: false,
            distinct: false,
            order_by: Vec::new(),
            within_group: false,
            filter: None,
            ignores_nulls: false,
            over: None,
        }
    }
}

impl Parser<'_> {
    pub(super) fn call(&mut self, name: Name) -> Parsed<Expr> {
        let at = name.at;
        let written = name.text.to_lowercase();
        self.expect("(")?;
        let text = canonical(&written);
        let mut call = Call::new(Name { text, at }, Vec::new());
        call.distinct = self.take("DISTINCT");
        // ALL is the default.
        let _ = !call.distinct && self.take("ALL");
        if self.is("* )") {
            self.next += 1;
            call.star = true;
        } else if !self.is(")") {
            self.args(&written, &mut call)?;
        }
        if let Some(keys) = self.maybe("ORDER BY", |inner| inner.keys(false))? {
            call.order_by = keys;
        }
        call.ignores_nulls = self.null_treatment();
        self.expect(")")?;
        if self.take("WITHIN GROUP (") {
            if !call.order_by.is_empty() {
                return Err(Fault::unsupported(
                    at,
                    "WITHIN GROUP",
                    "write only one ORDER BY",
                ));
            }
            self.expect("ORDER BY")?;
            call.within_group = true;
            call.order_by = self.keys(false)?;
            self.expect(")")?;
        }
        if self.take("FILTER (") {
            self.expect("WHERE")?;
            call.filter = Some(self.expr()?);
            self.expect(")")?;
        }
        call.ignores_nulls |= self.null_treatment();
        if self.take("OVER") {
            if !self.is("(") {
                let help = "write the window: `OVER (...)`";
                return Err(Fault::unsupported(self.at(), "OVER w", help));
            }
            self.next += 1;
            call.over = Some(self.window()?);
            self.expect(")")?;
        }
        Ok(ExprKind::Call(Box::new(call)).at(at))
    }

    fn null_treatment(&mut self) -> bool {
        let ignores = self.take("IGNORE NULLS");
        // RESPECT NULLS is the default.
        let _ = !ignores && self.take("RESPECT NULLS");
        ignores
    }

    /// Parses arguments. Some functions use words instead of commas: `substring(a FROM 1 FOR 2)`.
    fn args(&mut self, written: &str, call: &mut Call) -> Parsed<()> {
        if self.is_query() {
            let help = "write a subquery in its own parentheses: `f((SELECT ...))`";
            return Err(Fault::unsupported(self.at(), "SELECT", help));
        }
        match written {
            "position" => {
                // `position(a IN b)` becomes `strpos(b, a)`.
                call.args.push(self.operand(power::COMPARISON)?);
                if self.take("IN") {
                    call.args.insert(0, self.expr()?);
                    return Ok(());
                }
            }
            "trim" => {
                // `trim(LEADING a FROM b)` becomes `ltrim(b, a)`.
                let sides = [
                    ("BOTH", "btrim"),
                    ("LEADING", "ltrim"),
                    ("TRAILING", "rtrim"),
                ];
                let side = sides.into_iter().find(|(word, _)| self.take(word));
                if let Some((_, name)) = side {
                    name.clone_into(&mut call.name.text);
                }
                if !(side.is_some() && self.is("FROM")) {
                    call.args.push(self.expr()?);
                }
                if self.take("FROM") {
                    call.args.insert(0, self.expr()?);
                    return Ok(());
                }
            }
            _ => call.args.push(self.expr()?),
        }
        let words: &[&str] = match written {
            "substring" | "substr" => &["FROM", "FOR"],
            "overlay" => &["PLACING", "FROM", "FOR"],
            _ => &[],
        };
        for word in words {
            // `substring(a FOR 2)` becomes `substr(a, 1, 2)`.
            if *word == "FOR" && call.args.len() == 1 && self.is(word) {
                call.args.push(ExprKind::Integer(1).at(call.name.at));
            }
            if self.take(word) {
                call.args.push(self.expr()?);
            }
        }
        while self.take(",") {
            call.args.push(self.expr()?);
        }
        Ok(())
    }

    /// Parses a window after its opening parenthesis.
    fn window(&mut self) -> Parsed<Window> {
        let partition_by = self.maybe("PARTITION BY", |inner| {
            inner.list(|inner| {
                let key = inner.expr()?;
                inner.check_key(&key, false, "PARTITION BY", "partitions")?;
                Ok(key)
            })
        })?;
        let order_by = self.maybe("ORDER BY", |inner| inner.keys(false))?;
        let units = [
            ("ROWS", FrameUnits::Rows),
            ("RANGE", FrameUnits::Range),
            ("GROUPS", FrameUnits::Groups),
        ];
        let frame = match units.into_iter().find(|(word, _)| self.take(word)) {
            None => None,
            Some((_, units)) => Some(self.frame(units)?),
        };
        Ok(Window {
            partition_by: partition_by.unwrap_or_default(),
            order_by: order_by.unwrap_or_default(),
            frame,
        })
    }

    /// Parses the bounds of a window's frame. If only one bound is written, the frame ends at the current row.
    fn frame(&mut self, units: FrameUnits) -> Parsed<Frame> {
        let at = self.at();
        let (start, end) = match self.take("BETWEEN") {
            false => (self.bound()?, FrameBound::CurrentRow),
            true => {
                let start = self.bound()?;
                self.expect("AND")?;
                (start, self.bound()?)
            }
        };
        let is_reversed = start == FrameBound::Following(None)
            || end == FrameBound::Preceding(None)
            || order(start) > order(end);
        if is_reversed {
            let message = "the frame of the window begins after its end";
            let fault = Fault::new("unsupported-sql", at, message);
            return Err(fault.help("write the earlier bound first"));
        }
        Ok(Frame { units, start, end })
    }

    /// Parses a bound, such as `2 PRECEDING`. UNBOUNDED is a bound without a distance.
    fn bound(&mut self) -> Parsed<FrameBound> {
        if self.take("CURRENT ROW") {
            return Ok(FrameBound::CurrentRow);
        }
        let distance = match self.take("UNBOUNDED") {
            true => None,
            false if self.kind() == TokenKind::Number => Some(self.integer()?),
            false => return Err(self.unexpected("CURRENT ROW, UNBOUNDED or a number")),
        };
        if self.take("PRECEDING") {
            return Ok(FrameBound::Preceding(distance));
        }
        self.expect("FOLLOWING")?;
        Ok(FrameBound::Following(distance))
    }
}

/// Returns a number by which the bounds of a frame can be compared.
fn order(bound: FrameBound) -> i128 {
    let distance = |rows: Option<u64>| rows.map_or(i128::MAX, i128::from);
    match bound {
        FrameBound::Preceding(rows) => -distance(rows),
        FrameBound::CurrentRow => 0,
        FrameBound::Following(rows) => distance(rows),
    }
}
