"""`python -m wingspan` is the command `wingspan`."""

from wingspan.cli import main

if __name__ == "__main__":
    main()
