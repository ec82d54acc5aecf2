# Completions of prep in Bash. `prep` prints a line for each value, and one line if the shell has to complete paths.
_prep() {
    # Bash also separates words at the characters of COMP_WORDBREAKS, for example at `:` and `=`. It replaces only the
    # text after the last of these characters. The loop joins words without a space between them.
    local words=() rest="${COMP_LINE:0:COMP_POINT}" word i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if [[ $i -eq $COMP_CWORD ]]; then
            word="${rest#"${rest%%[![:space:]]*}"}"
            if [[ "$word" == [\"\']* ]]; then
                word="$2"
            fi
        fi
        if [[ $i -gt 0 && -n "$rest" && "$rest" != [[:space:]]* ]]; then
            words[${#words[@]}-1]+="$word"
        else
            words+=("$word")
        fi
        rest="${rest#"${rest%%[![:space:]]*}"}"
        rest="${rest#"$word"}"
    done
    local begin="${words[${#words[@]} - 1]%"$2"}" paths="" kind value
    COMPREPLY=()
    while IFS=$'\t' read -r kind value _; do
        case "$kind" in
            value)
                value="${value#"$begin"}"
                # Bash quotes only the names of files.
                if [[ "$value" == *[[:space:]]* && "${COMP_WORDS[COMP_CWORD]}" != [\"\']* ]]; then
                    printf -v value %q "$value"
                fi
                COMPREPLY+=("$value")
                ;;
            file) paths=default ;;
            directory) paths=dirnames ;;
        esac
    done <<< "$(COMPLETE=bash prep -- "${words[@]}" 2> /dev/null)"
    if [[ "${COMPREPLY-}" =~ [=/:]$ ]]; then
        compopt -o nospace
    fi
    # Bash completes paths itself, because it knows quotes, variables and `~`.
    if [[ -n "$paths" && ${#COMPREPLY[@]} -eq 0 ]]; then
        compopt -o $paths
    elif [[ -n "$paths" ]]; then
        compopt -o filenames
        while read -r value; do
            [[ -z "$value" ]] || COMPREPLY+=("$value")
        done <<< "$(compgen -f -- "$2")"
    fi
} 2> /dev/null

# Bash 3 has no `compopt`.
if [[ "${BASH_VERSINFO[0]}" -eq 4 && "${BASH_VERSINFO[1]}" -ge 4 || "${BASH_VERSINFO[0]}" -gt 4 ]]; then
    complete -o bashdefault -o nosort -F _prep prep
else
    complete -o bashdefault -o default -F _prep prep
fi
