"""Consistency of the files in Deploy with each other, and with the server that they run."""

import json
import os
import platform
import re
import shutil
import subprocess

import pytest
import yaml
from conftest import DEPLOY, ROOT, run_packages, swift_packages
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
OBJECTS = [
    one
    for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    for one in yaml.safe_load_all(path.read_text())
    if one
]
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()


def of(kind: str) -> list[dict]:
    return [one for one in OBJECTS if one["kind"] == kind]


def only(kind: str) -> dict:
    (one,) = of(kind)
    return one


def pod() -> dict:
    return only("StatefulSet")["spec"]["template"]


def container() -> dict:
    (one,) = pod()["spec"]["containers"]
    return one


def holds(labels: dict, wanted: dict) -> bool:
    return wanted.items() <= labels.items()


def test_the_server_reads_every_variable():
    known = set(re.findall(r"`(RINGLINE_[A-Z_]+)`", (ROOT / "Sources/Server/ringline/ringline.docc/Settings.md").read_text()))
    assert len(known) > 20
    kinds = (".yaml", ".service", ".conf")
    files = [path for path in DEPLOY.rglob("*") if path.suffix in kinds or path.name == "Dockerfile"]
    named = {name for path in files for name in re.findall(r"\bRINGLINE_[A-Z_]+\b", path.read_text())}
    assert "RINGLINE_TURN_SECRET_FILE" in named
    # Package.swift reads RINGLINE_PINNED when the image is built, and `ringline demo` the other one.
    assert not named - known - {"RINGLINE_PINNED", "RINGLINE_DEMO_PUBLISHED_ON"}, "misspelt, or not in the table of Settings.md"


def server_version() -> str:
    source = (ROOT / "Sources/Server/ringline/Version.swift").read_text()
    return re.search(r'static let text = "([^"]+)"', source).group(1)


def test_the_image_is_labelled_with_the_servers_version():
    assert set(re.findall(r"^ARG VERSION=(.*)$", DOCKERFILE, re.M)) == {server_version()}
    assert container()["image"].endswith(f":{server_version()}")


def test_the_changelog_begins_with_the_servers_version():
    releases = re.findall(r"^## (\S+) - \d{4}-\d\d-\d\d$", (DEPLOY / "CHANGELOG.md").read_text(), re.M)
    assert releases[0] == server_version() and releases[-1] == "0.1.0"


def test_both_packages_for_javascript_have_the_servers_version():
    """One is a folder of modules to copy, the other one module for npm."""
    folder, npm = (
        json.loads((ROOT / "Sources/Clients/RinglineJS" / path).read_text()) for path in ("package.json", "npm/package.json")
    )
    assert folder["version"] == npm["version"] == server_version()
    shared = ("name", "description", "license", "type", "types", "sideEffects")
    assert all(folder[name] == npm[name] for name in shared)
    assert npm["exports"].items() >= {name: folder["exports"][name] for name in (".", "./service-worker.js")}.items()


