"""Scripts that let a shell complete commands, options and files, made from the parsers themselves."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from middleware.cli.arguments import PATHS, build_parser
from middleware.cli.desk import Desk

# What a script calls the value it expects next; also the names of these cases in it.
FILES, FOLDERS, ANYTHING = "files", "folders", "anything"


@dataclass(frozen=True, slots=True)
class Place:
    """What may follow a command: words, perhaps files, and options of which some take a value."""

    name: str  # all the words up to here, such as "passerby feed create"
    commands: dict[str, str]  # with what each is for
    words: tuple[str, ...]  # that a positional argument may be
    has_files: bool
    options: dict[str, tuple[str | None, str]]  # the kind of value, None if it takes none; what it is for


def completion(desk: Desk, options: argparse.Namespace) -> int:
    parsers = [build_parser(), *([options.measuring()] if options.measuring else [])]
    script = SCRIPTS[options.shell](places_of(parsers))
    return desk.show({"shell": options.shell, "script": script}, script.splitlines())


def places_of(parsers: list[argparse.ArgumentParser]) -> list[Place]:
    """Every command of these parsers, once; the later parser knows best what its commands take."""
    found: dict[str, Place] = {}
    for parser in parsers:
        for place in _places(parser, "passerby"):
            before = found.get(place.name)
            commands = {**(before.commands if before else {}), **place.commands}
            options = {**(before.options if before else {}), **place.options}
            found[place.name] = Place(place.name, commands, place.words, place.has_files, options)
    return list(found.values())


def _places(parser: argparse.ArgumentParser, name: str) -> Iterator[Place]:
    commands, words, has_files = {}, [], False
    options: dict[str, tuple[str | None, str]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            commands = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for word, below in action.choices.items():
                yield from _places(below, f"{name} {word}")
        elif action.option_strings and action.help != argparse.SUPPRESS:
            kind = None if action.nargs == 0 else _kind(action)
            options |= {option: (kind, _meaning(action)) for option in action.option_strings}
        elif not action.option_strings:
            words += [str(choice) for choice in action.choices or ()]
            has_files |= _kind(action) != ANYTHING
    yield Place(name, commands, tuple(words), has_files, options)


def _kind(action: argparse.Action) -> str:
    if action.dest not in (*PATHS, "scenario") and action.type is not Path:
        return ANYTHING
    return FOLDERS if action.metavar == "DIR" else FILES


def _meaning(action: argparse.Action) -> str:
    """As --help says it; a percent sign is written twice there."""
    return (action.help or "").replace("%(default)s", str(action.default)).replace("%%", "%")


# The shells differ in how they hand over the words; how these lead from place to place does not.
_WALK = """\
    for each in "${WORDS}"; do
        [[ $each == '=' && -n $wanted ]] && continue
        [[ -n $wanted ]] && { wanted=''; continue; }
        case "$place $each" in
            COMMANDS) place="$place $each" ;;
            FILES) wanted=files ;;
            FOLDERS) wanted=folders ;;
            ANYTHING) wanted=anything ;;
        esac
    done
    case $place in
OFFERS
    esac
    if [[ -n $wanted ]]; then offered=''
    elif [[ $current == -* || -z $offered$after ]]; then offered=$options
    else wanted=$after
    fi
"""
_BASH = f"""\
# passerby in bash: source <(passerby completion bash)
_passerby() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} place=passerby wanted='' offered='' options='' after='' each
    [[ $current == '=' ]] && current=''
{_WALK.replace("WORDS", "COMP_WORDS[@]:1:COMP_CWORD-1")}
    mapfile -t COMPREPLY < <(
        compgen -W "$offered" -- "$current"
        [[ $wanted == files ]] && compgen -f -- "$current"
        [[ $wanted == folders ]] && compgen -d -- "$current"
    )
    [[ $wanted != files && $wanted != folders ]] || compopt -o filenames 2>/dev/null
}}
complete -F _passerby passerby
"""
_ZSH = f"""\
#compdef passerby
# passerby in zsh: source <(passerby completion zsh), after compinit; or as _passerby in a folder of $fpath
_passerby() {{
    local current=${{words[CURRENT]}} place=passerby wanted='' offered='' options='' after='' each
{_WALK.replace("WORDS", "(@)words[2,CURRENT-1]")}
    compadd -- ${{=offered}}
    case $wanted in
        files) _files ;;
        folders) _files -/ ;;
    esac
}}
if [[ ${{funcstack[1]}} == _passerby ]]; then _passerby "$@"; else compdef _passerby passerby; fi
"""
_FISH_WALK = """\
# passerby in fish: passerby completion fish | source
function __passerby_at
    set -l place passerby
    set -l wanted
    for each in (commandline -opc)[2..-1]
        if set -q wanted[1]
            set wanted
            continue
        end
        switch "$place $each"
            case COMMANDS
                set place "$place $each"
            case VALUES
                set wanted yes
        end
    end
    test "$place" = "$argv"
end
complete -c passerby -f
"""


def _for_bash_or_zsh(script: str, places: list[Place]) -> str:
    offers = []
    for place in places:
        words, options = " ".join([*place.commands, *place.words]), " ".join(place.options)
        after = FILES if place.has_files else ""
        offered = f"offered={_quoted(words)} options={_quoted(options)} after={_quoted(after)}"
        offers.append(f"        {_quoted(place.name)}) {offered} ;;")
    script = script.replace("COMMANDS", "|".join(_quoted(place.name) for place in places))
    for kind in (FILES, FOLDERS, ANYTHING):
        script = script.replace(kind.upper(), "|".join(_quoted(name) for name in _taking(places, kind)))
    return script.replace("OFFERS", "\n".join(offers))


def _for_fish(places: list[Place]) -> str:
    names = " ".join(_quoted(place.name) for place in places)
    values = [name for kind in (FILES, FOLDERS, ANYTHING) for name in _taking(places, kind)]
    walk = _FISH_WALK.replace("COMMANDS", names).replace("VALUES", " ".join(map(_quoted, values)))
    return walk + "".join(f"{line}\n" for place in places for line in _fish_lines(place))


def _fish_lines(place: Place) -> Iterator[str]:
    at = f"complete -c passerby -n '__passerby_at {place.name}'"
    for word, meaning in (place.commands | dict.fromkeys(place.words, "")).items():
        yield f"{at} -a {word} -d {_fish_quoted(meaning)}"
    if place.has_files:
        yield f"{at} -F"
    takes = {None: "", FILES: " -r -F", FOLDERS: " -xa '(__fish_complete_directories)'", ANYTHING: " -x"}
    for option, (kind, meaning) in place.options.items():
        named = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
        yield f"{at} {named}{takes[kind]} -d {_fish_quoted(meaning)}"


def _taking(places: list[Place], kind: str) -> list[str]:
    """Every option whose value is of this kind, after the command it belongs to."""
    return [f"{p.name} {option}" for p in places for option, (k, _) in p.options.items() if k == kind]


def _quoted(text: str) -> str:
    """Names of commands and options hold no quote: argparse gets them from us."""
    return f"'{text}'"


def _fish_quoted(text: str) -> str:
    return _quoted(text.replace("\\", "\\\\").replace("'", "\\'"))


SCRIPTS = {
    "bash": lambda places: _for_bash_or_zsh(_BASH, places),
    "zsh": lambda places: _for_bash_or_zsh(_ZSH, places),
    "fish": _for_fish,
}
