//! Volumes: stacks of masks, and the distance of two of them.
//!
//! Distances are computed by a distance transform, one axis at a time (Felzenszwalb and Huttenlocher 2012), within the
//! box around both volumes. The time grows with the size of the box, not with the product of the two numbers of voxels.

use crate::shapes::mask::Mask;
use crate::shapes::mask_columns::MaskSize;

/// Maximum number of voxels of the box in which distances are computed: 256 MB, twice the largest real volume. A
/// submission can stack all its rows to one volume. All boxes together have at most twice the voxels of the true
/// volumes, because each predicted slice is a row that the answers also have.
pub const MAX_VOXELS: usize = 1 << 25;

/// A stack of slices of the same size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    pub size: MaskSize,
    pub slices: Vec<Mask>,
}

impl Volume {
    /// Returns the number of voxels.
    pub fn voxels(&self) -> u64 {
        self.slices.iter().map(Mask::area).sum()
    }

    /// Returns the columns of voxels, as slice, column, first row and row after the last. A mask runs along the
    /// columns.
    fn columns(&self) -> impl Iterator<Item = (usize, u64, u64, u64)> + '_ {
        let height = self.size.height.max(1);
        self.slices
            .iter()
            .enumerate()
            .flat_map(move |(slice, mask)| {
                mask.runs().iter().flat_map(move |&(low, high)| {
                    (low / height..=high.saturating_sub(1) / height).map(move |column| {
                        let start = column * height;
                        let top = low.max(start) - start;
                        (slice, column, top, high.min(start + height) - start)
                    })
                })
            })
    }
}

/// The box around some voxels: the first index and the index after the last, along slices, columns and rows.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    low: [usize; 3],
    high: [usize; 3],
}

impl Bounds {
    fn enclosing(volumes: [&Volume; 2]) -> Self {
        let mut bounds = Bounds {
            low: [usize::MAX; 3],
            high: [0; 3],
        };
        for (slice, column, top, end) in volumes.into_iter().flat_map(Volume::columns) {
            let first = [slice, column as usize, top as usize];
            let past = [slice + 1, column as usize + 1, end as usize];
            for axis in 0..3 {
                bounds.low[axis] = bounds.low[axis].min(first[axis]);
                bounds.high[axis] = bounds.high[axis].max(past[axis]);
            }
        }
        bounds
    }

    fn extent(&self, axis: usize) -> usize {
        self.high[axis].saturating_sub(self.low[axis])
    }
}

/// Returns the larger of both directed Hausdorff distances between two volumes that are not empty. Coordinates are
/// divided by the number of slices and the size of `unit`. `None` if the box around both has more than [`MAX_VOXELS`].
pub fn hausdorff(a: &Volume, b: &Volume, unit: &Volume) -> Option<f64> {
    let scale = [
        1.0 / unit.slices.len() as f64,
        1.0 / unit.size.width as f64,
        1.0 / unit.size.height as f64,
    ];
    let bounds = Bounds::enclosing([a, b]);
    let extents = [0, 1, 2].map(|axis| bounds.extent(axis));
    let voxels = extents
        .iter()
        .fold(1, |voxels: usize, extent| voxels.saturating_mul(*extent));
    let distance = || directed(a, b, bounds, scale).max(directed(b, a, bounds, scale));
    (voxels <= MAX_VOXELS).then(distance)
}

/// Returns the largest distance of a voxel of `a` from `b`.
fn directed(a: &Volume, b: &Volume, bounds: Bounds, scale: [f64; 3]) -> f64 {
    let extent = [bounds.extent(0), bounds.extent(1), bounds.extent(2)];
    let mut squares = vec![f64::INFINITY; extent[0] * extent[1] * extent[2]];
    let line = |slice: usize, column: u64| {
        ((slice - bounds.low[0]) * extent[1] + column as usize - bounds.low[1]) * extent[2]
    };
    for (slice, column, top, end) in b.columns() {
        let start = line(slice, column);
        squares[start + top as usize - bounds.low[2]..start + end as usize - bounds.low[2]]
            .fill(0.0);
    }
    for column in squares.chunks_exact_mut(extent[2]) {
        along_rows(column, scale[2]);
    }
    let mut transform = Transform::default();
    for slice in 0..extent[0] {
        for row in 0..extent[2] {
            let start = slice * extent[1] * extent[2] + row;
            transform.run(&mut squares, start, extent[2], extent[1], scale[1]);
        }
    }
    // The last axis is only needed where `a` has voxels.
    let mut wanted = vec![false; extent[1] * extent[2]];
    for (_, column, top, end) in a.columns() {
        let start = (column as usize - bounds.low[1]) * extent[2];
        wanted[start + top as usize - bounds.low[2]..start + end as usize - bounds.low[2]]
            .fill(true);
    }
    for (start, _) in wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
        transform.run(
            &mut squares,
            start,
            extent[1] * extent[2],
            extent[0],
            scale[0],
        );
    }
    let mut furthest: f64 = 0.0;
    for (slice, column, top, end) in a.columns() {
        let start = line(slice, column);
        let voxels =
            &squares[start + top as usize - bounds.low[2]..start + end as usize - bounds.low[2]];
        furthest = voxels
            .iter()
            .fold(furthest, |furthest, square| furthest.max(*square));
    }
    furthest.sqrt()
}

/// Computes the squared distances along one line of zeros and infinities.
fn along_rows(line: &mut [f64], scale: f64) {
    let mut since: Option<usize> = None;
    for square in line.iter_mut() {
        since = if *square == 0.0 {
            Some(0)
        } else {
            since.map(|since| since + 1)
        };
        if let Some(since) = since {
            *square = (since as f64 * scale).powi(2);
        }
    }
    let mut until: Option<usize> = None;
    for square in line.iter_mut().rev() {
        until = if *square == 0.0 {
            Some(0)
        } else {
            until.map(|until| until + 1)
        };
        if let Some(until) = until {
            *square = square.min((until as f64 * scale).powi(2));
        }
    }
}

/// The lower envelope of parabolas over one line, with reusable memory.
#[derive(Debug, Default)]
struct Transform {
    /// Position and height of each parabola of the envelope, and where it begins to be the lowest.
    envelope: Vec<(f64, f64, f64)>,
}

impl Transform {
    /// Replaces each of `count` squared distances, which are `step` apart from `start`, by the minimum over all of them
    /// plus the square of the distance to them.
    fn run(&mut self, squares: &mut [f64], start: usize, step: usize, count: usize, scale: f64) {
        self.envelope.clear();
        for (index, square) in squares
            .iter()
            .skip(start)
            .step_by(step)
            .take(count)
            .enumerate()
        {
            if square.is_infinite() {
                continue;
            }
            let place = index as f64 * scale;
            let mut begin = f64::NEG_INFINITY;
            while let Some(&(other, height, other_begin)) = self.envelope.last() {
                begin = (square + place * place - height - other * other) / (2.0 * (place - other));
                if begin > other_begin {
                    break;
                }
                self.envelope.pop();
                begin = f64::NEG_INFINITY;
            }
            self.envelope.push((place, *square, begin));
        }
        if self.envelope.is_empty() {
            return;
        }
        let mut current = 0;
        for (index, square) in squares
            .iter_mut()
            .skip(start)
            .step_by(step)
            .take(count)
            .enumerate()
        {
            let place = index as f64 * scale;
            while self
                .envelope
                .get(current + 1)
                .is_some_and(|next| next.2 < place)
            {
                current += 1;
            }
            if let Some((other, height, _)) = self.envelope.get(current) {
                *square = height + (place - other).powi(2);
            }
        }
    }
}
