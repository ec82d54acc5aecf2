#compdef prep
# Completions of prep in zsh. `prep` prints a line for each value, and one line if zsh has to complete paths.
_prep() {
    local kind value about prefix
    local -a values paths
    while IFS=$'\t' read -r kind value about; do
        case "$kind" in
            value) values+=("${value//:/\\:}${about:+:$about}") ;;
            file) paths=(_files) prefix="$value" ;;
            directory) paths=(_files -/) prefix="$value" ;;
        esac
    done <<< "$(COMPLETE=zsh prep -- "${(@Q)words[1,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)"
    [[ -n $values ]] && _describe -V values values
    if [[ -n $paths ]]; then
        # The path begins after a prefix such as `--source=`.
        compset -P "${(b)prefix}"
        $paths
    fi
}

# At the first completion, zsh executes this file as the function `_prep`.
if [[ "${funcstack[1]}" == _prep ]]; then
    _prep "$@"
else
    compdef _prep prep
fi
