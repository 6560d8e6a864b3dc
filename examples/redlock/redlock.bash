# bash completion for redlock(1)

# Index of RESOURCE, or of the word that is being completed when RESOURCE is still to come.
_redlock_resource() {
  local i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -s | -t | -w | -E | -k | -m | -c | --servers | --ttl | --wait | --timeout | --max-hold | \
        --min-hold | --conflict-exit-code | --kill-after | --max-ttl | --command | --user | \
        --password-file | --cacert | --cert | --key | --ticket-file | --server-timeout)
        [[ ${COMP_WORDS[i + 1]} == = ]] && ((i++))
        ((i++)) ;;
      --) ((i++)); break ;;
      -?*) ;;
      *) break ;;
    esac
  done
  echo "$i"
}

_redlock_command() {
  local at=$1
  [[ ${COMP_WORDS[at]} == -- ]] && ((at++))
  if ((at == COMP_CWORD)); then
    COMPREPLY=($(compgen -c -- "$2"))
  elif declare -F _command_offset >/dev/null; then
    _command_offset "$at"
  else
    COMPREPLY=($(compgen -f -- "$2"))
  fi
}

_redlock() {
  local options='--servers --ttl --wait --timeout --wait-anyway --server-timeout --nonblock --nb
    --conflict-exit-code --kill-after --max-hold --min-hold --max-ttl --fencing --user
    --password-file --cacert --cert --key --insecure --exclusive --close --no-fork --command --take --extend --run --release
    --ticket-file --no-label --status --strict --json --quiet --verbose --help --version'
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} resource
  resource=$(_redlock_resource)
  COMPREPLY=()
  if ((resource < COMP_CWORD)); then
    _redlock_command $((resource + 1)) "$word"
  elif [[ $before == --@(password-file|ticket-file|cacert|cert|key) ]]; then
    COMPREPLY=($(compgen -f -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  fi
}

complete -o default -F _redlock redlock
