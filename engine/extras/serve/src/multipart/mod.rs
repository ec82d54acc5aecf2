//! Decodes `multipart/form-data` incrementally.
//!
//! The decoder accepts the same bodies as the lenient framework of MLE-bench's server. Such bodies may contain:
//!
//! - all three kinds of line breaks (CR LF, CR and LF), and spaces after a boundary
//! - lines that begin with the boundary, but continue with other text and thus belong to the data
//! - header names in upper and lower case
//!
//! The decoder keeps at most the header of a part, or the beginning of a boundary, in memory.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memmem::Finder;

pub(crate) const MAX_HEADER_BYTES: usize = 64 << 10;

/// Maximum number of spaces and tabs after a boundary.
const MAX_PADDING: usize = 1 << 10;

/// Maximum length of a boundary in bytes; the standard allows 70. After each chunk, the search starts again at the
/// beginning of an incomplete boundary, so a long boundary would make the search slow.
const MAX_BOUNDARY_BYTES: usize = 200;

/// Returns the boundary in the header `Content-Type`. Returns `None` if the body is not `multipart/form-data`.
pub(crate) fn boundary(content_type: &str) -> Option<String> {
    let (kind, parameters) = parameters(content_type);
    let is_form = kind.eq_ignore_ascii_case("multipart/form-data");
    let boundary = parameters.into_iter().rfind(|(name, _)| name == "boundary");
    let boundary = boundary.map(|(_, value)| value);
    let is_usable = |boundary: &String| {
        !boundary.is_empty() && boundary.len() <= MAX_BOUNDARY_BYTES && boundary.is_ascii()
    };
    boundary.filter(|boundary| is_form && is_usable(boundary))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Part(Part),
    Data(Bytes),
    PartEnd,
    /// The last part is complete. The rest of the body is ignored.
    End,
    NeedData,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub name: Option<String>,
    /// Whether the parameter `filename` is present.
    pub is_file: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MultipartError {
    #[error("the body ends before the last boundary")]
    Truncated,
    #[error("a part has no header Content-Disposition")]
    NoDisposition,
    #[error("a part's header is longer than {MAX_HEADER_BYTES} bytes")]
    LongHeader,
}

enum State {
    Preamble,
    Header,
    /// In the content of a part. If `is_begun` is false, the line break before the content is still in the buffer.
    Body {
        is_begun: bool,
    },
    Epilogue,
}

pub(crate) struct Decoder {
    /// Two hyphens and the boundary.
    delimiter: Finder<'static>,
    buffer: BytesMut,
    /// Number of bytes of the buffer that were searched for the end of a part's header.
    searched: usize,
    state: State,
    /// Whether the next event is [`Event::PartEnd`].
    is_part_complete: bool,
    is_complete: bool,
}

enum Search {
    Found(Delimiter),
    /// A delimiter may begin at this position, but the rest of it has not arrived.
    Undecided(usize),
    Nothing,
}

struct Delimiter {
    /// Start of the delimiter, including the line break before it.
    start: usize,
    /// End of the delimiter, including the line break after it.
    end: usize,
    is_last: bool,
}

/// The meaning of the bytes that follow two hyphens and the boundary.
enum Ending {
    /// Two hyphens.
    Last,
    /// Spaces and a line break, with this total length.
    Line(usize),
    Undecided,
    /// Other text, so this is not a delimiter.
    Data,
}

impl Decoder {
    pub(crate) fn new(boundary: &str) -> Decoder {
        let delimiter = format!("--{boundary}").into_bytes();
        Decoder {
            delimiter: Finder::new(&delimiter).into_owned(),
            buffer: BytesMut::new(),
            searched: 0,
            state: State::Preamble,
            is_part_complete: false,
            is_complete: false,
        }
    }

    /// Adds a chunk of the body.
    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        if !matches!(self.state, State::Epilogue) {
            self.buffer.extend_from_slice(chunk);
        }
    }

    /// States that the body has no further chunks.
    pub(crate) fn finish(&mut self) {
        self.is_complete = true;
    }

    /// Returns the next event of the body, or [`Event::NeedData`] if the buffer contains no complete event.
    pub(crate) fn next(&mut self) -> Result<Event, MultipartError> {
        if std::mem::take(&mut self.is_part_complete) {
            return Ok(Event::PartEnd);
        }
        let event = match self.state {
            State::Preamble => self.preamble()?,
            State::Header => self.header()?,
            State::Body { is_begun } => self.body(is_begun),
            State::Epilogue => Event::End,
        };
        match event {
            Event::NeedData if self.is_complete => Err(MultipartError::Truncated),
            event => Ok(event),
        }
    }

    fn preamble(&mut self) -> Result<Event, MultipartError> {
        let passed = match self.search(false) {
            Search::Found(found) => {
                self.pass(&found);
                return match found.is_last {
                    true => Ok(Event::End),
                    false => self.header(),
                };
            }
            Search::Undecided(start) => start,
            Search::Nothing => {
                let tail = self.delimiter.needle().len();
                self.buffer.len().saturating_sub(tail)
            }
        };
        self.buffer.advance(passed);
        Ok(Event::NeedData)
    }

    fn header(&mut self) -> Result<Event, MultipartError> {
        // An empty line may begin in the last bytes that were searched.
        let from = self.searched.saturating_sub(EMPTY_LINE_BYTES - 1);
        let found = empty_line(self.buffer.get(from..).unwrap_or_default());
        let Some(end) = found.map(|end| from + end) else {
            self.searched = self.buffer.len();
            return match self.buffer.len() > MAX_HEADER_BYTES {
                true => Err(MultipartError::LongHeader),
                false => Ok(Event::NeedData),
            };
        };
        if end > MAX_HEADER_BYTES {
            return Err(MultipartError::LongHeader);
        }
        let part = part(&String::from_utf8_lossy(&self.buffer[..end]))?;
        self.buffer.advance(end);
        self.searched = 0;
        self.state = State::Body { is_begun: false };
        Ok(Event::Part(part))
    }

    fn body(&mut self, is_begun: bool) -> Event {
        let skipped = match (is_begun, self.buffer.as_ref()) {
            (true, _) => 0,
            (false, [b'\r']) if !self.is_complete => return Event::NeedData,
            (false, [b'\r', b'\n', ..]) => 2,
            (false, _) => 1,
        };
        let (end, found) = match self.search(true) {
            Search::Found(found) => (found.start, Some(found)),
            Search::Undecided(start) => (start, None),
            Search::Nothing => (self.partial(), None),
        };
        let data = self.buffer.get(skipped..end).unwrap_or_default();
        let data = Bytes::copy_from_slice(data);
        match found {
            Some(found) => {
                self.pass(&found);
                if data.is_empty() {
                    return Event::PartEnd;
                }
                self.is_part_complete = true;
            }
            None if data.is_empty() => return Event::NeedData,
            None => {
                self.buffer.advance(end);
                self.state = State::Body { is_begun: true };
            }
        }
        Event::Data(data)
    }

    fn pass(&mut self, found: &Delimiter) {
        self.state = match found.is_last {
            true => State::Epilogue,
            false => State::Header,
        };
        self.buffer.advance(found.end);
        if found.is_last {
            self.buffer.clear();
        }
    }

    /// Searches for the first delimiter. `needs_line_break` is false only in the preamble.
    fn search(&self, needs_line_break: bool) -> Search {
        let buffer = self.buffer.as_ref();
        let length = self.delimiter.needle().len();
        let mut from = 0;
        while let Some(position) = buffer
            .get(from..)
            .and_then(|rest| self.delimiter.find(rest))
        {
            let position = from + position;
            from = position + 1;
            let start = match line_break_before(buffer, position) {
                Some(start) => start,
                None if needs_line_break => continue,
                None => position,
            };
            let after = position + length;
            match ending(buffer.get(after..).unwrap_or_default(), self.is_complete) {
                Ending::Data => {}
                Ending::Undecided => return Search::Undecided(start),
                Ending::Last => {
                    return Search::Found(Delimiter {
                        start,
                        end: after + 2,
                        is_last: true,
                    });
                }
                Ending::Line(line) => {
                    return Search::Found(Delimiter {
                        start,
                        end: after + line,
                        is_last: false,
                    });
                }
            }
        }
        Search::Nothing
    }

    /// Returns the start of an incomplete delimiter at the end of the buffer, or the length of the buffer.
    fn partial(&self) -> usize {
        let buffer = self.buffer.as_ref();
        let delimiter = self.delimiter.needle();
        let first = buffer.len().saturating_sub(delimiter.len() + 2);
        let is_beginning = |position: &usize| match buffer.get(*position..).unwrap_or_default() {
            [b'\r', b'\n', rest @ ..] | [b'\r' | b'\n', rest @ ..] => delimiter.starts_with(rest),
            _ => false,
        };
        let mut places = first..buffer.len();
        places.find(is_beginning).unwrap_or(buffer.len())
    }
}

