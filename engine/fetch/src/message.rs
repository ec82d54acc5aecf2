//! What a server says, made fit for a message.

use crate::credentials::Credentials;

/// Longest quotation in characters.
const LONGEST: usize = 200;

/// The `message` of the API's JSON, or the start of a plain text; nothing of a web page. Without control characters
/// and without the secret, should the server send it back.
pub(crate) fn of_api(body: &str, credentials: &Credentials) -> String {
    let text = match serde_json::from_str::<serde_json::Value>(body) {
        Ok(json) => json
            .get("message")
            .and_then(|message| message.as_str())
            .unwrap_or_default()
            .to_owned(),
        Err(_) if body.trim_start().starts_with('<') => String::new(),
        Err(_) => body.to_owned(),
    };
    let line: String = credentials
        .scrub(&text)
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(LONGEST)
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;

    #[test]
    fn messages_are_one_line_without_secrets() {
        let credentials = Credentials::Token(Secret::new("hush"));
        for (body, expected) in [
            (
                r#"{"code":403,"message":"You must\naccept"}"#,
                "You must accept",
            ),
            (r#"{"code":403}"#, ""),
            ("bad token hush!", "bad token ***!"),
            ("\u{1b}[31mred", "[31mred"),
            ("<html>hush</html>", ""),
            ("", ""),
        ] {
            assert_eq!(of_api(body, &credentials), expected);
        }
        assert_eq!(of_api(&"x".repeat(1000), &credentials).len(), LONGEST);
    }
}
