//! Matches boxes of one label at one IoU threshold, and computes the average precision, like COCO (`evaluateImg` and
//! `accumulate` of `COCOeval`).

use std::cmp::Ordering;

#[derive(Debug, Clone)]
pub struct CocoBox {
    /// Identifying number of the box. COCO records a match as the number of the matched box, and 0 means no match.
    pub number: u64,
    /// x, y, width, height.
    pub sides: [f64; 4],
    pub area: f64,
    /// 0 for a true box.
    pub confidence: f64,
}

impl CocoBox {
    /// Returns whether the area is outside of the valid range.
    fn is_ignored(&self) -> bool {
        self.area < 0.0 || self.area > 1e10
    }
}

/// The boxes of one label in one image.
#[derive(Debug, Clone, Default)]
pub struct Image {
    pub truth: Vec<CocoBox>,
    pub predicted: Vec<CocoBox>,
}

impl Image {
    /// Adds a predicted box. Matching uses only the `max_detections` boxes with the largest confidence. If the image
    /// has many more boxes, drops the boxes that matching does not use.
    pub fn predict(&mut self, one: CocoBox, max_detections: usize) {
        self.predicted.push(one);
        if self.predicted.len() > 2 * max_detections + SPARE_BOXES {
            self.predicted
                .sort_by(|a, b| compare_descending(a.confidence, b.confidence));
            self.predicted.truncate(max_detections);
        }
    }
}

/// An image keeps this number of boxes in addition to twice `max_detections`. If it has more, boxes are sorted and
/// dropped. A larger number makes such sorts rarer.
const SPARE_BOXES: usize = 32;

/// A predicted box after it was matched with true boxes. If `ignored` is true, the box is neither a hit nor a miss.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    confidence: f64,
    hit: bool,
    ignored: bool,
}

/// Returns the interpolated precision at the recalls 0, 0.01, ..., 1, or nothing if there are no true boxes.
pub fn average_precision(images: &[Image], threshold: f64, max_detections: usize) -> Vec<f64> {
    let truth = images.iter().flat_map(|image| &image.truth);
    let positives = truth.filter(|truth| !truth.is_ignored()).count();
    if positives == 0 {
        return Vec::new();
    }
    let mut outcomes: Vec<Outcome> = images
        .iter()
        .flat_map(|image| matches(image, threshold, max_detections))
        .collect();
    outcomes.sort_by(|a, b| compare_descending(a.confidence, b.confidence));
    let (mut hits, mut misses) = (0.0, 0.0);
    let mut points: Vec<(f64, f64)> = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        match (outcome.ignored, outcome.hit) {
            (true, _) => {}
            (false, true) => hits += 1.0,
            (false, false) => misses += 1.0,
        }
        points.push((
            hits / positives as f64,
            hits / (misses + hits + f64::EPSILON),
        ));
    }
    interpolate(&mut points);
    let at = |step: u32| {
        let recall = f64::from(step) * 0.01;
        let first = points.partition_point(|point| point.0 < recall);
        points.get(first).map_or(0.0, |point| point.1)
    };
    (0..=100).map(at).collect()
}

/// Replaces the precision of each point (recall, precision) with the maximum precision of this point and all later points.
/// Points must be sorted by recall.
pub fn interpolate(points: &mut [(f64, f64)]) {
    let mut highest: f64 = 0.0;
    for point in points.iter_mut().rev() {
        highest = highest.max(point.1);
        point.1 = highest;
    }
}

/// Orders by decreasing value, with NaN last.
fn compare_descending(a: f64, b: f64) -> Ordering {
    b.partial_cmp(&a)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn matches(image: &Image, threshold: f64, max_detections: usize) -> Vec<Outcome> {
    let mut truth: Vec<&CocoBox> = image.truth.iter().collect();
    truth.sort_by_key(|truth| truth.is_ignored());
    let mut taken = vec![false; truth.len()];
    let mut predicted: Vec<&CocoBox> = image.predicted.iter().collect();
    predicted.sort_by(|a, b| compare_descending(a.confidence, b.confidence));
    predicted.truncate(max_detections);
    // As in COCO's code, the minimum IoU of a match is never above 1 - 1e-10.
    let least = threshold.min(1.0 - 1e-10);
    let mut outcomes = Vec::with_capacity(predicted.len());
    for one in predicted {
        let mut best: Option<(usize, &CocoBox)> = None;
        let mut largest = least;
        for (index, candidate) in truth.iter().enumerate() {
            if taken.get(index) == Some(&true) {
                continue;
            }
            // Ignored true boxes come last. A box is matched with one of them only if it has no other match.
            let has_match = best.is_some_and(|(_, best)| !best.is_ignored());
            if has_match && candidate.is_ignored() {
                break;
            }
            let iou = overlap(one.sides, candidate.sides);
            // A candidate whose overlap is NaN is not skipped, because comparisons with NaN are false.
            if iou < largest {
                continue;
            }
            largest = iou;
            best = Some((index, candidate));
        }
        if let Some(taken) = best.and_then(|(index, _)| taken.get_mut(index)) {
            // The number 0 means no match, so the true box remains unmatched.
            *taken = one.number > 0;
        }
        let hit = best.is_some_and(|(_, best)| best.number > 0);
        let ignored = best.is_some_and(|(_, best)| best.is_ignored());
        outcomes.push(Outcome {
            confidence: one.confidence,
            hit,
            ignored: ignored || (!hit && one.is_ignored()),
        });
    }
    outcomes
}

/// Returns the intersection over union (IoU). As in COCO, the minimum or maximum of a number and NaN is the number.
fn overlap(a: [f64; 4], b: [f64; 4]) -> f64 {
    let ([ax, ay, aw, ah], [bx, by, bw, bh]) = (a, b);
    let width = (aw + ax).min(bw + bx) - ax.max(bx);
    if width <= 0.0 {
        return 0.0;
    }
    let height = (ah + ay).min(bh + by) - ay.max(by);
    if height <= 0.0 {
        return 0.0;
    }
    let both = width * height;
    both / (aw * ah + bw * bh - both)
}
