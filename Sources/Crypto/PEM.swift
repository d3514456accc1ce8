import COpenSSL

/// One PEM block, with its label and its decoded bytes (RFC 7468).
struct PEM {
    let label: String
    let der: [UInt8]

    /// Reads the one block of a text.
    ///
    /// Several certificates are a chain, of which the first is read. Several blocks of any other kind are refused,
    /// because the server must not guess which of them is meant. Wraps `PEM_read_bio`.
    init(_ text: String) throws(KeyError) {
        let blocks = try PEM.blocks(of: text)
        guard let first = blocks.first else { throw .notPEM }
        // A block with the name of the curve may precede the key (`openssl ecparam -genkey`).
        let keys = blocks.filter { $0.label != "EC PARAMETERS" }
        guard let block = keys.first else { throw .unsupported(first.label) }
        guard keys.count == 1 || block.label == "CERTIFICATE" else { throw .several }
        self = block
    }

    private init(label: String, der: [UInt8]) {
        self.label = label
        self.der = der
    }

    /// Returns all blocks of a text in their order; empty if there is no block.
    static func blocks(of text: String) throws(KeyError) -> [PEM] {
        guard !text.isEmpty else { return [] }
        // A memory BIO reads the bytes in place, so all blocks are read while the pointer to the bytes is valid.
        return try Array(text.utf8).withUnsafeBufferPointer { bytes throws(KeyError) -> [PEM] in
            guard let bio = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { throw .failed }
            defer { BIO_free(bio) }
            var blocks: [PEM] = []
            // A file of keys has only a few blocks. The limit of 16 is for a large file that was named by mistake.
            while blocks.count < 16, let block = try next(in: bio) { blocks.append(block) }
            return blocks
        }
    }

    private static func next(in bio: OpaquePointer) throws(KeyError) -> PEM? {
        var label: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var data: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard PEM_read_bio(bio, &label, &header, &data, &count) == 1 else { return nil }
        defer {
            ringline_openssl_free(label)
            ringline_openssl_free(header)
            // The block may be a private key.
            if let data { OPENSSL_cleanse(data, count) }
            ringline_openssl_free(data)
        }
        // "Proc-Type: 4,ENCRYPTED" is the only header that keys have.
        if let header, header.pointee != 0 { throw .encrypted }
        guard let label, let data else { return nil }
        return PEM(label: String(cString: label), der: Array(UnsafeBufferPointer(start: data, count: count)))
    }
}

/// Returns the text that a C function writes into a memory BIO; nil if the function fails.
func textWritten(by write: (OpaquePointer) -> Int32) -> String? {
    guard let bio = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(bio) }
    guard write(bio) == 1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(bio))
    guard BIO_read(bio, &bytes, Int32(clamping: bytes.count)) == bytes.count else { return nil }
    return String(decoding: bytes, as: UTF8.self)
}
