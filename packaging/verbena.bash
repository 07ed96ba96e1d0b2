# Bash completion of the verbena command. It takes commands and options from the output of --help.

_verbena() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words i
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words=$(verbena --help 2>/dev/null | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
    mapfile -t COMPREPLY < <(compgen -W "$words --help --version" -- "$word")
    return
  fi
  # After `run --` comes the command line of another program.
  for ((i = 2; i < COMP_CWORD; i++)); do
    if [[ $command == run && ${COMP_WORDS[i]} == -- ]]; then
      if ((i + 1 == COMP_CWORD)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
      fi
      return
    fi
  done
  case ${COMP_WORDS[COMP_CWORD - 1]} in
    --trace | --swap | --socket | --broker)
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return
      ;;
    --log) words="error warning info debug" ;;
    --link-layer) words="roce ib" ;;
    --transport) words="roce iwarp iwarp-sctp" ;;
    --device-files) words="on off" ;;
    -o | --operation) words="write read send atomic" ;;
    -m | --measure) words="latency rate bandwidth" ;;
    *)
      words=$(verbena "$command" --help 2>/dev/null | grep -oE -- '^  (-[a-z],)?--[a-z-]+' |
        grep -oE -- '--[a-z-]+')
      [[ $command == run ]] && words+=" --"
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -F _verbena verbena
