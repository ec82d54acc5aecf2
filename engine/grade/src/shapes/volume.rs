//! Volumes, which are stacks of masks, and the Hausdorff distance between two volumes.
//!
//! Distances are computed with the distance transform of Felzenszwalb and Huttenlocher (2012), one axis at a time. The time
//! is proportional to the size of the bounding box of both volumes.

use super::mask::MaskSize;
use crate::shapes::mask::Mask;

/// Maximum number of voxels in the bounding box of two volumes. These voxels take 256 MB. The largest box in real data
/// has half as many voxels. Without a limit, a submission could put all its rows into one huge volume.
pub const MAX_VOXELS: usize = 1 << 25;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    pub size: MaskSize,
    pub slices: Vec<Mask>,
}

impl Volume {
    pub fn voxels(&self) -> u64 {
        self.slices.iter().map(Mask::area).sum()
    }

    /// Returns the runs of voxels in each column of each slice. A run consists of its slice, its column, its first row, and
    /// the row after its last row.
    ///
    /// Masks are encoded column by column, so one run of a mask may extend over several columns.
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

/// A bounding box: the first index and the index after the last, along slices, columns and rows.
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

    fn extents(&self) -> [usize; 3] {
        [0, 1, 2].map(|axis| self.high[axis].saturating_sub(self.low[axis]))
    }
}

/// Returns the larger of both directed Hausdorff distances between two volumes, which must not be empty. Returns `None`
/// if the bounding box is larger than [`MAX_VOXELS`].
///
/// Coordinates are divided by the number of slices, the width and the height of the volume `unit`.
pub fn hausdorff(a: &Volume, b: &Volume, unit: &Volume) -> Option<f64> {
    let scale = [
        1.0 / unit.slices.len() as f64,
        1.0 / unit.size.width as f64,
        1.0 / unit.size.height as f64,
    ];
    let bounds = Bounds::enclosing([a, b]);
    let voxels = bounds
        .extents()
        .iter()
        .fold(1, |voxels: usize, extent| voxels.saturating_mul(*extent));
    let distance = || directed(a, b, bounds, scale).max(directed(b, a, bounds, scale));
    (voxels <= MAX_VOXELS).then(distance)
}

/// Returns the largest distance between a voxel of `a` and its nearest voxel of `b`.
fn directed(a: &Volume, b: &Volume, bounds: Bounds, scale: [f64; 3]) -> f64 {
    let extent = bounds.extents();
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
    // The last pass runs across the slices. In this pass, only lines with voxels of `a` need distances.
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

/// Replaces each value of a line with the squared distance to the nearest zero. Each value must be zero or infinite.
fn along_rows(line: &mut [f64], scale: f64) {
    sweep(line.iter_mut(), scale);
    sweep(line.iter_mut().rev(), scale);
}

/// Lowers each value to the squared distance to the last zero before it.
fn sweep<'a>(line: impl Iterator<Item = &'a mut f64>, scale: f64) {
    let mut since: Option<usize> = None;
    for square in line {
        since = match *square == 0.0 {
            true => Some(0),
            false => since.map(|since| since + 1),
        };
        if let Some(since) = since {
            *square = square.min((since as f64 * scale).powi(2));
        }
    }
}

/// Computes the lower envelope of parabolas over one line. Its memory is reused for the next line.
#[derive(Debug, Default)]
struct Transform {
    /// The parabolas of the envelope, from left to right. Each tuple contains the position and the height of the vertex, and
    /// the position from which the parabola is the lowest.
    envelope: Vec<(f64, f64, f64)>,
}

impl Transform {
    /// Transforms one line of `squares`: the `count` elements with the indexes `start`, `start + step`, and so on.
    ///
    /// Each element becomes a minimum over all elements `x` of the line: the value of `x` plus the squared distance to `x`.
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
