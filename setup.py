"""Build what pyproject.toml cannot describe: extension modules, and files of other folders that wheels have.

WINGSPAN_TSAN=1 or WINGSPAN_ASAN=1 builds with sanitizers.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import BaseError, CCompilerError, CompileError

FLAGS = ["-std=gnu11", "-O2", "-pthread", "-ffp-contract=off"]
SANITIZERS = {
    "WINGSPAN_TSAN": ["-fsanitize=thread", "-g"],
    "WINGSPAN_ASAN": [
        *("-fsanitize=address,undefined", "-fno-omit-frame-pointer", "-g", "-include", "proofs_tests/failing.h"),
    ],
}
sanitizing = [flag for name, flags in SANITIZERS.items() if os.environ.get(name) == "1" for flag in flags]

EXTENSIONS = [
    *(
        Extension(
            name,
            [f"{name.replace('.', '/')}.pyx"],
            depends=["wingspan/explorer/graph.h"],
            include_dirs=["wingspan/explorer"],
            extra_compile_args=FLAGS,
        )
        for name in ("wingspan.explorer._space", "wingspan.explorer._dpor", "wingspan.explorer._events")
    ),
    Extension(
        "wingspan.explorer._tables",
        ["wingspan/explorer/_tables.pyx"],
        depends=sorted(map(str, Path("wingspan/explorer").glob("*.h"))),
        include_dirs=["wingspan/explorer"],
        extra_compile_args=["-std=c++17", "-O3", "-pthread", *sanitizing],
        extra_link_args=["-pthread", *sanitizing],
    ),
    *(
        Extension(
            name,
            [f"{name.replace('.', '/')}.pyx"],
            depends=["wingspan/tensors/columns.h", "wingspan/runtime/runtime.h"],
            include_dirs=["wingspan/tensors", "wingspan/runtime"],
            extra_compile_args=[*FLAGS, "-O3", *sanitizing],  # -O2 of older compilers vectorizes nothing
            extra_link_args=["-pthread", *sanitizing],
        )
        for name in ("wingspan.tensors._checks", "wingspan.tensors._gather", "wingspan.runtime._lending")
    ),
    Extension(
        "wingspan.tensors.files._text", ["wingspan/tensors/files/_text.pyx"], extra_compile_args=["-std=c++17", "-O3"]
    ),
    *(
        Extension(
            name,
            [f"{name.replace('.', '/')}.pyx"],
            include_dirs=["wingspan/runtime", "wingspan/tensors", "wingspan/native"],
            depends=["wingspan/runtime/runtime.h", "wingspan/tensors/columns.h", "wingspan/native/instructions.h"],
            extra_compile_args=FLAGS + sanitizing,
            extra_link_args=["-pthread", *sanitizing],
            libraries=["m"],
        )
        for name in ("wingspan.runtime._memory", "wingspan.native._engine")
    ),
]
SHIPPED = (
    "docs/errors.md",
    "docs/lessons/1-two-threads.md",
    "docs/lessons/2-step-by-step.md",
    "docs/lessons/3-towers.md",
    "docs/lessons/4-hidden-races.md",
    "docs/lessons/5-without-running.md",
    "docs/lessons/6-printed-test.md",
    "docs/lessons/7-threads.md",
    "examples/dependent.ws",
    "examples/hadamard.ws",
    "examples/histogram.ws",
    "examples/quiz.md",
    "examples/short_circuit.ws",
    "examples/spadd.ws",
    "examples/spgemm_gustavson.ws",
    "examples/spgemm_outer.ws",
    "examples/stencil.ws",
    "examples/sum.ws",
    "examples/sum_atomic.ws",
)
"""Files of the repository that verbs read. Names of files differ."""
DIRECTIVES = {"language_level": 3, "boundscheck": True, "wraparound": False, "initializedcheck": False}


class Build(build_ext):
    """Compiles on all processors, and says what is missing where an extension cannot be built."""

    def finalize_options(self):
        """Settle what was not asked for."""
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extension(self, extension):
        """Compile and link it."""
        try:
            super().build_extension(extension)
        except (BaseError, CCompilerError, OSError) as error:
            raise CompileError(
                f"the engine needs gcc and g++, or clang, to be built, a wheel needs none: {error}"
            ) from error


class Modules(build_py):
    """Copies modules and the files of `wingspan/cli/package_data.py`, which an editable package has in place."""

    def run(self):
        """Copy all of them."""
        super().run()
        for path, copy in self.copies().items():
            self.copy_file(path, copy)

    def copies(self):
        """The path of the copy of each file of `SHIPPED`."""
        folder = Path(self.build_lib, "wingspan", "cli")
        return {} if self.editable_mode else {path: str(folder / Path(path).name) for path in SHIPPED}

    def get_outputs(self, include_bytecode=True):
        """The paths of all copies."""
        return [*super().get_outputs(include_bytecode), *self.copies().values()]

    def get_source_files(self):
        """The paths of what source distributions need, too."""
        return [*super().get_source_files(), *SHIPPED]


setup(
    cmdclass={"build_ext": Build, "build_py": Modules},
    ext_modules=cythonize(EXTENSIONS, compiler_directives=DIRECTIVES),
)
