# SPDX-License-Identifier: Apache-2.0
# A package of Spack 1. Put this file into packages/meshmem of a package repository; then, in a
# clone of meshmem:
#   spack dev-build meshmem@0.1.0
from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage
from spack_repo.builtin.build_systems.rocm import ROCmPackage

from spack.package import *


class Meshmem(CMakePackage, CudaPackage, ROCmPackage):
    """OpenSHMEM 1.6 for machines full of GPUs."""

    license("Apache-2.0")

    version("0.1.0")

    variant("ucx", default=True, description="RDMA networks between machines")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("pmix")
    depends_on("cli11", type="build")
    depends_on("fmt")
    depends_on("boost+context", when="~cuda~rocm")
    depends_on("ucx@1.13:", when="+ucx")
    depends_on("python@3.9:", type=("build", "run"))

    conflicts("+cuda", when="+rocm")
    filter_compiler_wrappers("oshcc", "oshc++", "oshhip", relative_root="bin")
    generator("ninja")

    def cmake_args(self):
        spec, target = self.spec, "cpu"
        if spec.satisfies("+cuda"):
            target = "cuda"
        elif spec.satisfies("+rocm"):
            target = "hip"
        args = [
            self.define("MESHMEM_TARGET", target),
            self.define_from_variant("MESHMEM_UCX", "ucx"),
            self.define("MESHMEM_BUILD_TESTS", False),
            self.define("MESHMEM_BUILD_EXAMPLES", False),
        ]
        if target == "cuda":
            architectures = spec.variants["cuda_arch"].value
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", architectures))
        if target == "hip":
            architectures = spec.variants["amdgpu_target"].value
            args.append(self.define("MESHMEM_HIP_ARCHITECTURES", architectures))
        return args
