#!/usr/bin/env bash
# Makes what is handed out: scripts/dist.sh [PROFILE], `dist` unless told otherwise, into target/packages/PROFILE.
#
#   polylogue-VERSION-TARGET.tar.gz   the binary with completions, man pages, licences, documentation and examples
#   polylogue_VERSION_ARCH.deb        the same where Debian puts it, with a service; made only where dpkg-deb is
#   polylogue-VERSION-….whl           the same as a Python package, for uvx, pipx and pip
#   SHA256SUMS
#
# A binary that is built already is not built again.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install.sh

need_rust
need_native
command -v maturin >/dev/null || need_python_tools "$(target_folder .)/packages/tools" maturin
profile=${1:-dist}
out="$(target_folder .)/packages/$profile"
mkdir -p "$out"
rm -f "$out"/polylogue[-_]* "$out/SHA256SUMS"

# Everything in an archive has the time of the last commit, so that the same source gives the same archive. Only the
# archivers are told: what is written in C would be built again for every commit.
committed=$(git log -1 --format=%ct 2>/dev/null || echo 0)
umask 022

cargo build --quiet --locked --profile "$profile" --package polylogue
case "$profile" in dev) built=debug ;; *) built=$profile ;; esac
binary="$(target_folder .)/$built/polylogue"
version=$("$binary" --version | cut -d ' ' -f 2)
target=$(rustc -vV | sed -n 's/^host: //p')

# What all packages carry.
parts=$(mktemp -d)
trap 'rm -rf "$parts" polylogue.data' EXIT
"$binary" generate completions "$parts/completions"
"$binary" generate man "$parts/man"
# The licences of what the page is made of lie with its packages.
[ -d web/node_modules ] || (cd web && npm install --no-save --no-audit --no-fund --loglevel error)
scripts/notices.py >"$parts/THIRD-PARTY.txt"
# Debug information would be most of a package.
strip --strip-debug -o "$parts/polylogue" "$binary" 2>/dev/null || strip -S -o "$parts/polylogue" "$binary"

# Copies files to a place with the rights that packages give them.
put() {
  local to=$1
  shift
  mkdir -p "$to"
  cp -R "$@" "$to"
  chmod -R u=rwX,go=rX "$to"
}

# The completions, each where its shell looks for it, below a share folder.
put_completions() {
  mkdir -p "$1/bash-completion/completions" "$1/zsh/$2" "$1/fish/vendor_completions.d"
  cp "$parts/completions/polylogue.bash" "$1/bash-completion/completions/polylogue"
  cp "$parts/completions/_polylogue" "$1/zsh/$2/_polylogue"
  cp "$parts/completions/polylogue.fish" "$1/fish/vendor_completions.d/polylogue.fish"
}

make_tarball() {
  local name="polylogue-$version-$target"
  put "$parts/$name" "$parts/polylogue" "$parts/completions" "$parts/man" "$parts/THIRD-PARTY.txt" \
    LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md docs examples packaging/polylogue.service
  chmod +x "$parts/$name/polylogue"
  # GNU tar can make an archive that depends on nothing but its content.
  local order=()
  ! tar --version | grep -q GNU || order=(--sort=name --mtime="@$committed" --owner=0 --group=0 --numeric-owner)
  tar -C "$parts" "${order[@]+"${order[@]}"}" -cf - "$name" | gzip -n >"$out/$name.tar.gz"
}

make_deb() {
  local tree="$parts/deb" arch depends share
  arch=$(dpkg --print-architecture)
  share="$tree/usr/share"
  put "$tree/usr/bin" "$parts/polylogue"
  chmod 755 "$tree/usr/bin/polylogue"
  put "$tree/usr/lib/systemd/system" packaging/polylogue.service
  put "$tree/etc/polylogue" packaging/polylogue.toml
  put "$share/man/man1" "$parts"/man/*.1
  put "$share/doc/polylogue" packaging/debian/copyright LICENSE-MIT README.md docs examples "$parts/THIRD-PARTY.txt"
  cp CHANGELOG.md "$share/doc/polylogue/changelog"
  put_completions "$share" vendor-completions
  # PowerShell has no place of its own for them.
  cp "$parts/completions/_polylogue.ps1" "$share/doc/polylogue/"
  gzip -n9 "$share"/man/man1/*.1 "$share/doc/polylogue/changelog" "$share/doc/polylogue/THIRD-PARTY.txt"

  # The libraries that the binary really asks for, as Debian's packages name them.
  mkdir -p "$parts/asks/debian"
  touch "$parts/asks/debian/control"
  depends=$(cd "$parts/asks" && dpkg-shlibdeps -O "$tree/usr/bin/polylogue" 2>/dev/null | sed 's/^shlibs:Depends=//')

  put "$tree/DEBIAN" packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm
  chmod 755 "$tree"/DEBIAN/*
  echo /etc/polylogue/polylogue.toml >"$tree/DEBIAN/conffiles"
  (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$arch/" -e "s/@DEPENDS@/$depends/" \
    -e "s/@SIZE@/$(du -sk --apparent-size "$tree" | cut -f 1)/" packaging/debian/control.in >"$tree/DEBIAN/control"
  # A package that is only tried is not worth the time of packing it small.
  local how=(-Zxz)
  [ "$profile" != dev ] || how=(-Zgzip -z1)
  SOURCE_DATE_EPOCH=$committed dpkg-deb --root-owner-group "${how[@]}" --build "$tree" "$out/polylogue_${version}_$arch.deb" >/dev/null
}

make_wheel() {
  # maturin takes along what this folder holds. Where pip installs, below share/, shells and man find it.
  put polylogue.data/data/share/man/man1 "$parts"/man/*.1
  put polylogue.data/data/share/doc/polylogue "$parts/THIRD-PARTY.txt"
  put_completions polylogue.data/data/share site-functions
  # Its tag is the oldest system that has everything the binary asks for: maturin looks into it.
  maturin build --quiet --profile "$profile" --out "$out"
}

make_tarball
if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
  make_deb
else
  echo "No .deb was made: it needs dpkg-deb and dpkg-shlibdeps (Debian's dpkg-dev)." >&2
fi
make_wheel
(cd "$out" && sha256sum -- polylogue* >SHA256SUMS && du -h -- polylogue*)
