"""Tests of the files in Deploy, used as an operator would use them. `Deploy/test` runs these tests."""

import pathlib
import re
import ssl
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "Deploy"
sys.path.insert(0, str(ROOT / "Tests/EndToEnd/support"))


def swift_packages() -> dict[str, str]:
    """Returns name (`apple/swift-log`) → version of the packages of an image, as Package.swift has them."""
    found = dict(re.findall(r'^ +dependency\("(.*)", "(.*)"\),$', (ROOT / "Package.swift").read_text(), re.M))
    assert len(found) == 3, "the pattern does not find the packages"
    return found


def run_packages(release: str = "$(debian_release)") -> list[str]:
    """Returns the Debian packages that the server needs on this release, by default on this machine's."""
    script = f'. Deploy/packages.bash; packages_of "{release}"; printf "%s\\n" "${{RUN_PACKAGES[@]}}"'
    return subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def replaced(text: str, *pairs: tuple[str, str]) -> str:
    """Returns the text with paths, hosts and ports replaced; the text must contain each old one."""
    for old, new in pairs:
        assert old in text, f"{old!r} is not in the file any more"
        text = text.replace(old, new)
    return text


@pytest.fixture(scope="session")
def certificate(tmp_path_factory) -> tuple[pathlib.Path, pathlib.Path, ssl.SSLContext]:
    """A certificate for localhost, its key, and a client's TLS context that trusts it."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    chain, secret = folder / "fullchain.pem", folder / "privkey.pem"
    chain.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return chain, secret, ssl.create_default_context(cafile=str(chain))
