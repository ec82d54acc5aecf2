//! Converts functions and windows. The engine checks which functions exist and which clauses a function supports.

use sqlparser::ast::Spanned as _;
use sqlparser::ast::{
    DuplicateTreatment, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArgumentList, FunctionArguments, NullTreatment, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};

use super::super::functions::canonical;
use super::super::tree::{
    Call, Expr, ExprKind, Frame, FrameBound, FrameUnits, Name, Position, Window,
};
use super::clauses::is_constant;
use super::{Lowering, single};

/// Functions of values with members, which the tables of a pipeline do not have.
const STRUCT_FUNCTIONS: [&str; 3] = ["named_struct", "row", "struct"];

/// Returns a call that has only arguments. `name` must be the function's own name.
pub(super) fn plain_call(name: &str, args: Vec<Expr>, at: Position) -> Expr {
    let call = Call {
        name: Name {
            text: name.to_owned(),
            at,
        },
        args,
        star: false,
        distinct: false,
        order_by: Vec::new(),
        within_group: false,
        filter: None,
        ignores_nulls: false,
        over: None,
    };
    ExprKind::Call(Box::new(call)).at(at)
}

impl Lowering<'_> {
    pub(super) fn function(&mut self, function: &Function) -> Expr {
        if let Some(column) = self.macro_call(function) {
            return column;
        }
        let span = function.name.span();
        self.inside(span, |inner| inner.function_inside(function))
    }

    fn function_inside(&mut self, function: &Function) -> Expr {
        let Function {
            name,
            uses_odbc_syntax,
            parameters,
            args,
            filter,
            null_treatment,
            over,
            within_group,
        } = function;
        let at = self.at;
        let written = single(name).map(|name| name.value.to_lowercase());
        let Some(written) = written else {
            return self.rejected(at, &name.to_string(), "a function's name has no dots");
        };
        if STRUCT_FUNCTIONS.contains(&written.as_str()) {
            let help = "write each member as a column of its own";
            return self.rejected(at, &written, help);
        }
        if *uses_odbc_syntax {
            self.reject(at, "{fn ...}", "write the function without braces");
        }
        match parameters {
            FunctionArguments::None => {}
            FunctionArguments::Subquery(_) | FunctionArguments::List(_) => {
                let help = "a function has one list of arguments";
                self.reject(at, "f(...)(...)", help);
            }
        }
        let mut call = Call {
            name: Name {
                text: canonical(&written),
                at,
            },
            args: Vec::new(),
            star: false,
            distinct: false,
            order_by: Vec::new(),
            within_group: !within_group.is_empty(),
            filter: None,
            ignores_nulls: *null_treatment == Some(NullTreatment::IgnoreNulls),
            over: None,
        };
        match args {
            FunctionArguments::List(list) => self.args(list, &mut call),
            FunctionArguments::None => {
                let what = name.to_string();
                let help = format!("write a column with this name in double quotes: `\"{what}\"`");
                self.reject(at, &what, &help);
            }
            FunctionArguments::Subquery(_) => {
                let help = "write a subquery in its own parentheses: `f((SELECT ...))`";
                self.reject(at, "f(SELECT ...)", help);
            }
        }
        call.filter = self.maybe(filter.as_deref());
        call.over = match over {
            None => None,
            Some(WindowType::WindowSpec(spec)) => Some(self.window(spec)),
            Some(WindowType::NamedWindow(name)) => {
                let at = self.start(name.span);
                self.reject(
                    at,
                    &format!("OVER {name}"),
                    "write the window: `OVER (...)`",
                );
                None
            }
        };
        if call.within_group && !call.order_by.is_empty() {
            self.clause("WITHIN GROUP", "write only one ORDER BY");
        }
        call.order_by.extend(self.keys(within_group, false));
        ExprKind::Call(Box::new(call)).at(at)
    }

    fn args(&mut self, list: &FunctionArgumentList, call: &mut Call) {
        let FunctionArgumentList {
            duplicate_treatment,
            args,
            clauses,
        } = list;
        call.distinct = match duplicate_treatment {
            None | Some(DuplicateTreatment::All) => false,
            Some(DuplicateTreatment::Distinct) => true,
        };
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => {
                    call.args.push(self.expr(expr));
                }
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) if args.len() == 1 => {
                    call.star = true;
                }
                FunctionArg::Unnamed(
                    FunctionArgExpr::Wildcard
                    | FunctionArgExpr::QualifiedWildcard(_)
                    | FunctionArgExpr::WildcardWithOptions(_),
                ) => {
                    let help = "write `*`, or the name of a column";
                    self.reject(self.at, &arg.to_string(), help);
                }
                FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                    self.reject(self.at, &arg.to_string(), "pass arguments by position");
                }
            }
        }
        for clause in clauses {
            let words = match clause {
                FunctionArgumentClause::IgnoreOrRespectNulls(treatment) => {
                    call.ignores_nulls = *treatment == NullTreatment::IgnoreNulls;
                    continue;
                }
                FunctionArgumentClause::OrderBy(keys) => {
                    call.order_by.extend(self.keys(keys, false));
                    continue;
                }
                FunctionArgumentClause::Limit(_) => "LIMIT",
                FunctionArgumentClause::OnOverflow(_) => "ON OVERFLOW",
                FunctionArgumentClause::Having(_) => "HAVING",
                FunctionArgumentClause::Separator(_) => "SEPARATOR",
                FunctionArgumentClause::JsonNullClause(_) => "ON NULL",
                FunctionArgumentClause::JsonReturningClause(_) => "RETURNING",
            };
            self.clause(words, "");
        }
    }

    fn window(&mut self, spec: &WindowSpec) -> Window {
        let WindowSpec {
            window_name,
            partition_by,
            order_by,
            window_frame,
        } = spec;
        if let Some(name) = window_name {
            let what = format!("OVER ({name} ...)");
            let at = self.start(name.span);
            self.reject(at, &what, "write the window: `OVER (...)`");
        }
        let partition_by = self.exprs(partition_by);
        for expr in partition_by.iter().filter(|expr| is_constant(expr)) {
            let message = format!("`PARTITION BY {expr}` partitions by a constant");
            let help = "write a column name without quotes, or in double quotes: `\"b\"`";
            self.report(expr.at, message, help);
        }
        Window {
            partition_by,
            order_by: self.keys(order_by, false),
            frame: window_frame.as_ref().map(|frame| self.frame(frame)),
        }
    }

    fn frame(&mut self, frame: &WindowFrame) -> Frame {
        let WindowFrame {
            units,
            start_bound,
            end_bound,
        } = frame;
        let start = self.bound(start_bound);
        let end = end_bound.as_ref().map(|bound| self.bound(bound));
        let end = end.unwrap_or(FrameBound::CurrentRow);
        let is_reversed = start == FrameBound::Following(None)
            || end == FrameBound::Preceding(None)
            || order(start) > order(end);
        if is_reversed {
            let message = "the frame of the window begins after its end".to_owned();
            self.report(self.at, message, "write the earlier bound first");
        }
        Frame {
            units: match units {
                WindowFrameUnits::Rows => FrameUnits::Rows,
                WindowFrameUnits::Range => FrameUnits::Range,
                WindowFrameUnits::Groups => FrameUnits::Groups,
            },
            start,
            end,
        }
    }

    fn bound(&mut self, bound: &WindowFrameBound) -> FrameBound {
        let (distance, word) = match bound {
            WindowFrameBound::CurrentRow => return FrameBound::CurrentRow,
            WindowFrameBound::Preceding(distance) => (distance, "PRECEDING"),
            WindowFrameBound::Following(distance) => (distance, "FOLLOWING"),
        };
        let distance = distance.as_deref();
        let distance = distance.map(|expr| self.natural(expr, |expr| format!("{expr} {word}")));
        match word {
            "PRECEDING" => FrameBound::Preceding(distance),
            _ => FrameBound::Following(distance),
        }
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
