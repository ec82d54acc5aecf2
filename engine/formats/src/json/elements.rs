//! Reading the elements of one list or object somewhere inside a document, in memory of one element.
//!
//! The one reader of documents that are too large for memory: a list of records is the list at the empty path, the members of
//! an object are those at the empty path.

use std::collections::HashSet;
use std::io::Read;

use super::cursor::Cursor;
use super::{Grammar, JsonError, JsonErrorKind, JsonString, Nested, Value};
use crate::limits::Limits;

/// Iterator over the elements at a path of the one value that fills a text: the items of a list, or the members of an
/// object with their keys.
///
/// Memory: the longest element, and the keys of an object that is iterated over. What lies beside the path is passed over:
/// of it only quotes and brackets are looked at. A key that stands twice, in an object on the path or in the one iterated
/// over, is refused: Python would take the last one, which cannot be known in time. After an error the iterator ends.
#[derive(Debug)]
pub struct JsonElements<R> {
    cursor: Cursor<R>,
    path: Vec<String>,
    /// What the path must lead to; `None` is either.
    expected: Option<Kind>,
    /// Lists and objects that were entered, from outside; the last one is iterated over.
    entered: Vec<Kind>,
    /// Keys of the object iterated over.
    keys: HashSet<JsonString>,
    state: State,
}

/// An element with its key, if it has one, and with its value, if that was wanted.
type Element = (Option<JsonString>, Option<Value>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    List,
    Object,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// After an opening bracket.
    First,
    /// After an element.
    Next,
    Done,
}

