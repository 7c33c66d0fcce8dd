"""`python3 -m emplace`, which is the command `emplace` where the package is installed."""

import sys

from emplace.command_line import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
