//! The facts that a signed report proves: its grader, the data and rules of the grading, and the number of gradings.

use prep_digests::{LockedDataset, Lockfile};
use prep_grade::report::{JsonObject, JsonValue, LogPlace};
use prep_remote::TrustedSigner;
use prep_spec::known_variants;
use prep_trust::{ReadLog, competition_of};
use serde::Serialize;

use crate::catalog::Catalog;
use crate::digests;
use crate::grading::comparable::{MARKS, OWN_VARIANT};
use crate::settings::Settings;

/// The facts that reports are compared with.
pub struct Expectations<'a> {
    pub catalog: &'a Catalog,
    pub settings: &'a Settings,
    /// Published digests. Without them, reports are compared with the catalog and with the prepared data.
    pub lock: Option<&'a Lockfile>,
    /// The log that the reports belong to.
    pub log: Option<&'a ReadLog>,
    /// The keys of graders that the user trusts.
    pub trusted: &'a [TrustedSigner],
}

/// The facts that one report proves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    #[serde(rename = "id")]
    pub competition: String,
    pub variant: String,
    /// `None` if the submission is invalid.
    pub score: Option<f64>,
    pub medal: Option<&'static str>,
    /// The public key of the grader. `None` if the signature is not valid, or the key is not trusted.
    pub signed_by: Option<String>,
    pub not_comparable_because: Vec<String>,
    /// The digest of the submission.
    pub submission: Option<String>,
    pub program: Option<String>,
    /// Names of the digests that are as expected.
    pub confirmed: Vec<&'static str>,
    /// Names of the digests that the report does not contain, or for which no expected digest is known.
    pub not_compared: Vec<&'static str>,
    /// Id of the log. `None` if the grading was not logged.
    pub log: Option<String>,
    /// Number of gradings of this competition in the log, up to this one.
    pub looks: Option<u64>,
    /// Contradictions. If there are any, the report proves nothing.
    pub problems: Vec<String>,
}

/// The digests that determine a score.
const COMPARED: [&str; 4] = ["public", "answers", "rules", "leaderboard"];

impl Expectations<'_> {
    /// Verifies a report, and returns the facts that it proves.
    pub fn claim(&self, report: &JsonObject) -> Claim {
        let text = |key| report.get(key).and_then(JsonValue::as_str);
        let competition = competition_of(report).unwrap_or_default().to_owned();
        let flag = |key: &str| report.get(key) == Some(&JsonValue::Bool(true));
        let digests = report.get("digests");
        let digest = |name| digests.and_then(|all| all.get(name)?.as_str());
        let place = report.get("log").and_then(LogPlace::from_json);
        let mut claim = Claim {
            variant: text("variant").unwrap_or_default().to_owned(),
            score: match report.get("score") {
                Some(JsonValue::Float(score)) => Some(*score),
                Some(JsonValue::Int(score)) => Some(*score as f64),
                _ => None,
            },
            medal: ["gold", "silver", "bronze"]
                .into_iter()
                .find(|medal| flag(&format!("{medal}_medal"))),
            signed_by: None,
            not_comparable_because: not_comparable(report),
            submission: digest("submission").map(str::to_owned),
            program: text("program").map(str::to_owned),
            confirmed: Vec::new(),
            not_compared: Vec::new(),
            looks: place.as_ref().map(|place| place.earlier + 1),
            log: place.as_ref().map(|place| place.id.clone()),
            problems: Vec::new(),
            competition,
        };
        match prep_trust::verify(report, &claim.competition, self.trusted) {
            Ok(signer) => claim.signed_by = Some(signer.to_string()),
            Err(error) => claim.problems.push(error.to_string()),
        }
        let expected = self.expected(&claim.competition, &claim.variant, digest("answers"));
        for name in COMPARED {
            claim.compare(name, digest(name), expected.as_ref());
        }
        let confirmed = self.log.map(|log| match &place {
            Some(place) => log.confirm(place, &claim.competition),
            None => Err("the report was not logged, so the log does not contain it".to_owned()),
        });
        claim.problems.extend(confirmed.and_then(Result::err));
        claim
    }

    /// Verifies the signature of a list of reports. Returns the problem, for example that an entry was left out.
    ///
    /// Returns `None` if the signature is valid. Also returns `None` for the output of `prep grade --json`, because its
    /// entries are verified one by one.
    pub fn problem_of_list(&self, document: &JsonValue) -> Option<String> {
        let list = document.as_object()?;
        list.get("competition_reports")?;
        if list.get("signature").is_none() {
            return Some(
                "the list of reports is not signed, so reports may have been left out, and its totals prove nothing"
                    .to_owned(),
            );
        }
        let entries = prep_trust::reports_of(document)?;
        let ids = entries.into_iter().filter_map(competition_of);
        let results = ids.map(|id| prep_trust::verify(list, id, self.trusted).err());
        let error = results.flatten().next()?;
        Some(format!("the list of reports: {error}"))
    }

    /// Returns the digests that a report must have if its variant is `name`.
    ///
    /// A report on a custom pipeline has the name `own`, which does not show the variant. In this case, searches the known
    /// variants for answers with the digest `answers`. If no variant has such answers, uses the first known variant.
    fn expected(&self, id: &str, name: &str, answers: Option<&str>) -> Option<LockedDataset> {
        let variants: Vec<&str> = match name {
            OWN_VARIANT => known_variants().collect(),
            name => vec![
                MARKS
                    .iter()
                    .find_map(|mark| name.strip_suffix(mark))
                    .unwrap_or(name),
            ],
        };
        let found = variants
            .into_iter()
            .filter_map(|variant| self.digests(id, variant));
        let found: Vec<LockedDataset> = found.collect();
        let is_same = |one: &&LockedDataset| one.digest("answers") == answers;
        found.iter().find(is_same).or(found.first()).cloned()
    }

    /// Returns the digests of a variant in the lockfile. Without a lockfile, computes them from the prepared data.
    ///
    /// If the variant is not prepared, returns only the digests of its leaderboard and rules.
    fn digests(&self, id: &str, variant: &str) -> Option<LockedDataset> {
        if let Some(lock) = self.lock {
            return lock.find(id, variant);
        }
        let entry = self.catalog.find(id)?;
        let settings = self.settings.of_variant(variant);
        match digests::facts(self.catalog, &settings, id) {
            Ok((facts, _)) if facts.variant == variant => Some(facts.to_lock_entry()),
            _ => {
                let rules = digests::rules(&entry.load(variant).ok()?);
                Some(LockedDataset::new(digests::leaderboard(entry), rules))
            }
        }
    }
}

