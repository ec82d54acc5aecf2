//! Measures how well every fact predicts the answers, beyond the intended features and beyond chance. A fact is a value
//! that each item has in public, for example the length of its file.
//!
//! The baseline is a model of boosted trees, which learns the answers from the intended features. Each fact also predicts
//! the answer of each item, from the answers of other items with the same value or the nearest number. The gain of a fact
//! is the fraction of the remaining variance that the fact explains. The remaining variance is the variance that the
//! baseline leaves unexplained.
//!
//! A fact is reported if its gain is significant among all tests of the run, and large enough for the kind of the fact.
//! For example, the length of a file can predict a little without a leak, but the order of members in an archive cannot.
//!
//! Intended features are leaks only if they contain the answer itself (see [`super::exact`]).

use std::collections::{BTreeMap, HashSet};

use prep_failure::{QuotedValue, units};

use super::exact;
use crate::facts::{Channel, FactKey};
use crate::finding::{LeakFinding, LeakLevel};
use crate::model::{Folds, Gain, Prediction, Targets, by_nearest, by_value, gain, is_sorted};
use crate::statistics::{Tests, counts, purity, tail_of_binomial};
use crate::text::numbers_or_nan;
use crate::view::{MAX_MEASURABLE, View};
use crate::world::AnswerColumn;

/// A fact with values for fewer items than this is not measured. A single value that fewer items have is not examined.
const MIN_ITEMS: usize = 20;

/// A single value is not reported if it has fewer independent observations than this. If items belong to groups, each
/// group is an observation. Otherwise each item is an observation.
const MIN_OBSERVATIONS: usize = 8;

/// At most this number of facts is measured. Further facts are ignored.
const MAX_TESTED: usize = 1_500;

/// A fact and its values for the chosen items.
struct MeasuredFact<'a> {
    channel: Channel,
    name: &'a str,
    cells: Vec<Option<&'a str>>,
}

pub(crate) fn find(view: &View<'_>, tests: &mut Tests) -> Vec<LeakFinding> {
    let mut found = Vec::new();
    for (label, targets) in view.targets() {
        let baseline = view.baseline(label, targets);
        found.extend(find_for_label(view, label, targets, baseline, tests));
        let has_leak = found.iter().any(|one| one.level == LeakLevel::Leak);
        let masked = baseline.and_then(|one| masked(view, (label, targets), one, has_leak));
        found.extend(masked);
    }
    found
}

/// If the intended features explain a smaller fraction of the variance than this, no single feature explains nearly all.
const MIN_EXAMINED: f64 = 0.8;

/// If a single value explains at least this fraction of the variance of the answers, the value is a risk.
const MAX_SINGLE: f64 = 0.97;
/// Same as [`MAX_SINGLE`], for a feature of content.
const MAX_SINGLE_LOOK: f64 = 0.99;

/// Returns a note if the intended features nearly determine the answers, so that other facts add nothing. If a
/// single feature nearly determines the answers, and no leak was found, the finding is a risk instead of a note.
fn masked(
    view: &View<'_>,
    (label, targets): (&AnswerColumn, &Targets),
    baseline: &Prediction,
    has_leak: bool,
) -> Option<LeakFinding> {
    let skill = gain(targets, None, baseline).alone;
    if skill < MIN_EXAMINED {
        return None;
    }
    let facts = view.facts.all.iter();
    let facts = facts.filter(|((channel, _), values)| {
        channel.is_intended() && values.len() == targets.test.len()
    });
    let skills = facts.take(MAX_TESTED).map(|(key, values)| {
        // A text has no prediction from equal values, but the baseline learns from its words.
        let of_words = || {
            let model = view.predict_from(&|other| other == key, label, targets)?;
            Some(gain(targets, None, &model))
        };
        let best = best(key.0, &view.cells(values), targets, None).map(|best| best.gain);
        let alone = best.or_else(of_words).map_or(0.0, |gain| gain.alone);
        (alone, key)
    });
    let strongest = skills.max_by(|one, other| one.0.total_cmp(&other.0));
    // A picture or a sound may show the answer, but a value probably results from it.
    let limit = |key: &FactKey| match key.0 {
        Channel::Look => MAX_SINGLE_LOOK,
        _ => MAX_SINGLE,
    };
    let is_single = strongest.is_some_and(|(most, key)| most >= limit(key));
    if skill < MAX_MEASURABLE && !is_single {
        return None;
    }
    let alone = strongest.map(|(most, key)| format!(" ({} alone: {:.0} %)", key.1, 100.0 * most));
    // If answers are words, the task may be to rewrite the words of a column. The finding is then only a note.
    let level = LeakLevel::Risk.if_strong(is_single && label.numbers.is_some() && !has_leak);
    let what = format!(
        "the intended features already explain {:.0} % of the variance of `{}`{}, so most other facts could not be measured",
        100.0 * skill,
        label.name,
        alone.unwrap_or_default()
    );
    Some(LeakFinding::new(level, "masked", what))
}

