//! Checks functions and windows. The planner checks which clauses a function supports.

use sqlparser::ast::{
    Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause, FunctionArgumentList,
    FunctionArguments, Spanned as _, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowSpec,
    WindowType,
};

use super::super::each_column::is_columns;
use super::Subset;
use super::clauses::single;
use super::exprs::is_constant;

impl Subset<'_, '_> {
    pub(super) fn function(&mut self, function: &Function) {
        let span = function.name.span();
        self.inside(span, |inner| inner.function_inside(function));
    }

    fn function_inside(&mut self, function: &Function) {
        let Function {
            name,
            uses_odbc_syntax,
            parameters,
            args,
            filter,
            null_treatment: _,
            over,
            within_group,
        } = function;
        if single(name).is_none() && !is_columns(function) {
            self.reject(self.at, &name.to_string(), "a function's name has no dots");
        }
        if *uses_odbc_syntax {
            self.reject(self.at, "{fn ...}", "write the function without braces");
        }
        match parameters {
            FunctionArguments::None => {}
            FunctionArguments::Subquery(_) | FunctionArguments::List(_) => {
                self.reject(
                    self.at,
                    "f(...)(...)",
                    "a function has one list of arguments",
                );
            }
        }
        match args {
            FunctionArguments::List(list) => self.args(list),
            FunctionArguments::None => {
                let what = name.to_string();
                let help = format!("write a column with this name in double quotes: `\"{what}\"`");
                self.reject(self.at, &what, &help);
            }
            FunctionArguments::Subquery(_) => {
                let help = "write a subquery in its own parentheses: `f((SELECT ...))`";
                self.reject(self.at, "f(SELECT ...)", help);
            }
        }
        if let Some(condition) = filter {
            self.expr(condition);
        }
        match over {
            None => {}
            Some(WindowType::WindowSpec(spec)) => self.window(spec),
            Some(WindowType::NamedWindow(name)) => {
                let what = format!("OVER {name}");
                self.reject(name.span.start, &what, "write the window: `OVER (...)`");
            }
        }
        self.keys(within_group, false);
    }

    fn args(&mut self, list: &FunctionArgumentList) {
        let FunctionArgumentList {
            duplicate_treatment: _,
            args,
            clauses,
        } = list;
        for arg in args {
            match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.expr(expr),
                FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => {}
                FunctionArg::Unnamed(
                    FunctionArgExpr::QualifiedWildcard(_) | FunctionArgExpr::WildcardWithOptions(_),
                ) => self.reject(
                    self.at,
                    &arg.to_string(),
                    "write `*`, or the name of a column",
                ),
                FunctionArg::Named { .. } | FunctionArg::ExprNamed { .. } => {
                    self.reject(self.at, &arg.to_string(), "pass arguments by position");
                }
            }
        }
        for clause in clauses {
            let words = match clause {
                FunctionArgumentClause::IgnoreOrRespectNulls(_) => continue,
                FunctionArgumentClause::OrderBy(keys) => {
                    self.keys(keys, false);
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

    fn window(&mut self, spec: &WindowSpec) {
        let WindowSpec {
            window_name,
            partition_by,
            order_by,
            window_frame,
        } = spec;
        if let Some(name) = window_name {
            let what = format!("OVER ({name} ...)");
            self.reject(name.span.start, &what, "write the window: `OVER (...)`");
        }
        for expr in partition_by {
            self.expr(expr);
            if is_constant(expr) {
                let at = self.start(expr.span());
                let message = format!("`PARTITION BY {expr}` partitions by a constant");
                let help = "write a column name without quotes, or in double quotes: `\"b\"`";
                self.report(at, message, help);
            }
        }
        self.keys(order_by, false);
        if let Some(WindowFrame {
            units,
            start_bound,
            end_bound,
        }) = window_frame
        {
            match units {
                WindowFrameUnits::Rows | WindowFrameUnits::Range | WindowFrameUnits::Groups => {}
            }
            self.bound(start_bound);
            if let Some(end) = end_bound {
                self.bound(end);
            }
        }
    }

    fn bound(&mut self, bound: &WindowFrameBound) {
        match bound {
            WindowFrameBound::CurrentRow => {}
            WindowFrameBound::Preceding(distance) | WindowFrameBound::Following(distance) => {
                if let Some(distance) = distance {
                    self.expr(distance);
                }
            }
        }
    }
}