def test_packing_for_npm_empties_no_folder_of_others(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "mine"}')
    command = [ROOT / "Sources/Clients/RinglineJS/pack", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert result.returncode == 1 and result.stderr == f"pack: {tmp_path} has other files: name a new folder\n"
    assert (tmp_path / "package.json").exists()


def test_the_sources_that_the_image_copies_are_a_package_without_the_tests(tmp_path):
    copied = re.findall(r"^COPY (Package\.swift|Sources) \S+$", DOCKERFILE, re.M)
    # The stage that builds the package for JavaScript copies the sources too.
    assert set(copied) == {"Package.swift", "Sources"}
    shutil.copy(ROOT / "Package.swift", tmp_path)
    shutil.copytree(ROOT / "Sources", tmp_path / "Sources")
    describe = ["swift", "package", "describe", "--type", "json"]
    pinned = os.environ | {"RINGLINE_PINNED": "1"}
    run = subprocess.run(describe, cwd=tmp_path, env=pinned, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    described = json.loads(run.stdout)
    assert "ringline" in [target["name"] for target in described["targets"]]
    assert not [target["path"] for target in described["targets"] if not target["path"].startswith("Sources")]


def test_the_library_is_the_version_that_was_reviewed():
    """Another version has other faults. Decision 0011 says what to check before the decision names a new version."""
    decision = (ROOT / "Sources/Server/ringline/ringline.docc/Decisions/0011-libwebsockets-4-1-6.md").read_text()
    known = dict(re.findall(r"Debian (\d+) ships libwebsockets (\S+)\.\s", decision))
    release = platform.freedesktop_os_release()["VERSION_ID"]
    ask = ["dpkg-query", "-W", "-f", "${Version}", next(name for name in run_packages() if "websockets" in name)]
    assert subprocess.run(ask, capture_output=True, text=True, timeout=10).stdout == known[release]


def sbom(*parts: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [DEPLOY / "sbom", "0.1.0"], input="\n".join(parts), capture_output=True, text=True, timeout=10
    )


def test_the_list_of_an_images_parts_is_cyclonedx():
    parts = [f"swift https://github.com/{name} {version}" for name, version in swift_packages().items()]
    text = sbom(*parts, "deb libstdc++6 12.2.0-14+deb12u1 amd64", "deb libcap2 1:2.66-4+deb12u3+b1 arm64").stdout
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(text) is None
    named = {part["name"]: part for part in json.loads(text)["components"]}
    assert {name.split("/")[1] for name in swift_packages()} | {"libstdc++6", "libcap2"} == set(named)
    distro = f"debian-{platform.freedesktop_os_release()['VERSION_ID']}"
    assert named["libcap2"]["purl"] == f"pkg:deb/debian/libcap2@1%3A2.66-4%2Bdeb12u3%2Bb1?arch=arm64&distro={distro}"
    assert (
        text
        == sbom(*parts[::-1], "deb libcap2 1:2.66-4+deb12u3+b1 arm64", "deb libstdc++6 12.2.0-14+deb12u1 amd64").stdout
    )


def test_the_list_names_the_c_library_that_is_linked_into_the_client_core():
    """The library is not installed in an image, so no scanner finds it there."""
    (archive,) = re.findall(r"^libc=(/\S+)$", (ROOT / "Sources/Clients/RinglineJS/build").read_text(), flags=re.M)
    owner = subprocess.run(["dpkg-query", "-S", archive], capture_output=True, text=True, check=True, timeout=10).stdout
    package = owner.split(":")[0]
    (command,) = re.findall(r"^    && (dpkg-query .*) >/out/parts$", DOCKERFILE, flags=re.M)
    line = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, timeout=10).stdout
    (part,) = json.loads(sbom(line.rstrip("\n")).stdout)["components"]
    assert part["name"] == package and part["purl"].startswith(f"pkg:deb/debian/{package}@")
    # Both images get the parts of both stages.
    copied = dict(re.findall(r"^COPY --from=(\S+) /out/parts (/parts/\S+)$", DOCKERFILE, flags=re.M))
    assert set(copied) == {"build", "javascript"} and len(set(copied.values())) == 2
    assert DOCKERFILE.count("cat /parts/* - | sbom") == 2


@pytest.mark.parametrize("line", ["pip six 1.17", 'deb a"b 1 amd64', "deb a\\b 1 amd64"])
def test_a_line_that_names_no_part_is_refused(line):
    done = sbom("deb libpq5 15.0 amd64", line)
    assert done.returncode == 1 and done.stdout == "" and "sbom: " in done.stderr


def test_the_manual_page_says_what_the_help_says():
    def argument(name: str, abstract: str, kind: str = "option") -> dict:
        names = [{"kind": "long", "name": name}]
        return {"kind": kind, "valueName": name, "names": names, "abstract": abstract, "shouldDisplay": True}

    serve = [argument("listen", ".local is 'a' name\\"), argument("version", "Show the version.", "flag")]
    commands = [
        {
            "commandName": "serve",
            "abstract": "Run the server.",
            "arguments": serve,
            "discussion": "One.\n\nA:  b\nC:  d",
        },
        {"commandName": "doctor", "abstract": "Check.", "arguments": [*serve, argument("quick", "Soon.", "flag")]},
        {"commandName": "help", "abstract": "Help."},
    ]
    top = {"command": {"abstract": "Call signaling.", "discussion": "See below.", "subcommands": commands}}
    ask = [DEPLOY / "manual", "1.2.3", "2026-11-28"]
    page = subprocess.run(ask, input=json.dumps(top), capture_output=True, text=True, timeout=10, check=True).stdout
    assert page.startswith('.TH RINGLINE 1 "2026-11-28" "ringline 1.2.3"')
    assert "\n.SS ringline serve\nRun the server.\n.PP\nOne.\n.PP\n.nf\nA:  b\nC:  d\n.fi\n.TP\n" in page
    assert "\\fB\\-\\-listen\\fR \\fI<listen>\\fR\n\\&.local is \\(aqa\\(aq name\\e\n" in page
    doctor = page[page.index(".SS ringline doctor") : page.index(".SH FILES")]
    assert "quick" in doctor and "listen" not in doctor and "the options of \\fBringline serve\\fR as well" in doctor
    assert "version" not in doctor and "ringline help" not in page


def test_both_images_have_the_same_settings():
    stages = {stage.split("\n")[0]: stage for stage in re.split(r"^FROM ", DOCKERFILE, flags=re.M)}
    minimal, whole = (
        stage[stage.index("ARG VERSION") :].split("\n\n")[0].replace("PATH=/usr/bin ", "").strip()
        for name, stage in stages.items()
        if name in ("scratch AS minimal", "runtime AS debian")
    )
    assert minimal == whole


def test_every_builder_accepts_the_dockerfile():
    for pattern in (r"^# *syntax=", r"<<", r"--mount=", r"COPY .*--(chmod|link)"):
        assert not re.search(pattern, DOCKERFILE, re.M), f"{pattern}: classic docker or buildah 1.28 does not accept it"


def test_no_service_runs_as_root_or_has_needless_rights():
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] and service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert service["mem_limit"] and service["cpus"] and service["pids_limit"] and service["healthcheck"], name
    for path in (DEPLOY / "Dockerfile", DEPLOY / "coturn/Dockerfile"):
        users = re.findall(r"^USER (.*)$", path.read_text(), re.M)
        assert users and all(re.fullmatch(r"[1-9]\d+:[1-9]\d+", user) for user in users), path
    assert pod()["spec"]["securityContext"]["runAsNonRoot"] is True
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True


