//! Words of pandas, scikit-learn and SQL dialects, with the corresponding words of the pipeline language.

/// A foreign word in lower case, and the words that replace it. The first of them that is a candidate is suggested.
const SYNONYMS: &[(&str, &[&str])] = &[
    // Keys.
    ("random_state", &["seed"]),
    ("rng", &["generator", "seed"]),
    ("frac", &["test_size"]),
    ("fraction", &["test_size"]),
    ("size", &["test_size"]),
    ("stratified", &["stratify"]),
    ("group", &["groups"]),
    ("n", &["test_size"]),
    ("n_splits", &["test_size"]),
    ("shuffle", &["method"]),
    ("delim", &["delimiter"]),
    ("names", &["columns"]),
    ("parse_dates", &["columns"]),
    ("converters", &["columns"]),
    ("lines", &["format"]),
    ("orient", &["at", "format"]),
    ("engine", &["float_precision"]),
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
    ("test", &["test_size", "private"]),
    ("outputs", &["public"]),
    // Methods of splits and generators.
    ("train_test_split", &["shuffle"]),
    ("random", &["shuffle", "python", "uniform"]),
    ("stratifiedshufflesplit", &["shuffle"]),
    ("groupshufflesplit", &["shuffle"]),
    ("groupkfold", &["shuffle"]),
    ("stratifiedgroupkfold", &["shuffle"]),
    ("stratifiedkfold", &["shuffle"]),
    ("shufflesplit", &["shuffle"]),
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
    ("nanmean", &["avg"]),
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
    ("apply", "x * 2 AS y"),
    ("transform", "avg(x) OVER (PARTITION BY column)"),
    ("agg", "SELECT column, avg(x) AS x ... GROUP BY column"),
    (
        "aggregate",
        "SELECT column, avg(x) AS x ... GROUP BY column",
    ),
    ("pivot", "max(CASE WHEN column = 'a' THEN x END) AS a"),
    ("pivot_table", "avg(CASE WHEN column = 'a' THEN x END) AS a"),
    ("explode", "unnest(list)"),
    ("cut", "CASE WHEN x < 10 THEN 'low' ELSE 'high' END"),
    ("qcut", "ntile(4) OVER (ORDER BY x, _row)"),
    ("clip", "greatest(0, least(x, 1))"),
    ("to_datetime", "CAST(column AS TIMESTAMP)"),
    ("to_date", "CAST(column AS DATE)"),
    ("to_numeric", "CAST(column AS DOUBLE)"),
    ("to_number", "CAST(column AS DOUBLE)"),
    ("strftime", "CAST(column AS VARCHAR)"),
    ("format", "printf('%03d', column)"),
    ("year", "split_part(column, '-', 1)"),
    ("month", "split_part(column, '-', 2)"),
    ("str_contains", "contains(column, 'text')"),
    ("split", "split_part(column, ',', 1)"),
    ("size", "count(*)"),
    ("count_distinct", "count(DISTINCT column)"),
    ("group_concat", "string_agg(column, ',' ORDER BY _row)"),
    ("listagg", "string_agg(column, ',' ORDER BY _row)"),
    ("shift", "lag(x) OVER (ORDER BY _row)"),
    ("diff", "x - lag(x) OVER (ORDER BY _row)"),
    ("cumsum", "sum(x) OVER (ORDER BY _row)"),
    ("argmax", "first_value(id ORDER BY x DESC, _row)"),
    ("idxmax", "first_value(id ORDER BY x DESC, _row)"),
    ("argmin", "first_value(id ORDER BY x, _row)"),
    ("idxmin", "first_value(id ORDER BY x, _row)"),
    ("iloc", "WHERE _row = 0"),
    ("loc", "WHERE condition"),
    ("query", "WHERE condition"),
    ("filter", "WHERE condition"),
    ("dropna", "WHERE column IS NOT NULL"),
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

/// Foreign functions in lower case that are tables here, each with an example.
const TABLES: &[(&str, &str)] = &[
    ("read_csv", "{ read: train.csv }"),
    ("read_json", "{ read: train.json }"),
    ("read_parquet", "{ read: train.parquet }"),
    ("glob", "{ files: train/*.jpg }"),
    (
        "train_test_split",
        "{ split: labelled, method: shuffle, test_size: 0.1, seed: 0 }",
    ),
    (
        "sample",
        "{ split: labelled, method: sample, test_size: 0.1, seed: 0 }",
    ),
    (
        "permutation",
        "{ permute: labelled, generator: numpy, seed: 0 }",
    ),
    (
        "shuffle",
        "{ permute: labelled, generator: python, seed: 0 }",
    ),
    (
        "choice",
        "{ draws: labelled, generator: numpy, seed: 0, values: [{ item: choice, of: 3 }] }",
    ),
    (
        "randint",
        "{ draws: labelled, generator: numpy, seed: 0, values: [{ number: integers, high: 10 }] }",
    ),
    (
        "melt",
        "{ unpivot: labelled, columns: [a, b], name: name, value: value }",
    ),
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

/// Returns help for a function of pandas or of another dialect: the SQL or the table that replaces it.
pub fn construct(function: &str) -> Option<String> {
    let function = function.to_lowercase();
    let find = |words: &[(&str, &'static str)]| {
        let found = words.iter().find(|(theirs, _)| *theirs == function);
        found.map(|(_, ours)| *ours)
    };
    let sql = find(CONSTRUCTS).map(|sql| format!("in SQL it is `{sql}`"));
    sql.or_else(|| find(TABLES).map(|table| format!("it is a table of the pipeline: `{table}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_synonym_is_suggested_only_if_it_is_a_candidate() {
        assert_eq!(synonym("random_state", &["seed", "order"]), Some("seed"));
        assert_eq!(synonym("Float64", &["text", "number"]), Some("number"));
        assert_eq!(synonym("roc_auc_score", &["accuracy"]), None);
        assert_eq!(synonym("melt", &["columns"]), None);
        assert_eq!(
            synonym("n_splits", &["split", "test_size"]),
            Some("test_size")
        );
        let help = |word: &str| construct(word).unwrap_or_default();
        assert_eq!(help("groupby"), "in SQL it is `GROUP BY column`");
        assert!(help("train_test_split").contains("{ split: labelled, method: shuffle,"));
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
        let functions = CONSTRUCTS.iter().chain(TABLES);
        assert!(unique(functions.map(|(word, _)| *word).collect()));
    }
}
