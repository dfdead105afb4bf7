"""The ``tandem`` command."""

import sys

from tandem import _native
from tandem.peers import Host


def main() -> int:
    """Run the command line; return its exit status."""
    return _native.main(sys.argv, Host())


if __name__ == "__main__":
    sys.exit(main())
