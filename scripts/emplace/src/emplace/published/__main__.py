import sys

from ..importers.command import unless_unread
from .command import main

if __name__ == "__main__":
    sys.exit(unless_unread(main))
