//! Parses the value and the parameters of a header, for example `form-data; name="file"; filename*=UTF-8''a.csv`.

/// Returns the value before the first semicolon, and the parameters in order. Names are converted to lower case, and
/// the suffixes of RFC 2231 (`filename*0*`) are removed. Invalid parameters are skipped. A header without a value has
/// no parameters.
pub(super) fn parameters(header: &str) -> (&str, Vec<(String, String)>) {
    let (value, mut rest) = header.split_once(';').unwrap_or((header, ""));
    let mut found = Vec::new();
    if value.trim().is_empty() {
        return ("", found);
    }
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return (value.trim(), found);
        }
        let length = rest.bytes().take_while(|byte| is_name(*byte)).count();
        let (name, after) = rest.split_at(length);
        match after.strip_prefix('=').filter(|_| length > 0) {
            Some(text) => {
                let (content, after) = content(text);
                if let Some(content) = content {
                    let name = name.split('*').next().unwrap_or(name);
                    found.push((name.to_ascii_lowercase(), content));
                }
                rest = after;
            }
            None => rest = after,
        }
        rest = rest.split_once(';').map_or("", |(_, rest)| rest);
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-*!#$%&'+.^`|~".contains(&byte)
}

/// Returns the value of a parameter, and the text after it. The value is `None` if it is neither a token nor a quoted
/// string.
fn content(text: &str) -> (Option<String>, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let length = text
            .bytes()
            .take_while(|byte| is_name(*byte) || !byte.is_ascii())
            .count();
        let (word, rest) = text.split_at(length);
        return ((length > 0).then(|| word.to_owned()), rest);
    };
    let mut content = String::new();
    let mut characters = quoted.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '"' => return (Some(content), &quoted[position + 1..]),
            '\\' => match characters.clone().next() {
                Some((_, escaped @ ('"' | '\\'))) => {
                    content.push(escaped);
                    characters.next();
                }
                _ => content.push('\\'),
            },
            other => content.push(other),
        }
    }
    (None, "")
}