fn line_break_before(buffer: &[u8], position: usize) -> Option<usize> {
    match buffer.get(..position)? {
        [.., b'\r', b'\n'] => Some(position - 2),
        [.., b'\r' | b'\n'] => Some(position - 1),
        _ => None,
    }
}

fn ending(rest: &[u8], is_complete: bool) -> Ending {
    if rest.starts_with(b"--") {
        return Ending::Last;
    }
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | 0x0b | 0x0c);
    let padding = rest.iter().take_while(|byte| is_space(byte)).count();
    match rest.get(padding..).unwrap_or_default() {
        _ if padding > MAX_PADDING => Ending::Data,
        [b'\r', b'\n', ..] => Ending::Line(padding + 2),
        [b'\r'] if !is_complete => Ending::Undecided,
        [b'\r' | b'\n', ..] => Ending::Line(padding + 1),
        [] if !is_complete => Ending::Undecided,
        [b'-'] if padding == 0 && !is_complete => Ending::Undecided,
        _ => Ending::Data,
    }
}

const EMPTY_LINE_BYTES: usize = 4;

/// Finds an empty line. Returns the end of the line break before the empty line.
fn empty_line(buffer: &[u8]) -> Option<usize> {
    let mut breaks = memchr::memchr2_iter(b'\r', b'\n', buffer);
    breaks.find_map(|position| match buffer.get(position..)? {
        [b'\r', b'\n', b'\r', b'\n', ..] => Some(position + 2),
        [b'\r', b'\r', ..] | [b'\n', b'\n', ..] => Some(position + 1),
        _ => None,
    })
}

