# Completion of emplace in fish: emplace completion fish | source
function __emplace_choices
    set -l words (commandline -opc) (commandline -ct | string collect --allow-empty)
    set -l choices (emplace completion words -- $words[2..] 2>/dev/null)
    if test (count $choices) -gt 0
        printf '%s\n' $choices
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c emplace -f -a '(__emplace_choices)'
