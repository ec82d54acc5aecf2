//! Arbitrary bytes are read as lines or rejected. If the lines are joined with LF, the same lines are read again.

use prep_formats::lines::TextLines;

fn lines(data: &[u8]) -> Option<Vec<String>> {
    let mut lines = TextLines::new(data);
    let mut all = Vec::new();
    while let Some(line) = lines.next_line().ok()? {
        all.push(line.to_owned());
    }
    Some(all)
}

pub fn check(data: &[u8]) {
    if let Some(first) = lines(data) {
        let text: String = first.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(lines(text.as_bytes()), Some(first));
    }
}
