"""`python -m wingspan` is the command `wingspan`."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder: a random.py or scipy.py there is no library
    from wingspan.cli import main

    main()
