//! Any bytes can be searched for names. A file from which a variable was removed can be read and lacks the variable.

use prep_formats::matlab::{remove_variables, variable_paths};

pub fn check(data: &[u8]) {
    let found = variable_paths(data);
    let unwanted = ["Video.Labels".to_owned(), "labels".to_owned()];
    if let Ok(Some(redacted)) = remove_variables(data, &unwanted) {
        assert!(
            remove_variables(&redacted, &unwanted)
                .expect("own output is read")
                .is_none()
        );
        assert!(variable_paths(&redacted).len() <= found.len());
    }
}
