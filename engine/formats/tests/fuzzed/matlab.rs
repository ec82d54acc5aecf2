//! Searches arbitrary bytes for names of variables. A file from which a variable was removed is readable and does not
//! contain it.

use prep_formats::matlab::{remove_variables, variable_paths};

pub fn check(data: &[u8]) {
    let found = variable_paths(data);
    let unwanted = ["Video.Labels".to_owned(), "labels".to_owned()];
    if let Ok(Some(redacted)) = remove_variables(data, &unwanted) {
        assert!(
            remove_variables(&redacted, &unwanted)
                .expect("a written file can be read")
                .is_none()
        );
        assert!(variable_paths(&redacted).len() <= found.len());
    }
}