impl<R: Read> JsonElements<R> {
    /// Reads `input`, in UTF-8. The path leads through objects by key and through lists by number, from 0; the empty path
    /// is the whole value.
    pub fn new(input: R, path: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            cursor: Cursor::new(input),
            path: path.into_iter().map(Into::into).collect(),
            expected: None,
            entered: Vec::new(),
            keys: HashSet::new(),
            state: State::Start,
        }
    }

    /// Reads the list that fills `input`.
    pub fn list(input: R) -> Self {
        Self {
            expected: Some(Kind::List),
            ..Self::new(input, [""; 0])
        }
    }

    /// Reads the object that fills `input`.
    pub fn object(input: R) -> Self {
        Self {
            expected: Some(Kind::Object),
            ..Self::new(input, [""; 0])
        }
    }

    /// Rejects elements that take more memory than one record may, instead of [`Limits::default`].
    pub fn with_limits(mut self, limits: &Limits) -> Self {
        self.cursor.set_limits(limits);
        self
    }

    /// Reads values by this grammar instead of Python's.
    pub fn with_grammar(mut self, grammar: Grammar) -> Self {
        self.cursor.set_grammar(grammar);
        self
    }

    /// What becomes of the lists and objects inside an element that is a list or an object.
    pub fn with_nested(mut self, nested: Nested) -> Self {
        self.cursor.set_nested(nested);
        self
    }

    /// The elements without their keys.
    pub fn values(self) -> impl Iterator<Item = Result<Value, JsonError>> {
        self.map(|element| element.map(|(_, value)| value))
    }

    /// The next member of an [`object`](Self::object), and its value if `wanted` says so of the key. Otherwise the value is
    /// passed over: only its quotes and brackets are looked at. `None` at the end.
    ///
    /// # Errors
    /// [`JsonError`]; no member can be read after it.
    pub fn next_member(
        &mut self,
        wanted: impl FnOnce(&JsonString) -> bool,
    ) -> Result<Option<(JsonString, Option<Value>)>, JsonError> {
        let next = self.next_element(|key| key.is_none_or(wanted))?;
        Ok(next.and_then(|(key, value)| Some((key?, value))))
    }

    fn next_element(
        &mut self,
        wanted: impl FnOnce(Option<&JsonString>) -> bool,
    ) -> Result<Option<Element>, JsonError> {
        if self.state == State::Done {
            return Ok(None);
        }
        let element = self.element(wanted);
        if !matches!(element, Ok(Some(_))) {
            self.state = State::Done;
        }
        element
    }

    fn element(
        &mut self,
        wanted: impl FnOnce(Option<&JsonString>) -> bool,
    ) -> Result<Option<Element>, JsonError> {
        if self.state == State::Start {
            for step in 0..self.path.len() {
                self.enter(None)?;
                self.find(step)?;
            }
            self.enter(self.expected)?;
        }
        if !self.advance()? {
            self.leave()?;
            return Ok(None);
        }
        let depth = self.entered.len();
        let key = match self.entered.last() {
            Some(Kind::Object) => Some(self.cursor.key()?),
            _ => None,
        };
        if let Some(key) = &key {
            self.cursor.keep(key)?;
            if !self.keys.insert(key.clone()) {
                return Err(self.cursor.error(JsonErrorKind::RepeatedKey));
            }
        }
        self.cursor.skip_blanks()?;
        let value = match wanted(key.as_ref()) {
            true => Some(self.cursor.element(depth)?),
            false => {
                self.cursor.skip_element()?;
                None
            }
        };
        Ok(Some((key, value)))
    }

    /// Enters the list or object that begins here.
    fn enter(&mut self, expected: Option<Kind>) -> Result<(), JsonError> {
        let kind = match (self.cursor.skip_blanks()?, expected) {
            (Some(b'['), None | Some(Kind::List)) => Kind::List,
            (Some(b'{'), None | Some(Kind::Object)) => Kind::Object,
            (_, Some(Kind::List)) => return Err(self.cursor.error(JsonErrorKind::ExpectedList)),
            _ => return Err(self.cursor.error(JsonErrorKind::ExpectedListOrObject)),
        };
        self.cursor.consume(1);
        self.entered.push(kind);
        self.state = State::First;
        Ok(())
    }

    /// Goes to the element that the path names, in what was entered last.
    fn find(&mut self, step: usize) -> Result<(), JsonError> {
        let mut place = 0usize;
        while self.advance()? {
            let is_wanted = match self.entered.last() {
                Some(Kind::Object) => self.is_on_path(step)?,
                _ => self
                    .path
                    .get(step)
                    .is_some_and(|name| *name == place.to_string()),
            };
            self.cursor.skip_blanks()?;
            if is_wanted {
                return Ok(());
            }
            self.cursor.skip_element()?;
            place += 1;
        }
        Err(self.cursor.error(JsonErrorKind::NoSuchElement { step }))
    }

    /// Reads a key; whether it is the one that the path names.
    fn is_on_path(&mut self, step: usize) -> Result<bool, JsonError> {
        let key = self.cursor.key()?;
        Ok(key.as_str().is_some() && key.as_str() == self.path.get(step).map(String::as_str))
    }

    /// Goes to the next element of what was entered last; `false` at its end, which is left behind.
    fn advance(&mut self) -> Result<bool, JsonError> {
        let end = match self.entered.last() {
            Some(Kind::Object) => b'}',
            _ => b']',
        };
        match (self.state, self.cursor.skip_blanks()?) {
            (State::First | State::Next, Some(byte)) if byte == end => {
                self.cursor.consume(1);
                self.entered.pop();
                self.state = State::Next;
                Ok(false)
            }
            (State::First, _) => {
                self.state = State::Next;
                Ok(true)
            }
            (_, Some(b',')) => {
                self.cursor.consume(1);
                self.cursor.skip_blanks()?;
                Ok(true)
            }
            _ => Err(self.cursor.error(JsonErrorKind::ExpectedComma)),
        }
    }

    /// Goes over what follows, to the end of the text.
    fn leave(&mut self) -> Result<(), JsonError> {
        while let Some(kind) = self.entered.last().copied() {
            let step = self.entered.len() - 1;
            while self.advance()? {
                if kind == Kind::Object && self.is_on_path(step)? {
                    return Err(self.cursor.error(JsonErrorKind::RepeatedKey));
                }
                self.cursor.skip_blanks()?;
                self.cursor.skip_element()?;
            }
        }
        match self.cursor.skip_blanks()? {
            None => Ok(()),
            Some(_) => Err(self.cursor.error(JsonErrorKind::ExtraData)),
        }
    }
}

impl<R: Read> Iterator for JsonElements<R> {
    type Item = Result<(Option<JsonString>, Value), JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_element(|_| true).transpose()?;
        // All are wanted, so each has a value.
        Some(next.map(|(key, value)| (key, value.unwrap_or(Value::Null))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, wanted: &str) -> Result<Vec<String>, JsonError> {
        let mut members = JsonElements::object(text.as_bytes());
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
