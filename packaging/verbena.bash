# Bash completion of the verbena command. It takes commands, options and their values from the output
# of --help.

# The words of a paragraph of the help in standard input: the commands.
_verbena_commands() {
  sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

# The values of option $1, from the help in standard input: "roce ib" of "--link-layer roce|ib".
_verbena_values() {
  awk -v option="$1" '$2 ~ /^[a-z-]+([|][a-z,-]+)+$/ {
    count = split($1, names, ",")
    for (i = 1; i <= count; i++) if (names[i] == option) { gsub(/[|]/, " ", $2); print $2 }
  }'
}

_verbena() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]} help words i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words=$(verbena --help 2>/dev/null | _verbena_commands)
    mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$word")
    return
  fi
  help=$(verbena "$command" --help 2>/dev/null)
  for ((i = 2; i < COMP_CWORD; i++)); do
    # After `run --` comes the command line of another program.
    if [[ $command == run && ${COMP_WORDS[i]} == -- ]]; then
      if ((i + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
      fi
      return
    fi
    # A command of a command: broker status.
    if grep -qxF -- "${COMP_WORDS[i]}" < <(_verbena_commands <<< "$help"); then
      help=$(verbena "$command" "${COMP_WORDS[i]}" --help 2>/dev/null)
    fi
  done
  # In --option=value the shell makes "=" a word of its own.
  if [[ $word == = ]]; then
    word=
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $before in
    --trace | --swap | --socket | --broker)
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return
      ;;
  esac
  words=$(_verbena_values "$before" <<< "$help")
  if [[ -z $words ]]; then
    words=$(grep -oE -- '^  (-[a-z],)?--[a-z-]+' <<< "$help" | grep -oE -- '--[a-z-]+')
    words+=" $(_verbena_commands <<< "$help")"
    [[ $command == run ]] && words+=" --"
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _verbena verbena
