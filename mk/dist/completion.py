"""Completion for bash, zsh and fish from the help texts: commands, flags, and the words that a flag takes."""

from typing import Dict, List

from help_text import Command, Option


# The names of RayClusters, of the namespace that is given before; nothing where no cluster answers.
BASH_CLUSTERS = """_rayscaler_clusters() {
	local i namespace=()
	for ((i = 2; i < COMP_CWORD; i++)); do
		case "${COMP_WORDS[i]}" in -n|--namespace|--context|--kubeconfig) namespace+=("${COMP_WORDS[i]}" "${COMP_WORDS[i+1]}") ;; esac
	done
	kubectl get rayclusters.ray.io --request-timeout=3s -o 'jsonpath={.items[*].metadata.name}' "${namespace[@]}" 2>/dev/null || :
}"""
CLUSTERS = "kubectl get rayclusters.ray.io --request-timeout=3s -o 'jsonpath={.items[*].metadata.name}' 2>/dev/null"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def in_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def bash(commands: List[Command]) -> str:
    names = " ".join(one.name for one in commands[1:])
    lines = ["# bash completion for rayscaler, made from its help texts.", *BASH_CLUSTERS.split("\n"), "_rayscaler() {"]
    lines += ['\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}']
    lines += ["\tCOMPREPLY=()", '\tif [ "$COMP_CWORD" -eq 1 ]; then']
    lines += [f'\t\tCOMPREPLY=($(compgen -W "{names} help --help --version" -- "$word"))', "\t\treturn", "\tfi"]
    lines += ["\tlocal flags= words= files="]
    lines += ['\tcase "$command" in', f'\thelp) words="{names}" ;;']
    for command in commands[1:]:
        flags = " ".join(flag for option in command.options for flag in option.flags) + " --help"
        lines += [f"\t{command.name})", f'\t\tflags="{flags.strip()}"', '\t\tcase "$before" in']
        for option in command.options:
            if option.value:
                then = f'words="{" ".join(option.words)}" flags=' if option.words else "flags="
                lines.append(f"\t\t{'|'.join(option.flags)}) {then}{' files=yes' if option.takes_file else ''} ;;")
        other = "words=$(_rayscaler_clusters)" if command.takes_cluster else ":"
        lines += [f'\t\t*) [[ "$word" == -* ]] || {other} ;;', "\t\tesac", "\t\t;;"]
    lines += ["\tesac", '\tif [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$word"))']
    lines += ['\telif [ -n "$files" ]; then COMPREPLY=($(compgen -f -- "$word"))']
    lines += ['\telif [[ "$word" == -* ]]; then COMPREPLY=($(compgen -W "$flags" -- "$word"))', "\tfi", "}"]
    lines += ["complete -o filenames -F _rayscaler rayscaler kubectl-rayscaler"]
    return "\n".join(lines) + "\n"


def zsh_option(option: Option) -> List[str]:
    text = option.summary.replace("[", "(").replace("]", ")").replace(":", "\\:")
    action = ""
    if option.value:
        values = f"({' '.join(option.words)})" if option.words else "_files" if option.takes_file else " "
        action = f":{option.value.strip('<>').replace(':', chr(92) + ':')}:{values}"
    return [quoted(f"{flag}[{text}]{action}") for flag in option.flags]


def zsh(commands: List[Command]) -> str:
    lines = ["#compdef rayscaler kubectl-rayscaler", "# zsh completion for rayscaler, made from its help texts.", ""]
    lines += ["local -a commands", "commands=("]
    lines += ["\t" + quoted(f"{one.name}:{one.summary}") for one in commands[1:]]
    lines += [")", "if (( CURRENT == 2 )); then", "\t_describe command commands", "\treturn", "fi"]
    lines += ["local command=$words[2] clusters", "shift words", "(( CURRENT-- ))"]
    lines += [f"clusters=${{(F)${{=$({CLUSTERS})}}}}", 'case "$command" in']
    for command in commands[1:]:
        specs = [spec for option in command.options for spec in zsh_option(option)] + [quoted("--help[the help text]")]
        if command.takes_cluster:
            specs.append('"1:cluster:(${(f)clusters})"')
        lines += [f"{command.name})", "\t_arguments \\"]
        lines += [f"\t\t{spec}{' ' + chr(92) if i + 1 < len(specs) else ''}" for i, spec in enumerate(specs)]
        lines += ["\t;;"]
    lines += ["help) _describe command commands ;;", "esac"]
    return "\n".join(lines) + "\n"


def fish(commands: List[Command]) -> str:
    names = " ".join(one.name for one in commands[1:])
    lines = ["# fish completion for rayscaler, made from its help texts."]
    for program in ("rayscaler", "kubectl-rayscaler"):
        lines.append(f"complete -c {program} -f")
        for command in commands[1:]:
            no = f"not __fish_seen_subcommand_from {names}"
            lines.append(f"complete -c {program} -n {in_fish(no)} -a {command.name} -d {in_fish(command.summary)}")
            for option in command.options:
                seen = in_fish(f"__fish_seen_subcommand_from {command.name}")
                line = f"complete -c {program} -n {seen} -l {option.name[2:]}"
                line += f" -s {option.letter[1:]}" if option.letter else ""
                line += " -x" if option.value and not option.takes_file else " -r -F" if option.takes_file else ""
                line += f" -a {in_fish(' '.join(option.words))}" if option.words else ""
                lines.append(f"{line} -d {in_fish(option.summary)}")
            if command.takes_cluster:
                seen = in_fish(f"__fish_seen_subcommand_from {command.name}")
                lines.append(f"complete -c {program} -n {seen} -a \"({CLUSTERS} | string split ' ')\" -d cluster")
    return "\n".join(lines) + "\n"


def files(commands: List[Command]) -> Dict[str, str]:
    """By their places below a share/ directory."""
    return {
        "bash-completion/completions/rayscaler": bash(commands),
        "zsh/vendor-completions/_rayscaler": zsh(commands),
        "fish/vendor_completions.d/rayscaler.fish": fish(commands),
    }
