import CallCore
import CallWire
import LibWebSockets
import Switchboard

extension Operation {
    /// Blocks of users and phone numbers, and do-not-disturb.
    static let blocks = [
        Operation("GET", "/api/blocks", bearer: .user, parameters: []) { _ in .blocks(.list) },
        Operation("POST", "/api/blocks", bearer: .user, body: .json) { content throws(WireError) in
            switch try RequestBody.blocked(in: content.body) {
            case .user(let user): return .blocks(.block(user))
            case .number(let number): return .blocks(.blockNumber(number))
            }
        },
        Operation("DELETE", "/api/blocks/{userId}", bearer: .user) { content throws(WireError) in
            let id = content[.user]
            if let number = try blockedNumber(id) { return .blocks(.unblockNumber(number)) }
            return .blocks(.unblock(try UserID(inPath: id)))
        },
        Operation("PUT", "/api/me/dnd", bearer: .user, body: .json) { content throws(WireError) in
            .blocks(.doNotDisturb(until: try RequestBody.doNotDisturbEnd(in: content.body)))
        },
    ]

    /// Returns the number that the id of a blocked number contains; `nil` if it is the id of a user.
    private static func blockedNumber(_ id: String) throws(WireError) -> PhoneNumber? {
        guard id.hasPrefix(BlockBody.numberPrefix) else { return nil }
        // A blank in a path has become a plus sign, which has no place behind a digit.
        var hasDigit = false
        let written = id.dropFirst(BlockBody.numberPrefix.count).map { (character: Character) -> Character in
            hasDigit = hasDigit || character.isNumber
            return character == "+" && hasDigit ? " " : character
        }
        guard let number = PhoneNumber(normalizing: String(written)) else {
            throw .invalid(named: "number", "must be 1 to 18 digits, the country code first")
        }
        return number
    }
}
