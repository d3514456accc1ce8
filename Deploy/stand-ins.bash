# shellcheck shell=bash
# Builds images without a registry. Sourced by Deploy/test where there is no docker engine. The functions use buildah
# and podman, with replacements (stand-ins) for the two public base images, made of Debian's own packages; this machine's
# Swift toolchain is mounted where the Dockerfile puts that of the public image. This verifies every package name, path,
# stage, user and check in the Dockerfile. It cannot verify that the public images have the same contents. Needs root.

images=${RINGLINE_IMAGE_STATE:-/var/cache/ringline-images}

# engine_of_our_own -- sets up storage and settings that are separate from the machine's own podman.
engine_of_our_own() {
    mkdir -p "$images"
    cat >"$images/storage.conf" <<TEXT
[storage]
driver = "overlay"
graphroot = "$images/storage"
runroot = "$images/run"
TEXT
    # The limits are those of this process, which may set no higher ones for a container without CAP_SYS_RESOURCE, such
    # as podman's own defaults.
    cat >"$images/containers.conf" <<TEXT
[containers]
default_ulimits = ["nofile=$(ulimit -Hn):$(ulimit -Hn)", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[engine.runtimes]
runc = ["$(command -v runc)"]
TEXT
    export CONTAINERS_STORAGE_CONF=$images/storage.conf CONTAINERS_CONF=$images/containers.conf
}

build_with_buildah() { buildah bud --isolation chroot --pull-never --format docker --layers "$@"; }

# package_mirror -- prints the folder that git uses instead of https://github.com, if there is one.
package_mirror() {
    git config --get-regexp '^url\..*\.insteadof$' 2>/dev/null |
        awk '$2 == "https://github.com/" && /^url\.\// { sub(/^url\./, "", $1); sub(/\/?\.insteadof$/, "", $1); print $1; exit }'
}

toolchain() { dirname "$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")"; }

# The images that the Dockerfile names.
image_of() { sed -n "s/^ARG $1=//p" Deploy/Dockerfile; }
debian_image=$(image_of DEBIAN_IMAGE) swift_image=$(image_of SWIFT_IMAGE)

# debian_stand_in -- builds the slim image of Debian: minbase without documents and caches.
debian_stand_in() {
    ! podman image exists "docker.io/library/$debian_image" || return 0
    say "stand-in for $debian_image"
    local root=$images/slim release=${debian_image#debian:}
    rm -rf "$root"
    debian_root "${release%-slim}" "$root" || return 1
    rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale,info}/* "$root"/var/log/*.log
    printf 'path-exclude /usr/share/%s/*\n' doc man locale info >"$root/etc/dpkg/dpkg.cfg.d/docker"
    printf '%s\n' 'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache "";' \
        'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };' >"$root/etc/apt/apt.conf.d/docker-clean"
    tar -C "$root" --numeric-owner -cf - . |
        podman import -q --change 'CMD ["bash"]' - "docker.io/library/$debian_image" >/dev/null || return 1
    rm -rf "$root"
}

# swift_stand_in -- builds the image of Swift without a toolchain, of which a text of ours must reach the next stage.
swift_stand_in() {
    ! podman image exists "docker.io/library/$swift_image" || return 0
    say "stand-in for $swift_image"
    mkdir -p "$images/swift"
    cat >"$images/swift/Dockerfile" <<TEXT
FROM $debian_image
RUN mkdir -p /usr/lib/swift && echo none >/usr/lib/swift/toolchain
TEXT
    build_with_buildah -t "docker.io/library/$swift_image" "$images/swift" >"$images/swift.log" 2>&1 ||
        { tail -n 20 "$images/swift.log" >&2; return 1; }
}

# build_image ARGUMENT… -- builds one image from this checkout.
build_image() {
    local swift mirror mounts
    swift=$(toolchain) mirror=$(package_mirror)
    mounts=(-v "$swift:/opt/swift:ro")
    if [ -n "$mirror" ]; then
        printf '[url "%s/"]\n\tinsteadOf = https://github.com/\n' "$mirror" >"$images/gitconfig"
        mounts+=(-v "$mirror:$mirror:ro" -v "$images/gitconfig:/etc/gitconfig:ro")
    fi
    build_with_buildah "${mounts[@]}" "$@" >"$images/build.log" 2>&1 || { tail -n 40 "$images/build.log" >&2; return 1; }
}

# docker_of_our_own NAME… -- starts a docker engine for the duration of the test, with its own storage and podman's
# images, and builds the images ringline-NAME from Deploy/NAME. The engine does not change the machine's packet filter, so
# its containers cannot reach the network. Builds that need the network use the host's.
docker_of_our_own() {
    local name
    [ -n "${dockerd:-}" ] || start_docker || return 1
    for name; do
        DOCKER_BUILDKIT=0 docker build -q --network host -t "ringline-$name" "Deploy/$name" || return 1
    done
}

start_docker() {
    local socket=$images/docker/socket
    mkdir -p "$images/docker"
    dockerd --iptables=false --bridge=none --storage-driver=overlay2 --data-root "$images/docker/data" \
        --exec-root "$images/docker/exec" --pidfile "$images/docker/pid" --host "unix://$socket" \
        --default-ulimit "nofile=$(ulimit -Hn):$(ulimit -Hn)" >"$images/docker/log" 2>&1 &
    dockerd=$!
    trap 'kill "$dockerd" 2>/dev/null; wait "$dockerd" 2>/dev/null' EXIT
    export DOCKER_HOST=unix://$socket
    for _ in $(seq 100); do
        if docker info >/dev/null 2>&1; then break; fi
        sleep 0.2
    done
    local image
    for image in "docker.io/library/$debian_image" localhost/ringline:test; do
        podman save -q --format docker-archive "$image" | docker load -q || { tail "$images/docker/log"; return 1; }
    done
    docker tag localhost/ringline:test ringline:latest
}
