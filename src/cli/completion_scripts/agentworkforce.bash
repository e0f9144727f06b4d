# Completion of agentworkforce. The program itself knows the words: flags, commands, personas, roles and sessions.
_agentworkforce() {
    local line program=${1/#\~\//$HOME/} IFS=
    COMPREPLY=()
    while read -r line; do
        if [[ $line == $'\tfiles' ]]; then
            compopt -o default
        else
            COMPREPLY+=("$line")
        fi
    done < <("$program" __complete bash -- "${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}
complete -F _agentworkforce agentworkforce
