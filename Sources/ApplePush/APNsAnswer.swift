import CallCore
import FoundationEssentials
import OutboundHTTP
import Switchboard

/// Apple's answer to one push: `{"reason":…,"timestamp":…}` with an error, nothing with 200.
struct APNsAnswer: Decodable {
    private let reason: String?
    private let timestamp: Int64?

    /// What is reported for this response; a body that is not Apple's leaves reason and timestamp out.
    static func result(of response: HTTPResponse) -> PushResult {
        guard response.status != 200 else { return .answered(status: 200, reason: nil, timestamp: nil) }
        // A proxy or a gateway in between may answer in HTML: then the status is all there is.
        let answer = try? JSONDecoder().decode(Self.self, from: Data(response.body))
        return .answered(
            status: response.status,
            reason: answer?.reason.flatMap(checked),
            timestamp: answer?.timestamp.map { Moment(milliseconds: $0) }
        )
    }

    /// Apple's reasons are words such as `BadDeviceToken`; they are kept, shown and counted, so nothing else passes.
    private static func checked(_ reason: String) -> String? {
        let isWord = reason.utf8.allSatisfy { HTTPHeader.isLetterOrDigit($0) }
        return isWord && (1...64).contains(reason.utf8.count) ? reason : nil
    }
}

extension HTTPHeader {
    fileprivate static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
