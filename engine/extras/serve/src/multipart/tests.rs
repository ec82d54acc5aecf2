use crate::multipart::*;

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

/// Converts a text with one character per byte to bytes.
fn bytes(text: &str) -> Vec<u8> {
    text.chars()
        .map(|one| u8::try_from(one as u32).unwrap())
        .collect()
}

/// `record.py` recorded the results of upstream's framework.
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
    // Too many spaces after a boundary make it data.
    feed(&mut decoder, b"\r\n--b").unwrap();
    assert!(feed(&mut decoder, &[b' '; 1 << 16]).unwrap() < 10);
    feed(&mut decoder, b"\r\n--b\r\n").unwrap();
    let error = (0..3).find_map(|_| feed(&mut decoder, &[b'x'; 1 << 16]).err());
    assert_eq!(error, Some(MultipartError::LongHeader));
}
