#compdef agentworkforce
# Completion of agentworkforce. The program itself knows the words: flags, commands, personas, roles and sessions.
_agentworkforce() {
    local line files
    local -a candidates
    while IFS= read -r line; do
        if [[ $line == $'\tfiles' ]]; then
            files=1
        else
            candidates+=("$line")
        fi
    done < <("${(Q)words[1]}" __complete zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
    (( ${#candidates} )) && _describe -V agentworkforce candidates
    [[ -n $files ]] && _files
}
if [[ $funcstack[1] == _agentworkforce ]]; then
    _agentworkforce "$@"
else
    compdef _agentworkforce agentworkforce
fi
