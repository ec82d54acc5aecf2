//! Prepares error messages of servers for display.

use crate::credentials::KaggleCredentials;

/// Maximum length of a quoted message in characters.
const MAX_CHARACTERS: usize = 200;

/// Returns the `message` field of the API's JSON, or the beginning of a plain text. Returns an empty text for a web
/// page. Removes control characters, and secrets that the server may have sent back.
pub(crate) fn of_api(body: &str, credentials: &KaggleCredentials) -> String {
    let text = match serde_json::from_str::<serde_json::Value>(body) {
        Ok(json) => of_json(&json).unwrap_or_default().to_owned(),
        Err(_) if body.trim_start().starts_with('<') || is_binary(body) => String::new(),
        Err(_) => body.to_owned(),
    };
    let line: String = credentials
        .scrub(&text)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_CHARACTERS)
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the error message in a JSON response. Some servers put it into an object `error`.
fn of_json(json: &serde_json::Value) -> Option<&str> {
    let error = json.get("error");
    let described = ["message", "error_description"]
        .iter()
        .find_map(|key| json.get(key)?.as_str());
    described
        .or_else(|| error?.get("message")?.as_str())
        .or_else(|| error?.as_str())
}

/// Returns whether a body is not text: it contains invalid UTF-8, or control characters that do not occur in text.
fn is_binary(body: &str) -> bool {
    body.chars()
        .any(|c| c == char::REPLACEMENT_CHARACTER || c < '\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn messages_are_one_line_without_secrets() {
        let credentials = KaggleCredentials::Token(Secret::new("hush"));
        for (body, expected) in [
            (
                r#"{"code":403,"message":"You must\naccept"}"#,
                "You must accept",
            ),
            (r#"{"code":403}"#, ""),
            (
                r#"{"error":{"code":403,"message":"Permission hush denied"}}"#,
                "Permission *** denied",
            ),
            (r#"{"error":"invalid_token"}"#, "invalid_token"),
            (
                r#"{"error":"invalid_token","error_description":"It expired"}"#,
                "It expired",
            ),
            ("PK\u{3}\u{4}\u{14}\0\0", ""),
            ("\u{fffd}\u{fffd}PNG", ""),
            ("bad token hush!", "bad token ***!"),
            ("\u{1b}[31mred", "[31mred"),
            ("<html>hush</html>", ""),
            ("", ""),
        ] {
            assert_eq!(of_api(body, &credentials), expected);
        }
        assert_eq!(
            of_api(&"x".repeat(1000), &credentials).len(),
            MAX_CHARACTERS
        );
    }
}
