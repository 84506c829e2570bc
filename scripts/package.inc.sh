# Tarballs and Debian packages of what scripts/install.sh installed; release.sh and check-install.sh source it. They depend on the files
# alone, and have the time SOURCE_DATE_EPOCH. Needs fail, work (a folder) and version; PACK_LEVEL is the level of xz, 9 by default.

# pack ARCHIVE FOLDER PATH...: the paths in the folder.
pack() {
  tar -C "$2" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw -cf - "${@:3}" |
    xz -T1 "-${PACK_LEVEL-9}" > "$1"
}

# pack_tarballs PREFIX OUT: two, named as the folder PREFIX; the debug information is in the second.
pack_tarballs() {
  local name=${1##*/} debug
  mapfile -d '' -t debug < <(cd "$1/.." && find "$name" -path '*/.debug/*' -print0 | LC_ALL=C sort -z)
  pack "$2/$name-debug.tar.xz" "$1/.." "${debug[@]}"
  pack "$2/$name.tar.xz" "$1/.." --exclude=.debug "$name"
}

# newest_glibc FILE...: the version of glibc that the files want.
newest_glibc() {
  # softcuda's libraries of one version want none.
  readelf -VW "$@" | sed -n 's/.*Name: GLIBC_\([0-9.]*\).*/\1/p' | sort -V | tail -n 1
}

# programs PREFIX: the libraries and programs.
programs() {
  find "$1" -type f \( -name 'lib*.so*' -o -name _native.abi3.so -o -name cushim-probe -o -name softcuda-run \) ! -name '*.debug'
}

# pack_deb ROOT ARCH OUT: one package of what is under ROOT, for all of it is of one version.
pack_deb() {
  local root=$work/package files needed
  cp -a "$1" "$root"
  # dpkg has a list of its own.
  rm "$root/usr/share/cushim/installed.txt"
  find "$root" -type d -exec chmod 755 {} +
  mkdir "$root/DEBIAN"
  mapfile -t files < <(programs "$root")
  needed="libc6 (>= $(newest_glibc "${files[@]}"))"
  [[ $(readelf -d "${files[@]}") != *libgcc_s* ]] || needed+=', libgcc-s1 | libgcc1'
  cat > "$root/DEBIAN/control" <<CONTROL
Package: cushim
Version: $version
Architecture: $2
Maintainer: cushim maintainers <maintainers@cushim.invalid>
Installed-Size: $(du -sk --apparent-size "$root/usr" | cut -f1)
Depends: $needed
Section: libdevel
Priority: optional
Description: CUDA driver API for one binary
 A library for programs that use the CUDA driver: it finds the driver and its
 versioned functions at run time. With headers, a static library, the driver in
 software, softcuda, for tests without a GPU, softcuda-run, and cushim-probe.
CONTROL
  echo 'activate-noawait ldconfig' > "$root/DEBIAN/triggers"
  (cd "$root" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums)
  dpkg-deb --root-owner-group -Zxz "-z${PACK_LEVEL-9}" --build "$root" "$3/cushim_${version}_$2.deb" >/dev/null
  rm -r "$root"
}

# debian_root ROOT COMMAND...: dpkg for packages of any architecture, below a root that has nothing else.
debian_root() {
  mkdir -p "$1"/var/lib/dpkg/{info,updates}
  touch "$1/var/lib/dpkg/status"
  dpkg --root="$1" --force-depends --force-architecture --force-script-chrootless --force-not-root --force-unsafe-io --log=/dev/null "${@:2}" \
    > "$work/log" 2>&1 || { cat "$work/log" >&2; fail "dpkg ${*:2} fails (above)"; }
}

# purge_deb ROOT: removes the package, and nothing is left.
purge_deb() {
  debian_root "$1" --purge cushim
  [[ -z $(find "$1/usr" -type f 2>/dev/null) ]] || fail "the package leaves files behind: $(find "$1/usr" -type f)"
  rm -r "$1"
}
