//! Any bytes are documents or refused; what was written from the JSON form of a document has that JSON form.

use prep_formats::bson::{BsonDocuments, Document, push_json};

pub fn check(data: &[u8]) {
    for document in BsonDocuments::new(data) {
        let Ok(document) = document else { return };
        let Ok(json) = document.to_json() else {
            continue;
        };
        let mut once = Vec::new();
        // Keys with `$` of the document itself may mean something else in JSON.
        if push_json(&json, &mut once, &mut |_, _| Err("no file".into())).is_err() {
            continue;
        }
        let json = Document::from_bytes(once.clone()).to_json();
        let json = json.expect("own output is read");
        let mut twice = Vec::new();
        push_json(&json, &mut twice, &mut |_, _| Err("no file".into())).expect("and written");
        assert_eq!(once, twice);
    }
}
