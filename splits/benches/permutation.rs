//! Measures the legacy permutation, which takes most of the time of every split of rows.

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use prep_splits::{PythonRandom, RandomState};

fn permutation(c: &mut Criterion) {
    let mut group = c.benchmark_group("permutation");
    group.sample_size(10);
    for n in [1_000u32, 1_000_000, 10_000_000] {
        group.throughput(Throughput::Elements(n.into()));
        group.bench_function(format!("numpy/{n}"), |b| {
            b.iter(|| RandomState::new(0).permutation(black_box(n)))
        });
    }
    let numbers: Vec<u32> = (0..1_000_000).collect();
    group.throughput(Throughput::Elements(1_000_000));
    group.bench_function("python/1000000", |b| {
        let shuffle = |mut numbers: Vec<u32>| PythonRandom::new(0).shuffle(&mut numbers);
        b.iter_batched(|| numbers.clone(), shuffle, BatchSize::LargeInput);
    });
    group.finish();
}

criterion_group!(benches, permutation);
criterion_main!(benches);
