"""The package's verbs: what joins language, elaboration, machines, exploration and the reference."""

import lazy_loader

# what the package exports stands in __init__.pyi, and is loaded when it is first asked for
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
