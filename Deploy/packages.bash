# shellcheck shell=bash
# The Debian 12 packages that Ringline needs, in one place. Sourced by Deploy/run, Deploy/test, Tests/run,
# Tests/sanitize, Tests/fresh and Sources/RinglineJS/build; the Dockerfile repeats RUN_PACKAGES in its runtime stage. `install_missing NAME…`
# installs only what is missing.

# The packages that a Swift toolchain needs on a bare Debian 12 to fetch its packages and to build.
# shellcheck disable=SC2034 # used by the scripts that source this file
SWIFT_PACKAGES=(git ca-certificates binutils gcc libc6-dev libstdc++-12-dev pkg-config libcurl4 libxml2 libncurses6
    libsqlite3-0 libuuid1 zlib1g-dev tzdata)

# The C libraries that Ringline uses, with their headers.
# shellcheck disable=SC2034
BUILD_PACKAGES=(libwebsockets-dev libuv1-dev libssl-dev libsqlite3-dev libcurl4-openssl-dev libpq-dev zlib1g-dev)

# The packages that the running server needs. libwebsockets-evlib-uv is opened at run time, so ldd does not list it;
# tzdata has the rules of time zones, by which schedules are due.
# shellcheck disable=SC2034
RUN_PACKAGES=(libwebsockets17 libwebsockets-evlib-uv libssl3 libuv1 libsqlite3-0 libcurl4 libpq5 libcap2 zlib1g
    ca-certificates tzdata)

# The packages with which Sources/RinglineJS/build makes the package for JavaScript.
# shellcheck disable=SC2034
JAVASCRIPT_PACKAGES=(wasi-libc binaryen)

# The packages that the tests need in addition. The last five test the package for JavaScript; Chromium shows its
# notifications over the D-Bus of dbus-daemon.
# shellcheck disable=SC2034
TEST_PACKAGES=(python3 python3-venv shellcheck coturn valgrind postgresql nodejs node-typescript chromium
    firefox-esr dbus-daemon)

# The packages that Deploy/test needs, such as systemd and the libraries that nginx and HAProxy are linked with. Then the packages
# that build images without a docker engine, and the packages that run a docker engine.
# shellcheck disable=SC2034
DEPLOYMENT_PACKAGES=(python3 python3-venv shellcheck systemd libpcre2-8-0 libcrypt1 zlib1g liblua5.3-0
    libopentracing-c-wrapper0)
# shellcheck disable=SC2034
IMAGE_PACKAGES=(buildah podman runc debootstrap)
# shellcheck disable=SC2034
ENGINE_PACKAGES=(docker.io docker-compose)

# The packages with which Tests/fresh makes a pristine Debian that has a network of its own.
# shellcheck disable=SC2034
FRESH_PACKAGES=(git debootstrap slirp4netns iproute2 util-linux procps)

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

install_missing() {
    local package missing=() as_root=()
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "not a Debian system: make sure that you have what these packages hold: $*"
        return 0
    fi
    for package in "$@"; do
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "missing packages, and no sudo here: as root, apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    say "apt-get install ${missing[*]}"
    # A fresh machine often updates itself: wait for that instead of failing.
    "${as_root[@]}" apt-get -qq -o DPkg::Lock::Timeout=300 update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" \
        >/dev/null
}

need_swift() {
    command -v swift >/dev/null || die "no swift on PATH: install the Swift 6.3 toolchain, https://www.swift.org/install/linux"
}

# prepare_python FOLDER REQUIREMENTS -- makes a virtual environment, unless it exists with these requirements. Nothing is
# compiled, because most files are never imported.
prepare_python() {
    local venv=$1 requirements=$2 stamp want
    stamp=$venv/stamp
    want=$(python3 --version; cat "$requirements")
    if [ ! -x "$venv/bin/python" ] || [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
        rm -rf "$venv"
        python3 -m venv "$venv" && "$venv/bin/python" -m pip install -q --no-compile --disable-pip-version-check -r "$requirements" ||
            return 1
        printf '%s\n' "$want" >"$stamp"
    fi
}