fn not_comparable(report: &JsonObject) -> Vec<String> {
    let list = report.get("not_comparable_because");
    let list = list.and_then(JsonValue::as_list).unwrap_or_default();
    let texts = list.iter().filter_map(JsonValue::as_str);
    let mut texts: Vec<String> = texts.map(str::to_owned).collect();
    let is_comparable = report.get("comparable_with_v1") == Some(&JsonValue::Bool(true));
    if texts.is_empty() && !is_comparable {
        texts.push("the report does not state that its score is comparable".to_owned());
    }
    texts
}

impl Claim {
    fn compare(
        &mut self,
        name: &'static str,
        found: Option<&str>,
        expected: Option<&LockedDataset>,
    ) {
        match (found, expected.and_then(|expected| expected.digest(name))) {
            (Some(found), Some(expected)) if found == expected => self.confirmed.push(name),
            (Some(found), Some(expected)) => self.problems.push(format!(
                "{name}: graded with {}, expected {}",
                short(found),
                short(expected)
            )),
            (_, None) | (None, _) => self.not_compared.push(name),
        }
    }

    /// Returns whether nothing contradicts the report.
    pub fn holds(&self) -> bool {
        self.problems.is_empty()
    }

    /// Returns the claim in one line.
    pub fn text(&self) -> String {
        if !self.holds() {
            return format!(
                "{}: proves nothing: {}",
                self.competition,
                self.problems.join("; ")
            );
        }
        let mut parts = vec![match (self.score, self.medal) {
            (None, _) => "invalid submission".to_owned(),
            (Some(score), medal) => format!("score {score}, {}", medal.unwrap_or("no medal")),
        }];
        parts.push(match self.not_comparable_because.as_slice() {
            [] => format!("{}, comparable with MLE-bench", self.variant),
            reasons => format!(
                "{}, not comparable with MLE-bench ({})",
                self.variant,
                reasons.join("; ")
            ),
        });
        if !self.confirmed.is_empty() {
            parts.push(format!("{} as expected", self.confirmed.join(", ")));
        }
        if !self.not_compared.is_empty() {
            parts.push(format!("{} not compared", self.not_compared.join(", ")));
        }
        parts.push(match (&self.log, self.looks) {
            (Some(log), Some(looks)) => {
                format!("grading number {looks} of this competition in log {log}")
            }
            _ => "not logged, so the number of gradings is unknown".to_owned(),
        });
        if let Some(signer) = &self.signed_by {
            parts.push(format!("signed by {signer}"));
        }
        format!("{}: {}", self.competition, parts.join("; "))
    }
}

/// Parses a file with reports, as Python's `json` does.
///
/// # Errors
/// Returns a message if the text is not JSON, or if a key occurs twice in an object.
pub fn parse_report(text: &[u8]) -> Result<JsonValue, String> {
    prep_formats::json::parse_unique(text).map_err(|error| prep_core::chain(&error))
}

fn short(digest: &str) -> String {
    digest.chars().take("sha256:".len() + 12).collect()
}
