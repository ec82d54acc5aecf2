//! scikit-learn 1.5's stratified split: both parts have about the same proportions of classes as the table.

use crate::error::SplitError;
use crate::generators::numpy_legacy::RandomState;
use crate::keys::Split;
use crate::methods::groups::Groups;
use crate::part_sizes::PartSizes;
use crate::size::SplitSize;

/// Splits rows like `train_test_split(range(n), .., stratify=classes, random_state=seed)`.
///
/// `classes` contains one code per row. Classes are numbered in sorted order, as in `numpy.unique`.
///
/// # Errors
/// An error if a class has one row, a part has fewer rows than there are classes, or scikit-learn rejects the sizes.
pub fn stratified_split(
    classes: &[u32],
    test_size: Option<SplitSize>,
    train_size: Option<SplitSize>,
    seed: u32,
) -> Result<Split, SplitError> {
    let groups = Groups::new(classes)?;
    let sizes = PartSizes::new(groups.rows_total(), test_size, train_size)?;
    check_classes(&groups, sizes)?;

    let mut generator = RandomState::new(seed);
    let counts: Vec<u32> = groups.iter().map(|rows| rows.len() as u32).collect();
    let train_counts = approximate_mode(&counts, sizes.train, &mut generator);
    let remaining: Vec<u32> = counts
        .iter()
        .zip(&train_counts)
        .map(|(count, taken)| count - taken)
        .collect();
    let test_counts = approximate_mode(&remaining, sizes.test, &mut generator);

    let mut split = Split::default();
    for ((rows, &train), &test) in groups.iter().zip(&train_counts).zip(&test_counts) {
        let mut members = rows.to_vec();
        generator.shuffle(&mut members);
        let (for_train, others) = members.split_at(train as usize);
        split.train.extend(for_train);
        split.test.extend(others.iter().take(test as usize));
    }
    generator.shuffle(&mut split.train);
    generator.shuffle(&mut split.test);
    Ok(split)
}

fn check_classes(groups: &Groups, sizes: PartSizes) -> Result<(), SplitError> {
    if let Some(class) = groups.iter().position(|rows| rows.len() < 2) {
        return Err(SplitError::ClassTooSmall {
            class: class as u32,
        });
    }
    for (part, size) in [("train", sizes.train), ("test", sizes.test)] {
        let classes = groups.len();
        if size < classes {
            return Err(SplitError::TooFewForClasses {
                part,
                size,
                classes,
            });
        }
    }
    Ok(())
}

/// scikit-learn's `_approximate_mode`: distributes `draws` rows over the classes, close to the mode of the multivariate
/// hypergeometric distribution. `counts` contains the number of available rows of each class. Returns the number of
/// rows to draw from each class.
///
/// Each class gets its proportional number of rows, rounded down. The classes with the largest remainders get one more row.
/// The choice between equal remainders is random.
fn approximate_mode(counts: &[u32], draws: u32, generator: &mut RandomState) -> Vec<u32> {
    let total: f64 = counts.iter().copied().map(f64::from).sum();
    let expected: Vec<f64> = counts
        .iter()
        .map(|&count| f64::from(count) / total * f64::from(draws))
        .collect();
    let mut taken: Vec<u32> = expected.iter().map(|rows| rows.floor() as u32).collect();
    let assigned: u32 = taken.iter().sum();
    let mut missing = draws.saturating_sub(assigned) as usize;

    let remainders: Vec<f64> = expected.iter().map(|rows| rows - rows.floor()).collect();
    let mut descending = remainders.clone();
    descending.sort_by(|a, b| b.total_cmp(a));
    descending.dedup();
    for remainder in descending {
        if missing == 0 {
            break;
        }
        let mut tied: Vec<usize> = (0..counts.len())
            .filter(|&class| remainders[class] == remainder)
            .collect();
        generator.shuffle(&mut tied);
        tied.truncate(missing);
        missing -= tied.len();
        tied.into_iter().for_each(|class| taken[class] += 1);
    }
    taken
}