fn find_for_label(
    view: &View<'_>,
    label: &AnswerColumn,
    targets: &Targets,
    baseline: Option<&Prediction>,
    tests: &mut Tests,
) -> Vec<LeakFinding> {
    let mut found: Vec<(f64, LeakFinding)> = Vec::new();
    let mut seen: HashSet<Vec<Option<&str>>> = HashSet::new();
    let facts = view.facts.all.iter();
    let facts = facts.filter(|(_, values)| values.len() >= MIN_ITEMS);
    for ((channel, name), values) in facts.take(MAX_TESTED) {
        let fact = MeasuredFact {
            channel: *channel,
            name,
            cells: view.cells(values),
        };
        if channel.is_intended() || !seen.insert(fact.cells.clone()) {
            continue;
        }
        if let Some(best) = best(*channel, &fact.cells, targets, baseline) {
            found.extend(fact.judge(&best, (label, targets), view, tests));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    let found = found.into_iter().map(|(_, finding)| finding);
    let exact = exact::find(view, (label, targets), tests);
    found.chain(exact).collect()
}

/// The prediction with the smallest p-value among all predictions from a fact.
pub(crate) struct BestPrediction {
    pub gain: Gain,
    /// Whether the prediction is from the nearest numbers, not from equal values.
    is_nearest: bool,
}

pub(crate) fn best(
    channel: Channel,
    cells: &[Option<&str>],
    targets: &Targets,
    baseline: Option<&Prediction>,
) -> Option<BestPrediction> {
    let present = cells.iter().flatten().count();
    let different: HashSet<&str> = cells.iter().flatten().copied().collect();
    let is_partial = present < cells.len();
    if different.len() < 2 && !is_partial || different.is_empty() {
        return None;
    }
    // Picture sizes are also features of the baseline, so they cannot explain more than the baseline. Therefore the
    // prediction from picture sizes is measured without the baseline.
    let base = baseline.filter(|_| channel != Channel::Pixels);
    let is_unique = different.len() * 2 > present;
    let of_values = (!is_unique).then(|| match different.len() {
        // A single value predicts nothing, but its presence may.
        1 => cells
            .iter()
            .map(|cell| cell.map(|_| vec![0.0; targets.width]))
            .collect(),
        _ => by_value(cells, targets),
    });
    let of_values = of_values.map(|prediction| (prediction, false));
    let numbers = numbers_or_nan(cells);
    let finite = numbers.iter().filter(|one| one.is_finite()).count();
    let has_numbers = different.len() >= 10 && finite * 10 >= present * 9;
    let of_numbers = has_numbers.then(|| (by_nearest(&numbers, targets), is_unique));
    let predictions = of_values.into_iter().chain(of_numbers);
    let measured = predictions.map(|(prediction, is_nearest)| BestPrediction {
        gain: gain(targets, base, &prediction),
        is_nearest,
    });
    measured.min_by(|one, other| one.gain.p.total_cmp(&other.gain.p))
}

/// Minimum gains of facts about the form of cells. They are larger than for other facts, because texts by the same author
/// often begin or quote in the same way, which is not a leak. Each entry contains the beginning of a fact's name and the gain.
const SIMILAR_FORMS: [(&str, f64); 6] = [
    ("the last punctuation mark", 0.25),
    ("how often", 0.2),
    ("the spelling", 0.15),
    ("the separators", 0.15),
    ("the quotation marks and dashes", 0.15),
    ("the first letter", 0.15),
];

/// Returns the minimum gain for a finding about a fact. For each channel, this minimum is larger than the gains in data
/// without a leak.
fn required_gain(channel: Channel, name: &str) -> f64 {
    let mut similar = SIMILAR_FORMS.iter();
    let similar = similar.find(|(start, _)| channel == Channel::Form && name.starts_with(start));
    match (channel, similar) {
        (_, Some((_, gain))) => *gain,
        (Channel::Missing, _) => 0.13,
        (Channel::Size | Channel::Pixels, _) => 0.2,
        // A code may have a meaning that participants should use, for example the first letter of an article number.
        (Channel::Code, _) => 0.4,
        (Channel::Name, _) => 0.12,
        _ => 0.1,
    }
}

impl MeasuredFact<'_> {
    /// Returns the gain and the finding if the gain is as large as the channel requires.
    fn judge(
        &self,
        best: &BestPrediction,
        (label, targets): (&AnswerColumn, &Targets),
        view: &View<'_>,
        tests: &mut Tests,
    ) -> Option<(f64, LeakFinding)> {
        let (gain, cells, name) = (&best.gain, &self.cells, self.name);
        let channel = self.channel;
        let answers: Vec<&str> = label.values.iter().collect();
        // If neighbouring items in the order of this fact have similar answers, but the answers are not sorted, the finding
        // is only a note: neighbours may belong to the same group.
        let is_adjacent =
            best.is_nearest && channel.is_arranged() && !is_sorted(&numbers_or_nan(cells), targets);
        let different: HashSet<&str> = cells.iter().flatten().copied().collect();
        let mut min_gain = required_gain(channel, name);
        // Unprocessed pictures have many sizes, so only a nearly perfect prediction is a finding. If there are only a few
        // sizes, someone chose them, so a smaller gain suffices.
        if channel == Channel::Pixels && different.len() > 24 {
            min_gain = 0.9;
        }
        // If the content is not decoded, the length is also an intended feature, so a larger gain is required.
        if channel == Channel::Size && !view.has_content_features {
            min_gain = 0.4;
        }
        let pure = match channel {
            Channel::Missing | Channel::Membership | Channel::Metadata | Channel::Name => {
                pure_value(cells, &answers, &targets.folds)
            }
            _ => None,
        };
        let p = tests.record(pure.as_ref().map_or(gain.p, |pure| pure.p.min(gain.p)));
        // The minimum gain as a fraction of the total variance.
        let min_absolute = if channel == Channel::Size { 0.15 } else { 0.05 };
        if (gain.beyond < min_gain || gain.absolute < min_absolute) && pure.is_none() {
            return None;
        }
        let level = match gain.alone >= 0.5 || pure.is_some() {
            _ if is_adjacent => LeakLevel::Note,
            true => LeakLevel::Leak,
            false => LeakLevel::Risk,
        };
        let counted = units::count(different.len() as u64, "different value");
        let what = match (&pure, number_right(cells, &answers)) {
            _ if is_adjacent => format!(
                "if items are sorted by {name}, neighbours have similar answers in `{}` ({:.0} % of the variance); this is not a leak if neighbours belong to groups that are entirely in the test part",
                label.name,
                100.0 * gain.alone
            ),
            (Some(pure), _) if gain.alone < 0.5 || channel == Channel::Missing => {
                pure.description(name, &label.name)
            }
            (_, Some(right)) => format!(
                "{name} ({counted}) determines `{}`: the answer follows from the value for {right} of {} items",
                label.name,
                cells.len()
            ),
            _ => {
                let beyond = match (gain.beyond - gain.alone).abs() > 0.01 {
                    true => format!(
                        " ({:.0} % of the variance that the intended features leave unexplained)",
                        100.0 * gain.beyond
                    ),
                    false => String::new(),
                };
                let percent = 100.0 * gain.alone.max(0.0);
                format!(
                    "{name} ({counted}) explains {percent:.0} % of the variance of `{}`{beyond}",
                    label.name
                )
            }
        };
        // A column that has a value only for items with one answer reveals this answer.
        let detector = match channel {
            Channel::Missing if pure.is_some() && name.starts_with("whether ") => "column",
            channel => channel.detector(),
        };
        let finding = LeakFinding::new(level, detector, what)
            .about(channel, name, &label.name)
            .evidence(view.examples(label, cells))
            .p_value(p);
        Some((gain.beyond, finding))
    }
}

/// A finding does not state that the values of a fact determine the answers if the fact has more different values than this.
const MAX_CODES: usize = 20;

/// Counts the items that have the most frequent answer among the items with the same value. Returns `None` if there are
/// more than [`MAX_CODES`] values, or if the count is less than 99 % of the items.
fn number_right(cells: &[Option<&str>], answers: &[&str]) -> Option<usize> {
    let different = cells.iter().collect::<HashSet<_>>().len();
    let fraction = purity(cells.iter().zip(answers));
    let is_code = different <= MAX_CODES && fraction >= 0.99;
    is_code.then_some((fraction * cells.len() as f64).round() as usize)
}

/// A value of a fact for which nearly all items have the same answer.
struct PureValue<'a> {
    value: Option<&'a str>,
    answer: &'a str,
    hits: usize,
    count: usize,
    /// The fraction of all items with this answer.
    base: f64,
    /// The p-value.
    p: f64,
}

