# Completion of emplace in bash: eval "$(emplace completion bash)"
_emplace() {
  mapfile -t COMPREPLY < <(emplace completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then compopt -o default; fi
}
complete -F _emplace emplace
