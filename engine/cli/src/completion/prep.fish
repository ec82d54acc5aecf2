# Completions of prep in fish. `prep` prints a line for each value, and one line if fish has to complete paths.
function __prep_lines
    set -l words (commandline --current-process --tokenize --cut-at-cursor)
    set -l word (commandline --current-token --cut-at-cursor | string trim --left --chars '\'"')
    COMPLETE=fish prep -- $words "$word" 2>/dev/null
end

complete --command prep --no-files --keep-order --arguments "(__prep_lines | string replace --filter --regex '^value\t' '')"
complete --command prep --condition "__prep_lines | string match --quiet 'file*'" --force-files
complete --command prep --condition "__prep_lines | string match --quiet 'directory*'" --arguments "(__fish_complete_directories)"
