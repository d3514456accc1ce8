import COpenSSL
import Glibc

/// Why the certificates of a file are not a whole chain, so that devices cannot check the first one.
package enum ChainFault: Sendable, Equatable {
    /// The issuer of the last certificate of the chain, which has this number from 1, is neither in the file nor a root
    /// of this machine.
    case missing(issuer: String, of: Int)
    /// The certificate with this number, from 1, is not that of the issuer of the certificate `subject` before it.
    case unrelated(number: Int, subject: Int, issuer: String)
}

/// An X.509 certificate: its validity period, and the check whether a private key belongs to the certificate.
package struct Certificate: Sendable, Equatable {
    /// The start of the validity period, in seconds since 1970.
    package let notBeforeSeconds: Int64
    /// The end of the validity period, in seconds since 1970.
    package let notAfterSeconds: Int64
    /// The place where the chain of the file breaks off before a root that devices know; `nil` if it does not.
    package let chainFault: ChainFault?
    /// The certificates behind the first one that devices check: all except those that are self-signed.
    package let issuers: [Issuer]
    private let der: [UInt8]

    /// The validity period of a certificate behind the first one.
    package struct Issuer: Sendable, Equatable {
        /// Its place in the file, from 1.
        package let number: Int
        /// The start of the validity period, in seconds since 1970.
        package let notBeforeSeconds: Int64
        /// The end of the validity period, in seconds since 1970.
        package let notAfterSeconds: Int64
    }

    /// Reads the first certificate of a PEM text; the first one of a chain is the server's own.
    ///
    /// Wraps `d2i_X509`, `X509_get0_notBefore`, `X509_get0_notAfter`.
    ///
    /// - Throws: ``KeyError`` if there is no PEM, no certificate, or a malformed certificate.
    package init(pem: String) throws(KeyError) {
        self = try withoutErrorQueue { () throws(KeyError) in
            let wanted = "a certificate in PEM"
            let blocks = try PEM.blocks(of: pem, wanted: wanted)
            guard let block = blocks.first(where: { $0.label == "CERTIFICATE" }) else {
                throw blocks.first.map { .otherKind(FileKind.words(forLabel: $0.label), wanted: wanted) } ?? .notPEM
            }
            guard let pointer = Self.pointer(block.der) else { throw .invalidCertificate }
            defer { X509_free(pointer) }
            guard let from = Self.seconds(X509_get0_notBefore(pointer)),
                let until = Self.seconds(X509_get0_notAfter(pointer))
            else { throw .invalidCertificate }
            let chain = blocks.filter { $0.label == "CERTIFICATE" }.map(\.der)
            return Certificate(
                notBeforeSeconds: from,
                notAfterSeconds: until,
                chainFault: Self.fault(of: chain),
                issuers: chain.indices.dropFirst().compactMap { Self.issuer(chain[$0], number: $0 + 1) },
                der: block.der
            )
        }
    }

    private init(
        notBeforeSeconds: Int64,
        notAfterSeconds: Int64,
        chainFault: ChainFault?,
        issuers: [Issuer],
        der: [UInt8]
    ) {
        self.notBeforeSeconds = notBeforeSeconds
        self.notAfterSeconds = notAfterSeconds
        self.chainFault = chainFault
        self.issuers = issuers
        self.der = der
    }

    /// Returns whether a private key belongs to this certificate.
    ///
    /// Wraps `d2i_AutoPrivateKey`, `X509_check_private_key`.
    ///
    /// - Parameter privateKey: PEM: PKCS#8, SEC 1 or PKCS#1, without a passphrase.
    /// - Returns: false for a valid key that belongs to another certificate.
    /// - Throws: ``KeyError`` if there is no PEM, an encrypted key, or no private key.
    package func fits(privateKey: String) throws(KeyError) -> Bool {
        try withoutErrorQueue { () throws(KeyError) in
            let wanted = "the private key of the certificate, in PEM"
            let blocks = try PEM.blocks(of: privateKey, wanted: wanted)
            guard let block = blocks.first(where: { $0.label.hasSuffix("PRIVATE KEY") }) else {
                throw blocks.first.map { .otherKind(FileKind.words(forLabel: $0.label), wanted: wanted) } ?? .notPEM
            }
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

    /// Returns where a chain breaks off: each certificate must be issued by the one behind it.
    ///
    /// A certificate that is there twice in succession counts once. Wraps `X509_check_issued`.
    private static func fault(of chain: [[UInt8]]) -> ChainFault? {
        var last: (number: Int, der: [UInt8])?
        for (index, der) in chain.enumerated() where der != last?.der {
            defer { last = (index + 1, der) }
            guard let last, let subject = pointer(last.der) else { continue }
            defer { X509_free(subject) }
            let issuer = pointer(der)
            defer { X509_free(issuer) }
            guard let issuer, X509_check_issued(issuer, subject) == X509_V_OK else {
                let name = text(of: X509_get_issuer_name(subject))
                return .unrelated(number: index + 1, subject: last.number, issuer: name)
            }
        }
        guard let last, let top = pointer(last.der) else { return nil }
        defer { X509_free(top) }
        return missingIssuer(of: top).map { .missing(issuer: $0, of: last.number) }
    }

    /// Returns the validity period of a certificate behind the first one; `nil` for a self-signed one, since devices use
    /// the root that they have.
    private static func issuer(_ der: [UInt8], number: Int) -> Issuer? {
        guard let certificate = pointer(der) else { return nil }
        defer { X509_free(certificate) }
        guard X509_NAME_cmp(X509_get_issuer_name(certificate), X509_get_subject_name(certificate)) != 0,
            let from = seconds(X509_get0_notBefore(certificate)), let until = seconds(X509_get0_notAfter(certificate))
        else { return nil }
        return Issuer(number: number, notBeforeSeconds: from, notAfterSeconds: until)
    }

    /// Returns the issuer of the last certificate of a chain; `nil` if the certificate is self-signed, or comes from a
    /// root of the system.
    ///
    /// Wraps `X509_STORE_CTX_get1_issuer`.
    private static func missingIssuer(of certificate: OpaquePointer) -> String? {
        guard let issuer = X509_get_issuer_name(certificate),
            X509_NAME_cmp(issuer, X509_get_subject_name(certificate)) != 0
        else { return nil }
        if let store = X509_STORE_new(), let context = X509_STORE_CTX_new() {
            defer {
                X509_STORE_CTX_free(context)
                X509_STORE_free(store)
            }
            var root: OpaquePointer?
            if X509_STORE_set_default_paths(store) == 1, X509_STORE_CTX_init(context, store, certificate, nil) == 1,
                X509_STORE_CTX_get1_issuer(&root, context, certificate) == 1
            {
                X509_free(root)
                return nil
            }
        }
        return text(of: issuer)
    }

    /// Wraps `X509_NAME_oneline`.
    private static func text(of name: OpaquePointer?) -> String {
        guard let text = X509_NAME_oneline(name, nil, 0) else { return "" }
        defer { ringline_openssl_free(text) }
        return String(cString: text)
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
