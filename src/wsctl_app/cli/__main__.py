"""`python -m wsctl_app.cli`: the same as `wsctl`."""

import sys

from wsctl_app.cli import main

if __name__ == "__main__":
    sys.exit(main())
