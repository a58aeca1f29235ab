"""The command `hexaplan` of this package: the program that lies in bin/, with the presets beside it."""

import os
import sys
from pathlib import Path

PROGRAM = Path(__file__).parent / "bin" / "hexaplan"


def main() -> None:
    os.execv(PROGRAM, ["hexaplan", *sys.argv[1:]])


if __name__ == "__main__":
    main()
