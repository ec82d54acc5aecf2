//! Aliases of functions, and properties of functions.

/// Pairs of an alias and the main name of its function. In addition, `list_x` is an alias of `array_x`.
const ALIASES: &str = "array_cat array_concat, array_contains array_has, array_empty empty, array_extract array_element, \
    array_indexof array_position, array_join array_to_string, array_push_back array_append, array_push_front array_prepend, \
    array_zip arrays_zip, arrays_overlap array_has_any, char_length character_length, ifnull nvl, instr strpos, \
    length character_length, make_list make_array, mean avg, position strpos, pow power, quantile_cont percentile_cont, \
    stddev_samp stddev, string_to_list string_to_array, substring substr, trim btrim, \
    var_population var_pop, var_samp var, var_sample var";

/// Functions that compute a value from a single row and need little memory. The list is incomplete: other functions are
/// treated as if they need several rows.
const ROW_FUNCTIONS: &str = "abs array_element array_slice btrim cardinality ceil character_length coalesce concat ends_with floor greatest least left lower \
    lpad ltrim make_array md5 nullif nvl overlay power regexp_like regexp_replace replace reverse right round rpad rtrim \
    split_part sqrt starts_with strpos substr upper";

/// Returns the name of the function that has this name or alias.
pub(super) fn canonical(name: &str) -> String {
    let name = match name.strip_prefix("list_") {
        Some(rest) => format!("array_{rest}"),
        None => name.to_owned(),
    };
    let mut aliases = ALIASES.split(", ").filter_map(|pair| pair.split_once(' '));
    let own = aliases.find(|(alias, _)| *alias == name);
    own.map_or(name, |(_, own)| own.to_owned())
}

pub(super) fn is_row_function(name: &str) -> bool {
    ROW_FUNCTIONS
        .split_whitespace()
        .any(|function| function == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_are_replaced_by_main_names() {
        for pair in ALIASES.split(", ") {
            let (alias, name) = pair.split_once(' ').expect(pair);
            assert_eq!(canonical(alias), name);
            assert_eq!(canonical(name), name);
        }
        assert_eq!(canonical("list_sort"), "array_sort");
        assert_eq!(canonical("list_cat"), "array_concat");
    }
}
