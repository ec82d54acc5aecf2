//! Measures the speed of the CSV functions on a table like New York's taxi fares.
//!
//! `cargo bench -p prep-formats --bench pandas_speed [rows]` prints the speed of each step in MB/s on one core.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark is a program of its own"
)]

#[path = "../tests/mapped/mod.rs"]
mod mapped;

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

use prep_formats::pandas::{
    CsvError, CsvScanner, GatherOptions, ReadOptions, Rewriter, RowSelection, TextTable, gather,
    normalise, read_frame,
};

/// The SplitMix64 generator. It produces the same table in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Returns a CSV file with the columns of the taxi table.
fn table(rows: usize) -> String {
    let mut random = Random(1);
    let mut text = String::from(
        "key,fare_amount,pickup_longitude,pickup_latitude,dropoff_longitude,dropoff_latitude,passenger_count\n",
    );
    for _ in 0..rows {
        let second = random.next() % 60;
        let _ = write!(
            text,
            "2013-07-02 19:{:02}:{second:02}.{:07}",
            random.next() % 60,
            random.next() % 10_000_000
        );
        // The shortest representations of these doubles have 14 to 17 digits.
        let _ = write!(text, ",{:?}", 2.5 + 50.0 * random.unit());
        let _ = write!(text, ",{:?}", -74.0 + random.unit());
        let _ = write!(text, ",{:?}", 40.0 + random.unit());
        let _ = write!(text, ",{:?}", -74.0 + random.unit());
        let _ = write!(text, ",{:?}", 40.0 + random.unit());
        let _ = writeln!(text, ",{}", 1 + random.next() % 6);
    }
    text
}

/// Processor time of this thread in seconds. Other programs do not affect it.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// Runs a step three times, and prints its name and the highest speed. Returns the result of the last run.
fn time<T>(what: &str, bytes: usize, mut run: impl FnMut() -> T) -> T {
    let mut best = f64::INFINITY;
    let mut result = None;
    for _ in 0..3 {
        let (start, cpu) = (Instant::now(), cpu_seconds());
        result = Some(run());
        let busy = cpu_seconds().zip(cpu).map(|(end, start)| end - start);
        best = best.min(busy.unwrap_or(start.elapsed().as_secs_f64()));
    }
    println!("{what:<32} {:>7.0} MB/s", bytes as f64 / 1e6 / best);
    result.expect("ran three times")
}

fn main() -> Result<(), CsvError> {
    let rows = std::env::args()
        .skip(1)
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(2_000_000);
    let text = table(rows).into_bytes();
    let size = text.len();
    println!("{rows} rows, {} MB", size / 1_000_000);
    let options = ReadOptions::default();
    let scan = time("scan", size, || {
        let mut scanner = CsvScanner::new(&options);
        text.chunks(1 << 18)
            .try_for_each(|chunk| scanner.feed(chunk))
            .and_then(|()| scanner.finish())
    })?;
    time("rewrite", size, || {
        let mut rewriter = Rewriter::new(&options);
        for chunk in text.chunks(1 << 18) {
            rewriter.feed(chunk.to_vec())?;
            while let Some(piece) = rewriter.take_chunk() {
                rewriter.recycle(piece);
            }
        }
        rewriter.finish()
    })?;
    time("normalise", size, || {
        normalise(text.as_slice(), &scan, &options, std::io::sink())
    })?;
    time("read frame", size, || {
        read_frame(&text, &options).map(|frame| frame.rows)
    })?;

    let directory = tempfile::tempdir()?;
    let mut file = tempfile::tempfile_in(directory.path())?;
    file.write_all(&text)?;
    let table = time("open: offsets of rows", size, || {
        TextTable::open(
            mapped::MappedFile::new(&file),
            scan.schema.clone(),
            u64::MAX,
            None,
        )
    })?;
    let mut random = Random(2);
    let mut order: Vec<u64> = (0..rows as u64).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, (random.next() % (i as u64 + 1)) as usize);
    }
    let all: Vec<usize> = (0..7).collect();
    let small = GatherOptions {
        budget: usize::MAX,
        scratch: directory.path(),
    };
    let large = GatherOptions {
        budget: size / 8,
        scratch: directory.path(),
    };
    let gathered = |columns: &[usize], options: &GatherOptions<'_>| {
        gather(
            &table,
            order.iter().copied(),
            columns,
            &mut std::io::sink(),
            options,
        )
    };
    time("gather, whole rows", size, || gathered(&all, &small))?;
    time("gather, whole rows, by buckets", size, || {
        gathered(&all, &large)
    })?;
    time("gather, columns 0 and 6", size, || {
        gathered(&[0, 6], &small)
    })?;
    time("one decimal column to Arrow", size, || {
        table
            .read_batches(&[1], RowSelection::All, 8192)?
            .try_fold(0, |n, batch| Ok::<_, CsvError>(n + batch?.num_rows()))
    })?;
    time("all columns to Arrow", size, || {
        table
            .read_batches(&all, RowSelection::All, 8192)?
            .try_fold(0, |n, batch| Ok::<_, CsvError>(n + batch?.num_rows()))
    })?;
    Ok(())
}
