"""`python3 -m emplace`: the command `emplace` of the installed package."""

import sys

from emplace.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
