//! Reading the members of the object that fills a text, those that are wanted, in memory of one of them.

use std::collections::HashSet;
use std::io::Read;

use super::cursor::Cursor;
use super::{JsonError, JsonErrorKind, JsonString, Value};
use crate::limits::Limits;

/// The members of an object, one after the other; what is not wanted is passed over, and of it only quotes and brackets
/// are looked at.
///
/// Memory: the longest wanted member, and the keys. A key that stands twice is refused: Python would take the last one,
/// which cannot be known in time.
#[derive(Debug)]
pub struct JsonMembers<R> {
    cursor: Cursor<R>,
    keys: HashSet<JsonString>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    BeforeObject,
    /// After `{`.
    First,
    /// After a member.
    Next,
    Done,
}

impl<R: Read> JsonMembers<R> {
    /// Reads the object that fills `input`, in UTF-8.
    pub fn new(input: R) -> Self {
        Self {
            cursor: Cursor::new(input),
            keys: HashSet::new(),
            state: State::BeforeObject,
        }
    }

    /// Rejects members that take more memory than one record may, instead of [`Limits::default`].
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.cursor.set_limits(limits);
        self
    }

    /// The next member; its value if `wanted` says so. `None` at the end.
    ///
    /// # Errors
    /// [`JsonError`]; no member can be read after it.
    pub fn next_member(
        &mut self,
        wanted: impl FnOnce(&JsonString) -> bool,
    ) -> Result<Option<(JsonString, Option<Value>)>, JsonError> {
        let member = self.member(wanted);
        if !matches!(member, Ok(Some(_))) {
            self.state = State::Done;
        }
        member
    }

    fn member(
        &mut self,
        wanted: impl FnOnce(&JsonString) -> bool,
    ) -> Result<Option<(JsonString, Option<Value>)>, JsonError> {
        if self.state == State::BeforeObject {
            if self.cursor.skip_blanks()? != Some(b'{') {
                return Err(self.cursor.error(JsonErrorKind::ExpectedListOrObject));
            }
            self.cursor.consume(1);
            self.state = State::First;
        }
        match (self.state, self.cursor.skip_blanks()?) {
            (State::Done, _) => return Ok(None),
            (_, Some(b'}')) => {
                self.cursor.consume(1);
                return match self.cursor.skip_blanks()? {
                    None => Ok(None),
                    Some(_) => Err(self.cursor.error(JsonErrorKind::ExtraData)),
                };
            }
            (State::Next, Some(b',')) => self.cursor.consume(1),
            (State::Next, _) => return Err(self.cursor.error(JsonErrorKind::ExpectedComma)),
            _ => {}
        }
        let key = self.cursor.key()?;
        self.cursor.keep(&key)?;
        if !self.keys.insert(key.clone()) {
            return Err(self.cursor.error(JsonErrorKind::RepeatedKey));
        }
        self.cursor.skip_blanks()?;
        let value = if wanted(&key) {
            Some(self.cursor.element(1)?)
        } else {
            self.cursor.skip_element()?;
            None
        };
        self.state = State::Next;
        Ok(Some((key, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, wanted: &str) -> Result<Vec<String>, JsonError> {
        let mut members = JsonMembers::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some((key, value)) = members.next_member(|key| key.as_str() == Some(wanted))? {
            let value = value.map_or("-".to_owned(), |value| format!("{value:?}"));
            found.push(format!("{}={value}", key.to_string_lossy()));
        }
        assert!(matches!(members.next_member(|_| true), Ok(None)));
        Ok(found)
    }

    #[test]
    fn wanted_members_are_read_and_others_passed_over() {
        let text = r#" { "a": [1, "}]", {"x": 2}] , "b":3,"c" :{} } "#;
        assert_eq!(read(text, "b").unwrap(), ["a=-", "b=Int(3)", "c=-"]);
        assert_eq!(read("{}", "b").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in [
            "",
            "[1]",
            "{",
            "{\"a\"}",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\":2}",
            "{} 1",
            "{\"a\":1,\"a\":2}",
            "{,}",
        ] {
            assert!(read(text, "b").is_err(), "{text}");
        }
    }
}
