//! All queries of the built-in pipelines can be planned.

use std::path::Path;

use prep_sql::Session;

#[test]
fn queries_of_the_pipelines_are_accepted() {
    let session = Session::planner();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../pipelines");
    let mut count = 0;
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        let id = folder.file_name().unwrap().to_string_lossy().into_owned();
        let path = folder.join("pipeline.yaml");
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        let draft = prep_spec::read(prep_steps::vocabulary(), &id, "pipeline.yaml", &text);
        for reading in draft.readings() {
            let errors = prep_sql::check(&session, reading);
            found.extend(
                errors
                    .into_iter()
                    .map(|error| format!("{id}: {}", error.message)),
            );
        }
        count += 1;
    }
    assert!(count >= 82, "only {count} pipelines were found");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
