use super::*;

/// The first file in the field `file`; `None` if there is none, or the body is an error. The body comes in pieces.
fn file(content_type: &str, body: &[u8], piece: usize) -> Option<Vec<u8>> {
    let mut decoder = Decoder::new(&boundary(content_type)?);
    let mut pieces = body.chunks(piece);
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
            Event::NeedData => match pieces.next() {
                Some(piece) => decoder.feed(piece),
                None => decoder.finish(),
            },
        }
    }
}

/// One character for each byte.
fn bytes(text: &str) -> Vec<u8> {
    text.chars()
        .map(|one| u8::try_from(one as u32).unwrap())
        .collect()
}

/// `record.py` wrote what upstream's framework reads.
#[test]
fn bodies_are_read_as_upstream_reads_them() {
    let path = std::env::var("BODIES");
    let text = match path {
        Ok(path) => std::fs::read_to_string(path).unwrap(),
        Err(_) => include_str!("bodies.json").to_owned(),
    };
    let records: Vec<(String, String, Option<String>)> = serde_json::from_str(&text).unwrap();
    let mut wrong = Vec::new();
    for (content_type, body, expected) in &records {
        let (body, expected) = (bytes(body), expected.as_deref().map(bytes));
        for piece in [1, 2, 3, 7, usize::MAX] {
            let found = file(content_type, &body, piece.min(body.len().max(1)));
            if found != expected {
                wrong.push(format!(
                    "{content_type}: {:?} in pieces of {piece}: {:?} instead of {:?}",
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
fn memory_is_limited() {
    let mut decoder = Decoder::new("b");
    let feed = |decoder: &mut Decoder, piece: &[u8]| {
        decoder.feed(piece);
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
    // Spaces after a boundary end as data.
    feed(&mut decoder, b"\r\n--b").unwrap();
    assert!(feed(&mut decoder, &[b' '; 1 << 16]).unwrap() < 10);
    feed(&mut decoder, b"\r\n--b\r\n").unwrap();
    let error = (0..3).find_map(|_| feed(&mut decoder, &[b'x'; 1 << 16]).err());
    assert_eq!(error, Some(MultipartError::LongHeader));
}
