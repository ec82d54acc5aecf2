//! Writes names and strings in the syntax of YAML and SQL.

/// Keywords of SQL, which must be quoted if they are names.
const RESERVED_WORDS: &str = "\
all and any as asc between by case cast check column cross date desc distinct else end except exists false file \
for from full group having in inner intersect interval into is join left like limit natural not null offset on or \
order outer over partition right row rows select set table then time timestamp true union using when where";

fn is_reserved(name: &str) -> bool {
    RESERVED_WORDS.split(' ').any(|word| word == name)
}

/// Writes the name of a column in a query. A name is quoted unless it is a plain word in lower case.
pub fn sql_name(name: &str) -> String {
    let plain = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && !is_reserved(name);
    match plain {
        true => name.to_owned(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

pub fn sql_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Writes a text in YAML. The text is quoted if YAML could read it as a different value.
pub fn yaml(text: &str) -> String {
    let word = text.to_ascii_lowercase();
    let plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '*' | ' '))
        && !text.ends_with(' ')
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"].contains(&word.as_str());
    if plain {
        return text.to_owned();
    }
    // Strings of JSON are strings of YAML, too.
    serde_json::Value::from(text).to_string()
}

pub fn joined(texts: impl IntoIterator<Item = String>, separator: &str) -> String {
    texts.into_iter().collect::<Vec<_>>().join(separator)
}

/// Writes names as the items of a YAML list, without brackets.
pub fn yaml_list(names: &[String]) -> String {
    joined(names.iter().map(|name| yaml(name)), ", ")
}

/// Writes a query as the value of a key that is indented by two spaces.
pub fn yaml_query(query: &str) -> String {
    let is_risky = query.contains(": ") || query.contains(" #") || query.ends_with(':');
    match is_risky || query.contains('\n') {
        false => format!(" {query}"),
        true => format!(
            " |\n    {}",
            joined(query.lines().map(str::to_owned), "\n    ")
        ),
    }
}

/// Makes a name for a table: a plain word that is not in `taken`.
pub fn table_name(wanted: &str, taken: &[String]) -> String {
    let clean: String = wanted
        .to_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let clean = clean.trim_matches('_');
    let mut name = match clean.chars().next() {
        Some(first) if first.is_ascii_alphabetic() => clean.to_owned(),
        _ => format!("files_{clean}").trim_end_matches('_').to_owned(),
    };
    if is_reserved(&name) {
        name.push_str("_table");
    }
    let base = name.clone();
    let mut number = 2;
    while taken.contains(&name) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        for (name, expected) in [
            ("id", "id"),
            ("Id", "\"Id\""),
            ("order", "\"order\""),
            ("a b\"", "\"a b\"\"\""),
        ] {
            assert_eq!(sql_name(name), expected);
        }
        for (name, expected) in [
            ("id", "id"),
            ("yes", "\"yes\""),
            ("1", "\"1\""),
            ("a: b\n", "\"a: b\\n\""),
            ("train.csv", "train.csv"),
        ] {
            assert_eq!(yaml(name), expected);
        }
        let taken = ["train".to_owned(), "train_2".to_owned()];
        for (name, expected) in [
            ("Train", "train_3"),
            ("test images", "test_images"),
            ("2019", "files_2019"),
            ("", "files"),
            ("order", "order_table"),
        ] {
            assert_eq!(table_name(name, &taken), expected);
        }
        assert_eq!(yaml_query("SELECT 'a: b'"), " |\n    SELECT 'a: b'");
    }
}
