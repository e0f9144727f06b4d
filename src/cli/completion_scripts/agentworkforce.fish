# Completion of agentworkforce. The program itself knows the words: flags, commands, personas, roles and sessions.
function __agentworkforce_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l program $before[1]
    for line in ($program __complete fish -- $before[2..-1] "$current" 2>/dev/null)
        if test "$line" = \tfiles
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c agentworkforce -f -a '(__agentworkforce_complete)'