impl PureValue<'_> {
    fn description(&self, name: &str, label: &str) -> String {
        let value = match (self.value, name.strip_prefix("whether ")) {
            (Some("there" | "named"), Some(what)) => what.to_owned(),
            (_, Some(what)) => what
                .replace(" has a value", " has no value")
                .replace(" contains ", " does not contain "),
            (Some(value), None) => format!("{name} is {}", QuotedValue(value)),
            (None, None) => format!("{name} is unknown"),
        };
        format!(
            "where {value}, `{label}` is {} for {} of {} items, and for {:.0} % of all items",
            self.answer,
            self.hits,
            self.count,
            100.0 * self.base
        )
    }
}

fn pure_value<'a>(
    cells: &[Option<&'a str>],
    answers: &[&'a str],
    folds: &Folds,
) -> Option<PureValue<'a>> {
    let count_of = |answer: &str| answers.iter().filter(|one| **one == answer).count();
    let mut by_value: BTreeMap<Option<&'a str>, Vec<usize>> = BTreeMap::new();
    for (item, cell) in cells.iter().enumerate() {
        by_value.entry(*cell).or_default().push(item);
    }
    let mut best: Option<PureValue<'_>> = None;
    for (value, own) in by_value {
        if own.len() < MIN_ITEMS || own.len() * 50 < cells.len() {
            continue;
        }
        let counts = counts(own.iter().filter_map(|item| answers.get(*item).copied()));
        let Some((answer, hits)) = counts.into_iter().max_by_key(|one| (one.1, one.0)) else {
            continue;
        };
        let base = count_of(answer) as f64 / answers.len().max(1) as f64;
        let fraction = hits as f64 / own.len() as f64;
        let seen = folds.observations(own.iter().copied());
        if fraction < 0.99 || base > 0.8 || seen < MIN_OBSERVATIONS {
            continue;
        }
        let p = tail_of_binomial(seen, (fraction * seen as f64) as usize, base);
        if best.as_ref().is_none_or(|best| p < best.p) {
            best = Some(PureValue {
                value,
                answer,
                hits,
                count: own.len(),
                base,
                p,
            });
        }
    }
    best
}
