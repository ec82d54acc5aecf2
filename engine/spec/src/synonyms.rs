//! Words of pandas, scikit-learn and SQL dialects, with the word of the language for each.

/// A foreign word in lower case, and the words that replace it. The first one that is known at a place is suggested.
const SYNONYMS: &[(&str, &[&str])] = &[
    // Keys.
    ("random_state", &["seed"]),
    ("rng", &["generator", "seed"]),
    ("frac", &["test_size"]),
    ("fraction", &["test_size"]),
    ("size", &["test_size"]),
    ("stratified", &["stratify"]),
    ("group", &["groups"]),
    ("by", &["within", "groups"]),
    ("sep", &["delimiter"]),
    ("usecols", &["columns"]),
    ("dtype", &["columns"]),
    ("dtypes", &["columns"]),
    ("schema", &["columns"]),
    ("glob", &["files"]),
    ("path", &["read", "files"]),
    ("file", &["read", "files"]),
    ("read_csv", &["read"]),
    ("csv", &["read"]),
    ("melt", &["unpivot"]),
    ("id_vars", &["columns"]),
    ("value_vars", &["columns"]),
    ("var_name", &["name"]),
    ("value_name", &["value"]),
    ("tests", &["checks"]),
    ("assertions", &["checks"]),
    ("grading", &["grade"]),
    ("title", &["name"]),
    ("test", &["private"]),
    ("outputs", &["public"]),
    // Methods of splits and generators.
    ("train_test_split", &["shuffle"]),
    ("random", &["shuffle", "python"]),
    ("stratifiedshufflesplit", &["shuffle"]),
    ("groupshufflesplit", &["shuffle"]),
    ("groupkfold", &["shuffle"]),
    ("kfold", &["shuffle"]),
    ("np", &["numpy"]),
    ("randomstate", &["numpy"]),
    ("default_rng", &["numpy_generator"]),
    // Types.
    ("str", &["text"]),
    ("string", &["text"]),
    ("object", &["text"]),
    ("varchar", &["text"]),
    ("category", &["text"]),
    ("int", &["integer"]),
    ("int32", &["integer"]),
    ("int64", &["integer"]),
    ("bigint", &["integer"]),
    ("float", &["number"]),
    ("float32", &["number"]),
    ("float64", &["number"]),
    ("double", &["number"]),
    ("real", &["number"]),
    ("bool", &["boolean"]),
    ("dict", &["json"]),
    ("list", &["json"]),
    ("auto", &["inferred"]),
    // Functions.
    ("len", &["length"]),
    ("strip", &["btrim"]),
    ("zfill", &["lpad"]),
    ("tolower", &["lower"]),
    ("toupper", &["upper"]),
    ("fillna", &["coalesce"]),
    ("ifnull", &["coalesce"]),
    ("contains", &["strpos"]),
    ("get_dummies", &["one_hot"]),
    ("mean", &["avg"]),
    ("std", &["stddev"]),
    ("first", &["first_value"]),
    ("last", &["last_value"]),
    ("factorize", &["first_seen"]),
    ("ngroup", &["first_seen"]),
    ("cumcount", &["row_number"]),
    ("json_extract", &["json_get"]),
];

/// Foreign functions in lower case, and the SQL that replaces them.
const CONSTRUCTS: &[(&str, &str)] = &[
    ("groupby", "GROUP BY column"),
    ("group_by", "GROUP BY column"),
    ("sort_values", "ORDER BY column"),
    ("merge", "FROM a JOIN b ON b.id = a.id"),
    ("join", "FROM a JOIN b ON b.id = a.id"),
    ("drop_duplicates", "SELECT DISTINCT column"),
    ("unique", "SELECT DISTINCT column"),
    ("nunique", "count(DISTINCT column)"),
    (
        "value_counts",
        "SELECT column, count(*) ... GROUP BY column",
    ),
    ("isin", "column IN list"),
    ("isna", "column IS NULL"),
    ("isnull", "column IS NULL"),
    ("notna", "column IS NOT NULL"),
    ("notnull", "column IS NOT NULL"),
    ("astype", "CAST(column AS BIGINT)"),
    ("int", "CAST(column AS BIGINT)"),
    ("float", "CAST(column AS DOUBLE)"),
    ("str", "CAST(column AS VARCHAR)"),
    ("where", "CASE WHEN condition THEN a ELSE b END"),
    ("if", "CASE WHEN condition THEN a ELSE b END"),
    ("iff", "CASE WHEN condition THEN a ELSE b END"),
    ("head", "LIMIT 5"),
    ("reset_index", "_row AS number"),
    ("rowid", "_row"),
];

/// Returns the candidate that means the same as a foreign word.
pub(crate) fn synonym<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let (_, ours) = SYNONYMS.iter().find(|(theirs, _)| *theirs == word)?;
    ours.iter().find_map(|our| {
        candidates
            .iter()
            .copied()
            .find(|candidate| candidate == our)
    })
}

/// Returns the SQL that replaces a function of pandas or of another dialect.
pub fn construct(function: &str) -> Option<&'static str> {
    let function = function.to_lowercase();
    let found = CONSTRUCTS.iter().find(|(theirs, _)| *theirs == function);
    found.map(|(_, ours)| *ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_words_have_a_meaning_where_it_is_known() {
        assert_eq!(synonym("random_state", &["seed", "order"]), Some("seed"));
        assert_eq!(synonym("Float64", &["text", "number"]), Some("number"));
        assert_eq!(synonym("roc_auc_score", &["accuracy"]), None);
        assert_eq!(synonym("melt", &["columns"]), None);
        assert_eq!(construct("groupby"), Some("GROUP BY column"));
        assert_eq!(construct("coalesce"), None);
    }

    #[test]
    fn words_occur_once() {
        let unique = |words: Vec<&str>| {
            let mut sorted = words.clone();
            sorted.sort_unstable();
            sorted.dedup();
            sorted.len() == words.len()
        };
        assert!(unique(SYNONYMS.iter().map(|(word, _)| *word).collect()));
        assert!(unique(CONSTRUCTS.iter().map(|(word, _)| *word).collect()));
    }
}
