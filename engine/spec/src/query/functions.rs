//! Names of functions.

/// Other names of functions, with the name under which the engine knows the function.
const ALIASES: &[(&str, &str)] = &[
    ("array_cat", "array_concat"),
    ("array_contains", "array_has"),
    ("array_empty", "empty"),
    ("array_extract", "array_element"),
    ("array_indexof", "array_position"),
    ("array_join", "array_to_string"),
    ("array_push_back", "array_append"),
    ("array_push_front", "array_prepend"),
    ("arrays_overlap", "array_has_any"),
    ("char_length", "character_length"),
    ("ifnull", "nvl"),
    ("instr", "strpos"),
    ("length", "character_length"),
    ("list_any_value", "array_any_value"),
    ("list_append", "array_append"),
    ("list_cat", "array_concat"),
    ("list_compact", "array_compact"),
    ("list_concat", "array_concat"),
    ("list_contains", "array_has"),
    ("list_dims", "array_dims"),
    ("list_distinct", "array_distinct"),
    ("list_element", "array_element"),
    ("list_empty", "empty"),
    ("list_except", "array_except"),
    ("list_extract", "array_element"),
    ("list_has", "array_has"),
    ("list_has_all", "array_has_all"),
    ("list_has_any", "array_has_any"),
    ("list_indexof", "array_position"),
    ("list_intersect", "array_intersect"),
    ("list_join", "array_to_string"),
    ("list_length", "array_length"),
    ("list_max", "array_max"),
    ("list_ndims", "array_ndims"),
    ("list_pop_back", "array_pop_back"),
    ("list_pop_front", "array_pop_front"),
    ("list_position", "array_position"),
    ("list_positions", "array_positions"),
    ("list_prepend", "array_prepend"),
    ("list_push_back", "array_append"),
    ("list_push_front", "array_prepend"),
    ("list_remove", "array_remove"),
    ("list_remove_all", "array_remove_all"),
    ("list_remove_n", "array_remove_n"),
    ("list_repeat", "array_repeat"),
    ("list_replace", "array_replace"),
    ("list_replace_all", "array_replace_all"),
    ("list_replace_n", "array_replace_n"),
    ("list_resize", "array_resize"),
    ("list_reverse", "array_reverse"),
    ("list_slice", "array_slice"),
    ("list_sort", "array_sort"),
    ("list_to_string", "array_to_string"),
    ("list_union", "array_union"),
    ("list_zip", "arrays_zip"),
    ("make_list", "make_array"),
    ("mean", "avg"),
    ("position", "strpos"),
    ("pow", "power"),
    ("quantile_cont", "percentile_cont"),
    ("stddev_samp", "stddev"),
    ("string_to_list", "string_to_array"),
    ("substring", "substr"),
    ("substring_index", "substr_index"),
    ("trim", "btrim"),
    ("var_population", "var_pop"),
    ("var_samp", "var"),
    ("var_sample", "var"),
];

/// Functions of the values in a single row that need little memory. The list is not complete.
const ROW_FUNCTIONS: &[&str] = &[
    "abs",
    "btrim",
    "ceil",
    "character_length",
    "coalesce",
    "concat",
    "ends_with",
    "floor",
    "greatest",
    "least",
    "left",
    "lower",
    "lpad",
    "ltrim",
    "make_array",
    "md5",
    "nullif",
    "nvl",
    "overlay",
    "power",
    "regexp_like",
    "regexp_replace",
    "replace",
    "reverse",
    "right",
    "round",
    "rpad",
    "rtrim",
    "split_part",
    "sqrt",
    "starts_with",
    "strpos",
    "substr",
    "upper",
];

/// Returns the function's own name. Names that are not in the table are their own names.
pub(super) fn canonical(name: &str) -> &str {
    match ALIASES.binary_search_by_key(&name, |(alias, _)| alias) {
        Ok(index) => ALIASES.get(index).map_or(name, |(_, own)| own),
        Err(_) => name,
    }
}

/// Returns whether this is a function of the values in a single row that needs little memory.
pub(super) fn is_row_function(name: &str) -> bool {
    ROW_FUNCTIONS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_names_of_functions_are_not_aliases() {
        assert!(ALIASES.is_sorted());
        assert!(ROW_FUNCTIONS.is_sorted());
        for (alias, name) in ALIASES {
            assert_eq!(canonical(alias), *name);
            assert_eq!(canonical(name), *name);
        }
    }
}
