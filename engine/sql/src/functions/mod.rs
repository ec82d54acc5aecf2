//! Functions that queries have besides DataFusion's own. One file per function.

mod allowed;
mod first_seen;
mod json;
mod json_get;
mod json_project;
mod json_with;
mod json_without;
mod printf;

use std::sync::Arc;

use datafusion::logical_expr::{ScalarUDF, WindowUDF};

pub(crate) use allowed::{AGGREGATE, SCALAR, UNSTEADY, WINDOW};

pub(crate) fn scalar() -> Vec<Arc<ScalarUDF>> {
    vec![
        Arc::new(ScalarUDF::from(json_project::JsonProject::default())),
        Arc::new(ScalarUDF::from(json_with::JsonWith::default())),
        Arc::new(ScalarUDF::from(json_without::JsonWithout::default())),
        Arc::new(ScalarUDF::from(json_get::JsonGet::default())),
        Arc::new(ScalarUDF::from(printf::Printf::default())),
    ]
}

pub(crate) fn window() -> Vec<Arc<WindowUDF>> {
    vec![Arc::new(WindowUDF::from(first_seen::FirstSeen::default()))]
}
