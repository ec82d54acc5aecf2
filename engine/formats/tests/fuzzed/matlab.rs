//! Any bytes have names or none; what is written without a variable is read again, and has not got it.

use prep_formats::matlab::{names, without};

pub fn check(data: &[u8]) {
    let found = names(data);
    let unwanted = ["Video.Labels".to_owned(), "labels".to_owned()];
    if let Ok(Some(redacted)) = without(data, &unwanted) {
        assert!(
            without(&redacted, &unwanted)
                .expect("own output is read")
                .is_none()
        );
        assert!(names(&redacted).len() <= found.len());
    }
}
