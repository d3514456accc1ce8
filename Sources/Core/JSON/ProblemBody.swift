extension JSONWriter {
    /// Returns the body of an `application/problem+json` response (RFC 9457).
    ///
    /// The body's `type` is `about:blank`; `code`, `message` and `field` are members that RFC 9457 does not define.
    ///
    /// - Parameters:
    ///   - status: the HTTP status.
    ///   - title: the name of the kind of problem, plain text without quotes.
    ///   - code: the code for programs: lower case and `_`.
    ///   - message: a sentence for people.
    ///   - field: the name of the field that is missing or wrong; `nil` if no single field is.
    ///   - member: a further member, whose value needs no escape; `nil` = none.
    /// - Returns: the body, one JSON object.
    public static func problem(
        _ status: Int,
        title: String,
        code: String,
        message: String,
        field: String? = nil,
        adding member: (name: String, value: String)? = nil
    ) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("type")
        json.plain("about:blank")
        json.name("title")
        json.plain(title)
        json.name("status")
        json.value(status)
        json.problemMembers(code: code, message: message, field: field)
        if let member {
            json.name(member.name)
            json.plain(member.value)
        }
        json.endObject()
        return json.bytes
    }

    /// Writes an error as members: `code`, `message`, and, if a field is wrong, `field`.
    public mutating func problemMembers(code: String, message: String, field: String? = nil) {
        name("code")
        plain(code)
        name("message")
        value(message)
        if let field {
            name("field")
            value(field)
        }
    }
}