def test_compose_gives_both_services_the_turn_secret_as_a_file():
    assert all("turn-secret" in service["secrets"] for service in COMPOSE["services"].values())
    assert all(set(secret) == {"file"} for secret in COMPOSE["secrets"].values())
    environment = COMPOSE["services"]["ringline"]["environment"]
    assert environment["RINGLINE_TURN_SECRET_FILE"] == "/run/secrets/turn-secret"
    assert not [line for line in (DEPLOY / "coturn/turnserver.conf").read_text().split("\n") if "auth-secret=" in line]


def test_coturn_does_not_start_with_only_its_public_address():
    """With the public address alone, two devices that both need TURN cannot reach each other.

    coturn denies its own address range as a peer.
    """
    done = subprocess.run(
        [DEPLOY / "coturn/start"],
        env={"PATH": os.environ["PATH"], "TURN_EXTERNAL_IP": "203.0.113.9"},
        capture_output=True,
        text=True,
        timeout=10,
    )
    assert done.returncode == 64 and "PUBLIC/PRIVATE" in done.stderr
    lines = (DEPLOY / "coturn/turnserver.conf").read_text().splitlines()
    assert "denied-peer-ip=::ffff:0.0.0.0-::ffff:255.255.255.255" in lines, "IPv4-mapped addresses would reach 10.0.0.1"
    assert "no-tcp-relay" in lines, "a UDP relay must not be a proxy to other hosts' TCP ports"


def test_the_ingress_does_not_log_a_browsers_token():
    annotations = only("Ingress")["metadata"]["annotations"]
    assert annotations["nginx.ingress.kubernetes.io/enable-access-log"] == "false", "its lines contain the query string"


def test_every_supervisor_waits_longer_than_the_server_takes_to_stop():
    assert int(COMPOSE["services"]["ringline"]["stop_grace_period"].removesuffix("s")) > 10
    assert pod()["spec"]["terminationGracePeriodSeconds"] > 10
    assert int(re.search(r"^TimeoutStopSec=(\d+)", (DEPLOY / "ringline.service").read_text(), re.M).group(1)) > 10


