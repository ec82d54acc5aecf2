//! Presents a [`Relation`] as a DataFusion table.
//!
//! The schema contains the relation's columns, typed or opaque, and `_row`. An opaque column has the type `UInt64` and
//! contains the origin of each row. Only projected columns are read.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::relation::{ROW, Relation};
use crate::physical::{Scan, ScanColumn};

/// A relation, and the set of its columns that are opaque to a query.
#[derive(Debug)]
pub(crate) struct RelationProvider {
    relation: Arc<dyn Relation>,
    scanned: Vec<ScanColumn>,
    schema: SchemaRef,
    /// True if the rows may come in any order.
    any_order: bool,
}

impl RelationProvider {
    pub(crate) fn new(
        relation: Arc<dyn Relation>,
        opaque: &BTreeSet<usize>,
        any_order: bool,
    ) -> RelationProvider {
        let mut fields = Vec::new();
        let mut scanned = Vec::new();
        for (index, column) in relation.columns().iter().enumerate() {
            if opaque.contains(&index) {
                fields.push(Field::new(&column.name, DataType::UInt64, false));
                scanned.push(ScanColumn::Origin);
            } else {
                fields.push(Field::new(&column.name, column.data_type.clone(), true));
                scanned.push(ScanColumn::Value(index));
            }
        }
        fields.push(Field::new(ROW, DataType::Int64, false));
        scanned.push(ScanColumn::Position);
        RelationProvider {
            relation,
            scanned,
            schema: Arc::new(Schema::new(fields)),
            any_order,
        }
    }
}

#[async_trait]
impl TableProvider for RelationProvider {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (schema, scanned) = match projection {
            Some(projection) => {
                let schema = Arc::new(self.schema.project(projection)?);
                (
                    schema,
                    projection
                        .iter()
                        .map(|&index| self.scanned[index])
                        .collect(),
                )
            }
            None => (self.schema.clone(), self.scanned.clone()),
        };
        Ok(Scan::plan(
            self.relation.clone(),
            scanned,
            schema,
            self.any_order,
            limit,
        ))
    }
}
