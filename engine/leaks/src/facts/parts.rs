//! Splits long JSON texts without parsing them, into the elements of a list or the members of an object.

/// The parts of a value.
#[derive(Debug, PartialEq)]
pub(crate) enum Parts<'a> {
    List(Vec<&'a str>),
    /// Keys, with their quotes, and values.
    Object(Vec<(&'a str, &'a str)>),
    /// A value without parts, or a damaged value.
    Other,
}

/// Returns the first value of a text and the rest of the text. `None` at the end, and for damaged texts.
pub(crate) fn first(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    if text.is_empty() {
        return None;
    }
    let end = end_of_value(text.as_bytes());
    Some((text.get(..end)?, text.get(end..)?))
}

/// Returns the length of the value at the beginning of a text.
fn end_of_value(bytes: &[u8]) -> usize {
    let (mut depth, mut in_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_text => is_escaped = true,
            b'"' => {
                in_text = !in_text;
                if !in_text && depth == 0 {
                    return at + 1;
                }
            }
            _ if in_text => {}
            b',' | b':' | b']' | b'}' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return at,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

/// Returns the parts of a value. For a damaged value, returns the parts before the damage.
pub(crate) fn parts(text: &str) -> Parts<'_> {
    let text = text.trim();
    let (inner, is_object) = match text.as_bytes().first() {
        Some(b'[') => (text.get(1..), false),
        Some(b'{') => (text.get(1..), true),
        _ => return Parts::Other,
    };
    let (mut items, mut members, mut rest) = (Vec::new(), Vec::new(), inner.unwrap_or_default());
    let between = |c: char| c.is_whitespace() || c == ',';
    loop {
        rest = rest.trim_start_matches(between);
        if rest.is_empty() || rest.starts_with([']', '}']) {
            break;
        }
        let Some((one, behind)) = first(rest).filter(|(one, _)| !one.is_empty()) else {
            break;
        };
        rest = behind;
        if !is_object {
            items.push(one);
            continue;
        }
        rest = rest.trim_start().trim_start_matches(':');
        let Some((value, behind)) = first(rest) else {
            break;
        };
        members.push((one, value));
        rest = behind;
    }
    match is_object {
        true => Parts::Object(members),
        false => Parts::List(items),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_split_into_their_parts() {
        let text = r#" {"a, b": [1, {"x": "]}\""}], "c" : "d" , "e":null}"#;
        let members = vec![
            (r#""a, b""#, r#"[1, {"x": "]}\""}]"#),
            (r#""c""#, r#""d""#),
            (r#""e""#, "null"),
        ];
        let Parts::Object(found) = parts(text) else {
            panic!("no object")
        };
        assert_eq!(found, members);
        assert_eq!(
            parts("[1,[2, 3], \"x\"]"),
            Parts::List(vec!["1", "[2, 3]", "\"x\""])
        );
        assert_eq!(parts("3"), Parts::Other);
        assert_eq!(first("{} [1]\n2"), Some(("{}", " [1]\n2")));
    }
}
