//! Converts expressions to DataFusion's physical expressions.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::{Operator, ScalarUDF};
use datafusion_physical_expr::expressions::{
    BinaryExpr, CastExpr, IsNullExpr, Literal, NotExpr, TryCastExpr, case, in_list, like,
};
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use super::{column_at, internal};
use crate::physical::{ConstantColumn, ConstantSlot, ShortCircuit};
use crate::relational::{ColumnId, Expr, ExprKind};

/// The columns of an operator's rows, and the constants that its expressions can use.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub columns: Vec<ColumnId>,
    pub constants: BTreeMap<ColumnId, Arc<ConstantSlot>>,
    pub schema: SchemaRef,
}

impl Default for Layout {
    fn default() -> Layout {
        Layout {
            columns: Vec::new(),
            constants: BTreeMap::new(),
            schema: Arc::new(Schema::empty()),
        }
    }
}

impl Layout {
    pub(super) fn column(&self, id: ColumnId) -> Result<Arc<dyn PhysicalExpr>> {
        if let Some(index) = self.columns.iter().position(|own| *own == id) {
            return Ok(column_at(&self.schema, index));
        }
        match self.constants.get(&id) {
            Some(slot) => Ok(Arc::new(ConstantColumn(Arc::clone(slot)))),
            None => internal(format!("column {} is not part of the rows", id.0)),
        }
    }

    /// Returns whether evaluating an expression may fail. A constant fails if its computation failed.
    fn can_fail(&self, expr: &Expr) -> bool {
        let is_constant = |id| self.constants.contains_key(id);
        expr.can_fail() || expr.columns().iter().any(is_constant)
    }

    pub(super) fn expr(
        &self,
        expr: &Expr,
        options: &Arc<ConfigOptions>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let part = |expr: &Expr| self.expr(expr, options);
        Ok(match &expr.kind {
            ExprKind::Column(id) => self.column(*id)?,
            ExprKind::Literal(value) => Arc::new(Literal::new(value.clone())),
            ExprKind::Binary(op @ (Operator::And | Operator::Or), left, right)
                if self.can_fail(right) =>
            {
                let plain = BinaryExpr::new(part(left)?, *op, part(right)?);
                Arc::new(ShortCircuit(Arc::new(plain)))
            }
            ExprKind::Binary(op, left, right) => {
                Arc::new(BinaryExpr::new(part(left)?, *op, part(right)?))
            }
            ExprKind::Not(inner) => Arc::new(NotExpr::new(part(inner)?)),
            ExprKind::IsNull(inner) => Arc::new(IsNullExpr::new(part(inner)?)),
            ExprKind::Like {
                expr,
                pattern,
                ignores_case,
            } => like(
                false,
                *ignores_case,
                part(expr)?,
                part(pattern)?,
                &self.schema,
            )?,
            // Evaluates an item only for the rows that equal no earlier item.
            ExprKind::InList { expr, list }
                if list.iter().skip(1).any(|item| self.can_fail(item)) =>
            {
                let both = |op, a, b| Expr::binary(op, a, b, DataType::Boolean);
                let equals = list.iter();
                let equals = equals.map(|item| both(Operator::Eq, (**expr).clone(), item.clone()));
                let any = equals.reduce(|a, b| both(Operator::Or, a, b));
                any.map_or_else(|| internal("no items".to_owned()), |any| part(&any))?
            }
            ExprKind::InList { expr, list } => {
                let list = list.iter().map(part).collect::<Result<Vec<_>>>()?;
                in_list(part(expr)?, list, &false, &self.schema)?
            }
            ExprKind::Cast {
                expr: inner,
                is_try,
            } => {
                let (inner, to) = (part(inner)?, expr.data_type.clone());
                match is_try {
                    true => Arc::new(TryCastExpr::new(inner, to)),
                    false => Arc::new(CastExpr::new(inner, to, None)),
                }
            }
            ExprKind::Case {
                branches,
                otherwise,
            } => {
                let branches = branches
                    .iter()
                    .map(|(when, then)| Ok((part(when)?, part(then)?)));
                let otherwise = otherwise.as_deref().map(part).transpose()?;
                case(None, branches.collect::<Result<Vec<_>>>()?, otherwise)?
            }
            ExprKind::Call { function, args } => {
                let args = args.iter().map(part).collect::<Result<Vec<_>>>()?;
                call(function, args, expr.data_type.clone(), options)
            }
        })
    }
}

/// Converts an expression without columns.
pub(crate) fn physical_constant(
    expr: &Expr,
    options: &Arc<ConfigOptions>,
) -> Result<Arc<dyn PhysicalExpr>> {
    Layout::default().expr(expr, options)
}

/// Creates a call of a function.
pub(super) fn call(
    function: &Arc<ScalarUDF>,
    args: Vec<Arc<dyn PhysicalExpr>>,
    data_type: DataType,
    options: &Arc<ConfigOptions>,
) -> Arc<dyn PhysicalExpr> {
    let field = Arc::new(Field::new(function.name(), data_type, true));
    Arc::new(ScalarFunctionExpr::new(
        function.name(),
        Arc::clone(function),
        args,
        field,
        Arc::clone(options),
    ))
}
