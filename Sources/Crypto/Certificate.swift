import COpenSSL
import Glibc

/// An X.509 certificate: its validity period, and the check whether a private key belongs to the certificate.
public struct Certificate: Sendable, Equatable {
    /// The start of the validity period, in seconds since 1970.
    public let notBeforeSeconds: Int64
    /// The end of the validity period, in seconds since 1970.
    public let notAfterSeconds: Int64
    private let der: [UInt8]

    /// Reads the first certificate of a PEM text; the first one of a chain is the server's own.
    ///
    /// Wraps `d2i_X509`, `X509_get0_notBefore`, `X509_get0_notAfter`.
    ///
    /// - Throws: ``KeyError`` if there is no PEM, no certificate, or a malformed certificate.
    public init(pem: String) throws(KeyError) {
        self = try withoutErrorQueue { () throws(KeyError) in
            let blocks = try PEM.blocks(of: pem)
            guard !blocks.isEmpty else { throw .notPEM }
            guard let block = blocks.first(where: { $0.label == "CERTIFICATE" }) else { throw .noCertificate }
            guard let pointer = Self.pointer(block.der) else { throw .invalidCertificate }
            defer { X509_free(pointer) }
            guard let from = Self.seconds(X509_get0_notBefore(pointer)),
                let until = Self.seconds(X509_get0_notAfter(pointer))
            else { throw .invalidCertificate }
            return Certificate(notBeforeSeconds: from, notAfterSeconds: until, der: block.der)
        }
    }

    private init(notBeforeSeconds: Int64, notAfterSeconds: Int64, der: [UInt8]) {
        self.notBeforeSeconds = notBeforeSeconds
        self.notAfterSeconds = notAfterSeconds
        self.der = der
    }

    /// Returns whether a private key belongs to this certificate.
    ///
    /// Wraps `d2i_AutoPrivateKey`, `X509_check_private_key`.
    ///
    /// - Parameter privateKey: PEM: PKCS#8, SEC 1 or PKCS#1, without a passphrase.
    /// - Returns: false for a valid key that belongs to another certificate.
    /// - Throws: ``KeyError`` if there is no PEM, an encrypted key, or no private key.
    public func fits(privateKey: String) throws(KeyError) -> Bool {
        try withoutErrorQueue { () throws(KeyError) in
            let blocks = try PEM.blocks(of: privateKey)
            guard !blocks.isEmpty else { throw .notPEM }
            guard let block = blocks.first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else { throw .publicKey }
            guard block.label != "ENCRYPTED PRIVATE KEY" else { throw .encrypted }
            let pointer = block.der.withUnsafeBufferPointer { der in
                var place = der.baseAddress
                return d2i_AutoPrivateKey(nil, &place, der.count)
            }
            guard let key = KeyHandle(pointer) else { throw .invalid }
            guard let certificate = Self.pointer(der) else { throw .invalidCertificate }
            defer { X509_free(certificate) }
            return X509_check_private_key(certificate, key.pointer) == 1
        }
    }

    private static func pointer(_ der: [UInt8]) -> OpaquePointer? {
        der.withUnsafeBufferPointer { der in
            var place = der.baseAddress
            return d2i_X509(nil, &place, der.count)
        }
    }

    /// Wraps `ASN1_TIME_to_tm`, `timegm`.
    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var fields = tm()
        guard let time, ASN1_TIME_to_tm(time, &fields) == 1 else { return nil }
        return Int64(timegm(&fields))
    }
}
