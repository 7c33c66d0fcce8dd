#compdef emplace
# Completion of emplace in zsh: eval "$(emplace completion zsh)"
_emplace() {
  local -a choices
  choices=(${(f)"$(emplace completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( ${#choices} )); then compadd -a choices; else _files; fi
}
compdef _emplace emplace
