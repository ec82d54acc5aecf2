//! Suggestions for misspelled names.

use crate::edit_distance::edit_distance;

/// Returns the candidate with the most similar spelling, if one is similar enough.
pub fn closest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let wanted = normal(name);
    let synonym = SYNONYMS.iter().find(|(theirs, _)| *theirs == wanted);
    if let Some((_, ours)) = synonym
        && let Some(known) = candidates.iter().find(|candidate| *candidate == ours)
    {
        return Some(known);
    }
    let limit = wanted.chars().count() / 3 + 1;
    candidates
        .iter()
        .map(|candidate| (edit_distance(&wanted, &normal(candidate)), *candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Pairs of a foreign name, without `_`, and its name in this crate: metrics in scikit-learn or on Kaggle, and methods of
/// pandas that a rule replaces.
const SYNONYMS: &[(&str, &str)] = &[
    ("auc", "roc_auc"),
    ("aucroc", "roc_auc"),
    ("auroc", "roc_auc"),
    ("rocaucscore", "roc_auc"),
    ("accuracyscore", "accuracy"),
    ("f1score", "f1"),
    ("fbetascore", "f1"),
    ("macrof1", "f1"),
    ("microf1", "f1"),
    ("crossentropy", "log_loss"),
    ("bce", "log_loss"),
    ("nll", "log_loss"),
    ("rmse", "root_mean_squared_error"),
    ("mse", "root_mean_squared_error"),
    ("meansquarederror", "root_mean_squared_error"),
    ("mcrmse", "root_mean_squared_error"),
    ("meancolumnwisermse", "root_mean_squared_error"),
    (
        "meancolumnwiserootmeansquarederror",
        "root_mean_squared_error",
    ),
    ("rmsle", "root_mean_squared_log_error"),
    ("meansquaredlogerror", "root_mean_squared_log_error"),
    ("mae", "mean_absolute_error"),
    ("cohenkappascore", "cohen_kappa"),
    ("quadraticweightedkappa", "cohen_kappa"),
    ("kappa", "cohen_kappa"),
    ("qwk", "cohen_kappa"),
    ("mcc", "matthews_corrcoef"),
    ("spearmanr", "spearman"),
    ("pearsonr", "pearson"),
    ("kendalltau", "kendall_tau"),
    ("mapk", "average_precision_at_k"),
    ("map@k", "average_precision_at_k"),
    ("map@3", "average_precision_at_k"),
    ("map@5", "average_precision_at_k"),
    ("map@12", "average_precision_at_k"),
    (
        "labelrankingaverageprecisionscore",
        "label_ranking_average_precision",
    ),
    ("lwlrap", "label_ranking_average_precision"),
    ("meanaverageprecision", "average_precision_of_boxes"),
    ("map", "average_precision_at_k"),
    ("levenshtein", "mean_edit_distance"),
    ("editdistance", "mean_edit_distance"),
    ("jaccard", "jaccard_of_words"),
    ("jaccardscore", "jaccard_of_words"),
    ("dice", "f_beta_of_masks"),
    ("dicecoefficient", "f_beta_of_masks"),
    ("dicescore", "f_beta_of_masks"),
    ("iou", "iou_precision_of_masks"),
    ("hausdorff", "hausdorff_of_volumes"),
    ("wer", "token_error_rate"),
    ("worderrorrate", "token_error_rate"),
    ("cer", "mean_edit_distance"),
    ("exactmatchscore", "exact_match"),
    ("kldiv", "kl_divergence"),
    ("haversine", "haversine_distance"),
    ("fillna", "fill_missing"),
    ("dropna", "drop_missing"),
    ("notnull", "drop_missing"),
    ("merge", "join"),
    ("clip", "range"),
    ("between", "range"),
    ("sort", "align"),
    ("sortvalues", "align"),
    ("samelength", "same_rows"),
    ("probabilities", "rows_sum_to"),
    ("isin", "same_ids"),
    ("tonumeric", "numeric"),
    ("astype", "numeric"),
];

/// Removes differences in case, spaces and underscores, which are the most frequent mistakes.
fn normal(name: &str) -> String {
    name.trim()
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::closest;

    #[test]
    fn metrics_of_scikit_learn_have_names_here() {
        let known = ["accuracy", "roc_auc", "log_loss", "root_mean_squared_error"];
        assert_eq!(closest("roc_auc_score", &known), Some("roc_auc"));
        assert_eq!(closest("RMSE", &known), Some("root_mean_squared_error"));
        assert_eq!(closest("logloss", &known), Some("log_loss"));
        let rules = ["fill_missing", "range", "align"];
        assert_eq!(closest("fillna", &rules), Some("fill_missing"));
        assert_eq!(closest("nothing like it", &known), None);
    }
}
