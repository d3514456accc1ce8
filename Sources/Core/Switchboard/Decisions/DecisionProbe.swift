/// A question that an operator's check asks the app's backend; it is about no call.
package enum DecisionProbe {
    /// The question as JSON: its users are no users of the app's.
    package static let question = Array(
        #"{"caller":"ringline-doctor","to":["ringline-doctor"],"callId":"ringline-doctor","hasVideo":false,"token":{}}"#
            .utf8
    )

    /// Returns what is wrong with the body of a response, as the end of a sentence; `nil` = it is a decision.
    package static func fault(of body: [UInt8]) -> String? {
        var unknown: [String] = []
        do throws(DecisionResponse.Fault) {
            _ = try DecisionResponse.read(body, unknown: &unknown)
            return unknown.isEmpty ? nil : "its decision has a member that the server does not know: \(unknown[0])"
        } catch { return "its response is no decision: \(error.why)" }
    }
}
