"""`cstp completion`: the script for shell completion of commands, options, methods and parameters."""

from enum import StrEnum
from typing import Annotated, Final

import typer

from cstp_server.cli.conventions import command_family
from cstp_server.terminal import say_lines

app = command_family()
VARIABLE: Final = "_CSTP_COMPLETE"

# They ask the program, as typer answers. In bash a parameter's name ends with =, without a blank after it. The
# words of bash cannot be used: it splits them at : and =, which are common in addresses and parameters.
_BASH: Final = f"""_cstp_completion() {{
    local IFS=$'\\n' line="${{COMP_LINE:0:COMP_POINT}}"
    if [[ $line == *[[:space:]] ]]; then line+="''"; fi
    COMPREPLY=( $( env COMP_WORDS="$line" COMP_CWORD=-1 {VARIABLE}=complete_bash "$1" ) )
    if [[ ${{#COMPREPLY[@]}} -eq 1 && ${{COMPREPLY[0]}} == *= ]]; then compopt -o nospace; fi
}}
complete -o default -F _cstp_completion cstp"""
_ZSH: Final = f"""#compdef cstp
_cstp_completion() {{
    eval $(env _TYPER_COMPLETE_ARGS="${{words[1,$CURRENT]}}" {VARIABLE}=complete_zsh cstp)
}}
compdef _cstp_completion cstp"""
_ASKED: Final = f"env {VARIABLE}=complete_fish _TYPER_COMPLETE_ARGS=(commandline -cp) _TYPER_COMPLETE_FISH_ACTION"
_FISH: Final = (
    f'complete --command cstp --no-files --arguments "({_ASKED}=get-args cstp)" --condition "{_ASKED}=is-args cstp"'
)


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


@app.command("completion")
def completion_command(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="Shell: bash, zsh or fish.")],
) -> None:
    """Print a completion script for a shell: eval "$(cstp completion bash)" in ~/.bashrc."""
    say_lines({Shell.BASH: _BASH, Shell.ZSH: _ZSH, Shell.FISH: _FISH}[shell])
