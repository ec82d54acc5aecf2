//! Any bytes are documents or refused; what was written anew is written alike again, and survives its JSON form.

use prep_formats::bson::{BsonDocuments, Document, push_json};

pub fn check(data: &[u8]) {
    for document in BsonDocuments::new(data) {
        let Ok(document) = document else { return };
        let mut once = Vec::new();
        if document.rewrite(&["x"], &mut once).is_ok() {
            let mut twice = Vec::new();
            let again = Document::from_bytes(once.clone());
            again.rewrite(&[], &mut twice).expect("own output is read");
            assert_eq!(once, twice);
        }
        if let Ok(json) = document.to_json() {
            // Keys with `$` of the document itself may mean something else in JSON.
            let _ = push_json(&json, &mut Vec::new(), &mut |_, _| Err("no file".into()));
        }
    }
}
