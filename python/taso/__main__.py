"""python -m taso: what is installed. python -m taso opt …: one of the programs."""

import sys

from . import __version__, devices, programs

PROGRAMS = {"opt": "rewrites a model into a faster one", "verify": "proves or refutes rewrite rules",
            "gen": "finds rewrite rules", "bench": "measures how long models take"}


def main() -> None:
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    if command in PROGRAMS:
        del sys.argv[1]
        programs.replace_this_process(f"taso-{command}")
    if command == "--version":
        print(__version__)
        return
    print(f"taso {__version__}\ndevices: {devices()}\n\nusage: python -m taso COMMAND [--help] …")
    for name, text in PROGRAMS.items():
        missing = "" if (programs.FOLDER / f"taso-{name}").exists() else " (not in this package)"
        print(f"  {name:8}{text}{missing}")
    if command not in ("", "-h", "--help"):
        print(f"\nthere is no command '{command}'", file=sys.stderr)
        raise SystemExit(2)


if __name__ == "__main__":
    main()
