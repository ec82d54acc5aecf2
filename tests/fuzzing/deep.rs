//! Deeply nested inputs, on which a recursive parser or library overflows its stack.

use std::thread;

/// Stack of a thread that runs a parser, in bytes: a quarter of the default.
/// A level of JSON takes up to 270 bytes, depending on the compiler's options.
const STACK_BYTES: usize = 512 << 10;
/// Stack in builds without optimization, whose functions need several times as much.
const UNOPTIMIZED_STACK_BYTES: usize = 8 << 20;

/// Numbers of levels: within the limits of most parsers, at the limits of the parsers for BSON and JSON, and far beyond.
const LEVELS: [usize; 6] = [8, 32, 199, 300, 990, 50_000];

/// Beginning and end of a level in text formats.
const TEXTS: [(&str, &str); 9] = [
    ("[", "]"),
    ("{\"a\":", "}"),
    ("[{\"a\":", "}]"),
    ("(", ")"),
    ("{a,", "}"),
    ("{a: ", "}"),
    ("- ", ""),
    ("<a>", "</a>"),
    ("public: {a.csv: \"SELECT ", "\"}"),
];

pub fn on_little_stack(name: &'static str, check: fn(&[u8])) {
    let stack = match cfg!(debug_assertions) {
        true => UNOPTIMIZED_STACK_BYTES,
        false => STACK_BYTES,
    };
    for (kind, input) in inputs() {
        // Prints the name before the call, because a stack overflow ends the process.
        eprintln!("{name}: {kind}");
        let thread = thread::Builder::new().stack_size(stack);
        let thread = thread.spawn(move || check(&input)).expect("a thread");
        thread.join().unwrap_or_else(|_| panic!("{name}: {kind}"));
    }
}

/// Returns nested inputs of all formats, with descriptions.
pub fn inputs() -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for levels in LEVELS {
        for (begin, end) in TEXTS {
            let text = [begin.repeat(levels), "1".to_owned(), end.repeat(levels)].concat();
            all.push((format!("{levels} of `{begin}`"), text.into_bytes()));
        }
        all.push((format!("{levels} groups of columns"), parquet(levels)));
        all.push((format!("{levels} documents"), bson(levels)));
        all.push((format!("{levels} structures"), matlab(&structures(levels))));
        all.push((
            format!("{levels} tuples in a header"),
            npy(levels.min(15_000)),
        ));
    }
    all
}

/// Returns a Parquet file whose column is inside this number of nested groups.
pub fn parquet(levels: usize) -> Vec<u8> {
    let mut elements = levels as u64 + 2;
    // The version, and a list of structures with its length.
    let mut footer = vec![0x15, 2, 0x19, 0xfc];
    while elements >= 0x80 {
        footer.push(elements as u8 | 0x80);
        elements >>= 7;
    }
    footer.push(elements as u8);
    // The root, which has no repetition, the groups, and the column.
    footer.extend(b"\x48\x01a\x15\x02\0");
    footer.extend(b"\x35\x02\x18\x01a\x15\x02\0".repeat(levels));
    footer.extend(b"\x15\x02\x25\x02\x18\x01a\0");
    // No rows, and no row groups.
    footer.extend(b"\x16\0\x19\x0c\0");
    let mut file = b"PAR1".to_vec();
    file.extend(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    file
}

pub fn bson(levels: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for level in (0..=levels as u32).rev() {
        out.extend((8 * level + 5).to_le_bytes());
        if level > 0 {
            out.extend(b"\x03a\0");
        }
    }
    out.extend(vec![0; levels + 1]);
    out
}

pub fn matlab(variable: &[u8]) -> Vec<u8> {
    let mut file = vec![b' '; 124];
    file.extend(b"\x00\x01IM");
    file.extend(variable);
    file
}

pub fn structures(levels: usize) -> Vec<u8> {
    let head: &[&[u8]] = &[
        b"\x06\0\0\0\x08\0\0\0\x02\0\0\0\0\0\0\0",
        b"\x05\0\0\0\x08\0\0\0\x01\0\0\0\x01\0\0\0",
        b"\x01\0\x01\0v\0\0\0",
        b"\x05\0\x04\0\x02\0\0\0",
        b"\x01\0\x02\0f\0\0\0",
    ];
    let head = head.concat();
    let mut out = Vec::new();
    for level in (1..=levels).rev() {
        out.extend(14_u32.to_le_bytes());
        out.extend(((level * (head.len() + 8) - 8) as u32).to_le_bytes());
        out.extend(&head);
    }
    out
}

/// Returns an array whose shape is a nested tuple.
pub fn npy(levels: usize) -> Vec<u8> {
    let shape = [&*"(".repeat(levels), "1,", &")".repeat(levels)].concat();
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file
}