fn part(text: &str) -> Result<Part, MultipartError> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    // A line that begins with a space or tab continues the previous line.
    let text = text.replace("\n ", " ").replace("\n\t", " ");
    let headers = text
        .lines()
        .map(|line| line.split_once(':').unwrap_or((line, "")));
    let mut dispositions =
        headers.filter(|(name, _)| name.trim().eq_ignore_ascii_case("content-disposition"));
    let (_, value) = dispositions.next().ok_or(MultipartError::NoDisposition)?;
    let (_, parameters) = parameters(value);
    let mut part = Part::default();
    for (name, value) in parameters {
        match name.as_str() {
            "name" => part.name = Some(value),
            "filename" => part.is_file = true,
            _ => {}
        }
    }
    Ok(part)
}

/// Splits a header into the value before the first semicolon, and its parameters with names in lower case.
///
/// Removes suffixes of RFC 2231 (`filename*0*`) from names. Skips invalid parameters, and all parameters if the value is
/// empty.
fn parameters(header: &str) -> (&str, Vec<(String, String)>) {
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

/// Parses the value of a parameter at the beginning of `text`. Returns the value, and the rest of the text. The value is
/// `None` if it is neither a token nor a quoted string.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a body in chunks of `chunk` bytes. Returns the first file in the field `file`, or `None` if there is no file
    /// or the body is invalid.
    fn file(content_type: &str, body: &[u8], chunk: usize) -> Option<Vec<u8>> {
        let mut decoder = Decoder::new(&boundary(content_type)?);
        let mut chunks = body.chunks(chunk);
        let (mut first, mut current): (Option<Vec<u8>>, Option<Vec<u8>>) = (None, None);
        loop {
            match decoder.next().ok()? {
                Event::Part(part) => {
                    let is_wanted = part.is_file && part.name.as_deref() == Some("file");
                    current = (is_wanted && first.is_none()).then(Vec::new);
                }
                Event::Data(data) => current.iter_mut().for_each(|file| file.extend(&data)),
                Event::PartEnd => first = first.or(current.take()),
                Event::End => return first,
                Event::NeedData => match chunks.next() {
                    Some(chunk) => decoder.feed(chunk),
                    None => decoder.finish(),
                },
            }
        }
    }

    fn bytes(text: &str) -> Vec<u8> {
        text.chars()
            .map(|one| u8::try_from(one as u32).unwrap())
            .collect()
    }

    /// `record.py` recorded the results of upstream's framework. The variable `BODIES` can name another file of records.
    #[test]
    fn bodies_are_decoded_as_by_upstream() {
        let path = std::env::var("BODIES");
        let text = match path {
            Ok(path) => std::fs::read_to_string(path).unwrap(),
            Err(_) => include_str!("bodies.json").to_owned(),
        };
        let records: Vec<(String, String, Option<String>)> = serde_json::from_str(&text).unwrap();
        let mut wrong = Vec::new();
        for (content_type, body, expected) in &records {
            let (body, expected) = (bytes(body), expected.as_deref().map(bytes));
            for chunk in [1, 2, 3, 7, usize::MAX] {
                let found = file(content_type, &body, chunk.min(body.len().max(1)));
                if found != expected {
                    wrong.push(format!(
                        "{content_type}: {:?} in chunks of {chunk}: {:?} instead of {:?}",
                        String::from_utf8_lossy(&body),
                        found.as_deref().map(String::from_utf8_lossy),
                        expected.as_deref().map(String::from_utf8_lossy),
                    ));
                    break;
                }
            }
        }
        assert!(
            wrong.is_empty(),
            "{} of {}:\n{}",
            wrong.len(),
            records.len(),
            wrong.join("\n")
        );
    }

    #[test]
    fn the_decoder_buffers_little_memory() {
        let mut decoder = Decoder::new("b");
        let feed = |decoder: &mut Decoder, chunk: &[u8]| {
            decoder.feed(chunk);
            loop {
                match decoder.next() {
                    Ok(Event::NeedData) => return Ok(decoder.buffer.len()),
                    Ok(_) => {}
                    Err(error) => return Err(error),
                }
            }
        };
        for _ in 0..100 {
            assert!(feed(&mut decoder, &[b'x'; 1 << 16]).unwrap() < 10);
        }
        let begin = b"\r\n--b\r\nContent-Disposition: form-data\r\n\r\n";
        feed(&mut decoder, begin).unwrap();
        for filling in [b'x', b'\r', b'-'] {
            for _ in 0..100 {
                assert!(feed(&mut decoder, &[filling; 1 << 16]).unwrap() < 10);
            }
        }
        // A boundary that is followed by too many spaces is treated as data.
        feed(&mut decoder, b"\r\n--b").unwrap();
        assert!(feed(&mut decoder, &[b' '; 1 << 16]).unwrap() < 10);
        feed(&mut decoder, b"\r\n--b\r\n").unwrap();
        let error = (0..3).find_map(|_| feed(&mut decoder, &[b'x'; 1 << 16]).err());
        assert_eq!(error, Some(MultipartError::LongHeader));
    }
}
