import COpenSSL

/// One PEM block, with its label and its decoded bytes (RFC 7468).
struct PEM {
    let label: String
    let der: [UInt8]

    /// Reads the one block of a text.
    ///
    /// Several certificates are a chain, of which the first is read. Several blocks of any other kind are refused,
    /// because the server must not guess which of them is meant. `wanted` is the wanted kind in words, for errors. Wraps
    /// `PEM_read_bio`.
    init(_ text: String, wanted: String) throws(KeyError) {
        // A block with the name of the curve may precede the key (`openssl ecparam -genkey`).
        let keys = try PEM.blocks(of: text, wanted: wanted).filter { $0.label != "EC PARAMETERS" }
        guard let block = keys.first else {
            throw .otherKind(FileKind.words(forLabel: "EC PARAMETERS"), wanted: wanted)
        }
        guard keys.count == 1 || block.label == "CERTIFICATE" else { throw .several }
        self = block
    }

    private init(label: String, der: [UInt8]) {
        self.label = label
        self.der = der
    }

    /// Returns all blocks of a text in their order, at least one.
    ///
    /// A text that has lost its line ends, as in an environment variable, is read as if it still had them.
    ///
    /// - Throws: ``KeyError/damagedPEM`` if the text has the first line of a block, but no block; another one if it has no
    ///   block at all, or is JSON, in which a block may be a member's text.
    static func blocks(of text: String, wanted: String) throws(KeyError) -> [PEM] {
        let isJSON = text.first { !$0.isWhitespace } == "{"
        let blocks = isJSON ? [] : try blocksAsWritten(text)
        guard blocks.isEmpty else { return blocks }
        guard !isJSON, text.contains("-----BEGIN ") else {
            throw FileKind(text).map { .otherKind($0.description, wanted: wanted) } ?? .notPEM
        }
        let mended = try blocksAsWritten(withLineEnds(text))
        guard !mended.isEmpty else { throw .damagedPEM }
        return mended
    }

    /// Returns the text with each line of a block in a line of its own.
    ///
    /// `\n` and `\r` as they are escaped in JSON and in files of variables count as line ends, too.
    private static func withLineEnds(_ text: String) -> String {
        var lines: [String] = []
        var rest = text.replacing("\\r", with: "").replacing("\\n", with: "\n")[...]
        while let begin = rest.firstRange(of: "-----BEGIN "),
            let header = rest[begin.upperBound...].firstRange(of: "-----"),
            let end = rest[header.upperBound...].firstRange(of: "-----END "),
            let footer = rest[end.upperBound...].firstRange(of: "-----")
        {
            lines.append(String(rest[begin.lowerBound..<header.upperBound]))
            // Base64 has no blank, and OpenSSL reads lines of any length up to its limit only.
            var body = rest[header.upperBound..<end.lowerBound].filter { !$0.isWhitespace }[...]
            while !body.isEmpty {
                lines.append(String(body.prefix(64)))
                body = body.dropFirst(64)
            }
            lines.append(String(rest[end.lowerBound..<footer.upperBound]))
            rest = rest[footer.upperBound...]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func blocksAsWritten(_ text: String) throws(KeyError) -> [PEM] {
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
