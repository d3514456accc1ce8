"""Certificates that `openssl` does not make."""

import datetime
import pathlib

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def write_expired(folder: pathlib.Path) -> datetime.datetime:
    """Writes a certificate that expired a day ago to `c.pem`, and its key to `k.pem`; returns when it expired."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now, day = datetime.datetime.now(datetime.UTC), datetime.timedelta(days=1)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - 3 * day).not_valid_after(now - day).sign(key, hashes.SHA256())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "c.pem").write_bytes(made.public_bytes(pem))
    (folder / "k.pem").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return now - day
