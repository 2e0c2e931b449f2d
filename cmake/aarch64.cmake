# Toolchain of the preset aarch64: Debian's cross compiler, with the arm64 packages that `scripts/install_packages aarch64`
# installs beside those of the build machine. Programs for aarch64, tests among them, run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(TRIPLET aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${TRIPLET}-gcc)
set(CMAKE_CXX_COMPILER ${TRIPLET}-g++)
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)  # leaves out notes on arguments that GCC 9 passed in another way
set(CMAKE_LIBRARY_ARCHITECTURE ${TRIPLET})
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${TRIPLET}/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -cpu neoverse-n1)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)  # unset, it would be the build machine's