def test_kubernetes_selectors_find_the_pod():
    labels = pod()["metadata"]["labels"]
    assert holds(labels, only("StatefulSet")["spec"]["selector"]["matchLabels"])
    for service in of("Service"):
        assert holds(labels, service["spec"]["selector"]), service["metadata"]["name"]
    assert holds(labels, only("PodDisruptionBudget")["spec"]["selector"]["matchLabels"])
    assert holds(labels, only("NetworkPolicy")["spec"]["podSelector"]["matchLabels"])
    assert {one["metadata"].get("namespace", "ringline") for one in OBJECTS} == {"ringline"}


def test_kubernetes_ports_match_those_of_the_container():
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    for service in of("Service"):
        assert all(port["targetPort"] in ports for port in service["spec"]["ports"])
    for rule in only("NetworkPolicy")["spec"]["ingress"]:
        assert all(port["port"] in ports for port in rule["ports"])
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container()[probe]["httpGet"]["port"] in ports
    settings = only("ConfigMap")["data"]
    assert settings["RINGLINE_LISTEN"] == f"0.0.0.0:{ports['http']}"
    assert settings["RINGLINE_ADMIN_LISTEN"] == f"0.0.0.0:{ports['admin']}"


def test_the_ingress_leads_only_to_the_port_for_clients():
    services = {one["metadata"]["name"]: one for one in of("Service")}
    for rule in only("Ingress")["spec"]["rules"]:
        for path in rule["http"]["paths"]:
            backend = path["backend"]["service"]
            (port,) = services[backend["name"]]["spec"]["ports"]
            assert port["name"] == backend["port"]["name"] == "http"


def test_prometheus_finds_the_admin_port():
    monitor = only("ServiceMonitor")["spec"]
    found = [one for one in of("Service") if holds(one["metadata"]["labels"], monitor["selector"]["matchLabels"])]
    assert [[port["name"] for port in one["spec"]["ports"]] for one in found] == [["admin"]]
    assert [(one["port"], one["path"]) for one in monitor["endpoints"]] == [("admin", "/metrics")]
    # The alerts and the dashboard use the job's name, which is the Service's name unless `jobLabel` names a label.
    named = found[0]["metadata"]["labels"].get(monitor.get("jobLabel")) or found[0]["metadata"]["name"]
    assert set(re.findall(r'job="([^"]*)"', (DEPLOY / "alerts.yaml").read_text())) == {named}


def test_no_proxy_ends_a_websocket_that_the_server_keeps():
    """The server pings every 25 s and closes connections that are silent for 60 s."""
    annotations = only("Ingress")["metadata"]["annotations"]
    nginx = (DEPLOY / "nginx.conf").read_text()
    for side in ("read", "send"):
        assert int(annotations[f"nginx.ingress.kubernetes.io/proxy-{side}-timeout"]) >= 600
        assert int(re.search(rf"proxy_{side}_timeout (\d+)s;", nginx).group(1)) >= 600


@pytest.mark.parametrize("fault", ["lock", "other"])
def test_scripts_wait_for_a_machine_that_is_updating_itself(tmp_path, fault):
    said = {
        "lock": "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (apt-get)",
        "other": "E: The repository is not signed.",
    }[fault]
    attempts = tmp_path / "attempts"
    fake = tmp_path / "apt-get"
    fake.write_text(f"""#!/bin/sh
echo "$*" >>{attempts}
[ "$(wc -l <{attempts})" -ge 3 ] && exit
echo "{said}" >&2
exit 100
""")
    fake.chmod(0o755)
    result = subprocess.run(
        ["bash", "-eu", "-c", f". {DEPLOY}/packages.bash; update_package_lists"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    made = attempts.read_text().splitlines()
    if fault == "lock":
        assert (result.returncode, len(made), result.stderr) == (0, 3, "")
    else:
        assert result.returncode == 1 and len(made) == 1 and said in result.stderr
    assert all("DPkg::Lock::Timeout=300 update" in line for line in made)
