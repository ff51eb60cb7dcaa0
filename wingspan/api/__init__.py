"""The verbs, which join language, elaboration, machines, exploration and the reference; and the parts they join."""

import lazy_loader

# what the package exports stands in __init__.pyi, and is loaded when it is first asked for
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
