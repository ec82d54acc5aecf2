//! Arbitrary bytes are read as documents or rejected. A second conversion to JSON and back changes nothing.

use prep_formats::bson::{BsonDocument, BsonDocuments, push_json};

pub fn check(data: &[u8]) {
    for document in BsonDocuments::new(data) {
        let Ok(document) = document else { return };
        let Ok(json) = document.to_json() else {
            continue;
        };
        let mut once = Vec::new();
        // Keys with `$` in the document may have a different meaning in JSON.
        if push_json(&json, &mut once, &mut |_, _| Err("no file".into())).is_err() {
            continue;
        }
        let json = BsonDocument::from_bytes(once.clone()).to_json();
        let json = json.expect("written documents can be read");
        let mut twice = Vec::new();
        push_json(&json, &mut twice, &mut |_, _| Err("no file".into()))
            .expect("a converted document can be converted again");
        assert_eq!(once, twice);
    }
}
