/// The response to one HTTP request, sent unchanged with `Content-Length` (204 and 304 have none).
package struct Response: Equatable, Sendable {
    /// The status code, 200–599.
    package var status: Int
    /// `Content-Type`; nil leaves the line out.
    package var contentType: String?
    /// Further header lines, in order; CR, LF and NUL in them become spaces.
    package var headers: [HTTPField]
    /// The body, up to 1 MiB or so; it is not sent for HEAD, 204 and 304.
    package var body: [UInt8]
    /// The problem that the body reports, for the log; `nil` if it reports none.
    package var problem: Problem?

    /// A problem as the server describes it.
    package struct Problem: Sendable, Equatable {
        /// The code for programs.
        package let code: String
        /// The sentence for people.
        package let message: String

        /// Creates a problem of a code and a sentence.
        package init(code: String, message: String) {
            self.code = code
            self.message = message
        }
    }

    /// Creates a response of these parts.
    package init(
        status: Int,
        contentType: String? = nil,
        headers: [HTTPField] = [],
        body: [UInt8] = [],
        problem: Problem? = nil
    ) {
        self.status = status
        self.contentType = contentType
        self.headers = headers
        self.body = body
        self.problem = problem
    }
}
