"""Certificates for the test servers and for Ray: one CA each, valid for loopback addresses only."""

import datetime
import ipaddress
from pathlib import Path
from typing import List, Sequence, Tuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

VALID = datetime.timedelta(days=30)
LOOPBACK_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")


class CertificateAuthority:
    """Signs server and client certificates and keeps all its files in ``directory``."""

    def __init__(self, directory: Path, name: str = "rayscaler-e2e-ca"):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(self._name, self._name, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        builder = builder.add_extension(_key_usage(sign_certificates=True), critical=True)
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False
        )
        self.file = directory / "ca.crt"
        self.file.write_bytes(_pem(builder.sign(self._key, hashes.SHA256())))

    def server(self, file_name: str = "server", addresses: Sequence[str] = ()) -> Tuple[Path, Path]:
        """Certificate and key for 127.0.0.1, ::1, ``addresses`` and the names of the API service."""
        names: List[x509.GeneralName] = [x509.DNSName(name) for name in LOOPBACK_NAMES]
        names += [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1", *addresses)]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        return self._issue(file_name, subject, names, ExtendedKeyUsageOID.SERVER_AUTH)

    def client(self, user: str, groups: Sequence[str] = (), file_name: str = "") -> Tuple[Path, Path]:
        """Certificate and key for ``user``: the common name is the user, organizations the groups."""
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, user))
        name = file_name or f"client-{user.replace(':', '-')}"
        return self._issue(name, x509.Name(attributes), [], ExtendedKeyUsageOID.CLIENT_AUTH)

    def leaf(self, addresses: Sequence[str], dns: Sequence[str] = ("localhost",), ends: datetime.timedelta = VALID):
        """Certificate and key, as bytes, for both sides of a connection, as cert-manager makes them for Ray."""
        names: List[x509.GeneralName] = [x509.DNSName(name) for name in dns]
        names += [x509.IPAddress(ipaddress.ip_address(text)) for text in addresses]
        usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        return _pem(self._sign(key, x509.Name([]), names, usages, ends)), _key_bytes(key)

    def _issue(self, file_name, subject, names, usage) -> Tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        cert_file = self.directory / f"{file_name}.crt"
        key_file = self.directory / f"{file_name}.key"
        cert_file.write_bytes(_pem(self._sign(key, subject, names, [usage], VALID)))
        _write_key(key_file, key)
        return cert_file, key_file

    def _sign(self, key, subject, names, usages, ends) -> x509.Certificate:
        builder = _builder(subject, self._name, key.public_key(), ends)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_key_usage(sign_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False
        )
        return builder.sign(self._key, hashes.SHA256())


def addresses_of(certificate: bytes) -> List[str]:
    names = x509.load_pem_x509_certificate(certificate).extensions
    found = names.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(address) for address in found.get_values_for_type(x509.IPAddress)]


def service_account_key(directory: Path) -> Path:
    """A key that signs service-account tokens."""
    path = directory / "service-account.key"
    _write_key(path, rsa.generate_private_key(public_exponent=65537, key_size=2048))
    return path


def _builder(subject, issuer, public_key, ends=VALID) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + ends)
    )


def _key_usage(sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not sign_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=sign_certificates,
        crl_sign=sign_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_key(path: Path, key) -> None:
    path.touch(mode=0o600)
    path.write_bytes(_key_bytes(key))


def _key_bytes(key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
