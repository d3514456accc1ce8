# shellcheck shell=bash
# The Debian packages that Ringline needs, in one place: their names on Debian 12 (bookworm) and 13 (trixie). Sourced by
# Deploy/run, Deploy/test, Tests/run, Tests/sanitize, Tests/fresh and Sources/Clients/RinglineJS/build; the Dockerfile repeats the
# lists of Debian 13. `install_missing NAME…` installs only what is missing. No other file names a package that only one
# release has (HouseTests).

# debian_release -- prints the codename of this machine's Debian.
debian_release() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null | tr -d '"'; }

# packages_of RELEASE -- sets the lists of packages to those of a release. A release that is not known gets the names of
# the newest: Debian keeps a name until the library's ABI changes.
# shellcheck disable=SC2034 # used by the scripts that source this file
packages_of() {
    local cxx curl lws ssl uv haproxy docker
    case $1 in
        bookworm)
            cxx=libstdc++-12-dev curl=libcurl4 lws=libwebsockets17 ssl=libssl3 uv=libuv1
            haproxy=(liblua5.3-0 libopentracing-c-wrapper0)
            docker=(docker.io)
            promtool_package=prometheus
            ;;
        *)
            # Debian 13 renamed the libraries whose interface has a time in it, because a time has 64 bits there.
            cxx=libstdc++-14-dev curl=libcurl4t64 lws=libwebsockets19t64 ssl=libssl3t64 uv=libuv1t64
            haproxy=(liblua5.4-0 libopentracing-c-wrapper0t64 libjemalloc2)
            docker=(docker.io docker-cli)
            # The package that holds promtool; the tests unpack it.
            promtool_package=promtool
            ;;
    esac

    # What a Swift toolchain needs on a bare Debian to fetch its packages and to build.
    SWIFT_PACKAGES=(git ca-certificates binutils gcc libc6-dev "$cxx" pkg-config "$curl" libxml2 libncurses6
        libsqlite3-0 libuuid1 zlib1g-dev tzdata)

    # The C libraries that Ringline uses, with their headers.
    BUILD_PACKAGES=(libwebsockets-dev libuv1-dev libssl-dev libsqlite3-dev libcurl4-openssl-dev libpq-dev zlib1g-dev)

    # What the running server needs. libwebsockets-evlib-uv is opened at run time, so ldd does not list it; tzdata has the
    # rules of time zones, by which schedules are due.
    RUN_PACKAGES=("$lws" libwebsockets-evlib-uv "$ssl" "$uv" libsqlite3-0 "$curl" libpq5 libcap2 zlib1g ca-certificates
        tzdata)

    # With these, Sources/Clients/RinglineJS/build makes the package for JavaScript.
    JAVASCRIPT_PACKAGES=(wasi-libc binaryen)

    # With these, Deploy/package makes the Debian package.
    PACKAGE_PACKAGES=(python3)

    # What the tests need in addition. The last five test the package for JavaScript; Chromium shows its notifications over
    # the D-Bus of dbus-daemon.
    TEST_PACKAGES=(curl python3 python3-venv shellcheck coturn valgrind postgresql nodejs node-typescript chromium
        firefox-esr dbus-daemon)

    # What Deploy/test needs, such as systemd and the libraries that nginx and HAProxy are linked with. Then what builds
    # images without a docker engine, and what runs a docker engine.
    DEPLOYMENT_PACKAGES=(python3 python3-venv shellcheck systemd libpcre2-8-0 libcrypt1 zlib1g "${haproxy[@]}")
    IMAGE_PACKAGES=(buildah podman runc debootstrap)
    ENGINE_PACKAGES=("${docker[@]}" docker-compose)

    # With these, Tests/fresh makes a pristine Debian that has a network of its own.
    FRESH_PACKAGES=(git debootstrap slirp4netns iproute2 util-linux procps)
}
packages_of "$(debian_release)"

say() { printf '\033[1m==> %s\033[0m\n' "$*" >&2; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# update_package_lists [sudo] -- fetches the package lists. A fresh machine often updates itself: wait for that instead of
# failing. apt-get waits for the lock of dpkg by its option, but not for the lock of the lists.
update_package_lists() {
    local until=$((SECONDS + 300)) said
    until said=$("$@" env LC_ALL=C apt-get -qq -o DPkg::Lock::Timeout=300 update 2>&1); do
        if [[ $said != *'Could not get lock'* ]] || [ "$SECONDS" -ge "$until" ]; then
            printf '%s\n' "$said" >&2
            return 1
        fi
        sleep 1
    done
}

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
    update_package_lists "${as_root[@]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" \
        >/dev/null
}

# debian_root RELEASE FOLDER -- makes debootstrap's smallest Debian, which installs from where this machine does.
debian_root() {
    local release=$1 root=$2 sources
    debootstrap --variant=minbase "$release" "$root" >"$root.log" 2>&1 || { tail "$root.log" >&2; return 1; }
    # shellcheck disable=SC2016 # the variables are apt's, not the shell's
    sources=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' | sort -u |
        awk -v from="$(debian_release)" -v to="$release" '{ sub("^" from, to, $2); all[$1 " " $2] = all[$1 " " $2] " " $3 }
            END { for (each in all) print "deb " each all[each] }')
    [ -z "$sources" ] || printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
    apt-config dump | grep -iE '^Acquire::[a-z]+::Proxy ' >"$root/etc/apt/apt.conf.d/90host" || true
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
