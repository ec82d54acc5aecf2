//! Upright three-dimensional boxes, rotated about the z axis, and their overlap.

use crate::python::{max, min};

type Point = (f64, f64);

/// A box.
#[derive(Debug)]
pub struct Box3d {
    /// Corners of the base, counterclockwise for positive sizes.
    corners: [Point; 4],
    bottom: f64,
    top: f64,
    volume: f64,
}

impl Box3d {
    /// Creates a box from its centre, width (across its heading), length (along it) and height.
    ///
    /// # Errors
    /// Returns a description of valid boxes if the box is invalid.
    pub fn new(centre: [f64; 3], size: [f64; 3], yaw: f64) -> Result<Self, &'static str> {
        if centre.iter().chain(&size).any(|value| value.is_nan()) || yaw.is_nan() {
            return Err("boxes without missing numbers");
        }
        if size.iter().any(|extent| *extent <= 0.0) {
            return Err("boxes with a size above 0 along each axis");
        }
        let ([x, y, z], [width, length, height]) = (centre, size);
        let (sine, cosine) = rotation(yaw);
        let (lx, ly) = (length / 2.0 * cosine, length / 2.0 * sine);
        let (wx, wy) = (width / 2.0 * sine, width / 2.0 * cosine);
        let corners = [
            (x + lx + wx, y + ly - wy),
            (x + lx - wx, y + ly + wy),
            (x - lx - wx, y - ly + wy),
            (x - lx + wx, y - ly - wy),
        ];
        let [a, b, c, d] = corners;
        let square = [(a, b, d), (b, a, c), (c, b, d), (d, a, c)];
        if !square
            .into_iter()
            .all(|(at, left, right)| is_right_angle(at, left, right))
        {
            return Err("boxes whose corners are right angles with a tolerance of 1e-8");
        }
        Ok(Box3d {
            corners,
            bottom: z - height / 2.0,
            top: z + height / 2.0,
            volume: width * length * height,
        })
    }
}

/// Returns sine and cosine, computed through the unit quaternion of the rotation.
fn rotation(yaw: f64) -> (f64, f64) {
    let (i, w) = (yaw / 2.0).sin_cos();
    (i * w + w * i, w * w - i * i)
}

fn is_right_angle(at: Point, left: Point, right: Point) -> bool {
    let product = (left.0 - at.0) * (right.0 - at.0) + (left.1 - at.1) * (right.1 - at.1);
    product.abs() <= 1e-8
}

/// Intersection over union, from 0 to 1.
pub fn iou(predicted: &Box3d, truth: &Box3d) -> f64 {
    let low = max(truth.bottom, predicted.bottom);
    let high = min(truth.top, predicted.top);
    let both = max(0.0, high - low) * area(&intersection(&predicted.corners, &truth.corners));
    let union = predicted.volume + truth.volume - both;
    let iou = both / union;
    if iou.is_nan() {
        iou
    } else {
        iou.clamp(0.0, 1.0)
    }
}

/// Returns the intersection of two convex polygons: cuts `subject` along each side of `clip`. Corners that are not cut
/// off keep their exact coordinates.
fn intersection(subject: &[Point], clip: &[Point]) -> Vec<Point> {
    let mut ring = subject.to_vec();
    for (start, end) in sides(clip) {
        let height = |point: Point| {
            (end.0 - start.0) * (point.1 - start.1) - (end.1 - start.1) * (point.0 - start.0)
        };
        let mut cut = Vec::with_capacity(ring.len() + 1);
        for (from, to) in sides(&ring) {
            let (before, after) = (height(from), height(to));
            if before >= 0.0 {
                cut.push(from);
            }
            if (before > 0.0 && after < 0.0) || (before < 0.0 && after > 0.0) {
                let part = before / (before - after);
                cut.push((
                    from.0 + (to.0 - from.0) * part,
                    from.1 + (to.1 - from.1) * part,
                ));
            }
        }
        ring = cut;
    }
    ring
}

/// Returns the sides of a polygon, each as a pair of consecutive corners.
fn sides(ring: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    let next = ring.iter().cycle().skip(1);
    ring.iter().copied().zip(next.copied())
}

/// Returns the area of a polygon. Sums up the terms in the order of GEOS: clockwise from the first corner, with x
/// relative to that corner.
fn area(ring: &[Point]) -> f64 {
    let Some((first, others)) = ring.split_first() else {
        return 0.0;
    };
    let clockwise: Vec<Point> = [*first]
        .into_iter()
        .chain(others.iter().rev().copied())
        .chain([*first])
        .collect();
    let sum: f64 = clockwise
        .windows(3)
        .map(|corners| match corners {
            [before, at, after] => (at.0 - first.0) * (before.1 - after.1),
            _ => 0.0,
        })
        .sum();
    (sum / 2.0).abs()
}
