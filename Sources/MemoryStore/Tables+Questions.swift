import CallCore
import Switchboard

/// What is asked of the memory.
extension Tables {
    func answer(_ question: Question) -> Answer {
        switch question {
        case .history(let user, let limit, let before): .history(history(of: user, limit: limit, before: before))
        case .timeline(let choice): timeline(of: choice)
        }
    }

    private func history(of user: UserID, limit: Int, before: CallNumber?) -> [CallRecord] {
        guard limit > 0 else { return [] }
        let numbers = (numbersByUser[user] ?? []).reversed().lazy
        return numbers.drop { number in before.map { number.rawValue >= $0.rawValue } ?? false }
            .prefix(limit)
            .compactMap { rows[$0]?.call }
    }

    private func timeline(of choice: CallChoice) -> Answer {
        for number in (numbersByID[choice.id] ?? []).reversed() {
            guard let row = rows[number], let call = row.call, choice.fits(call) else { continue }
            return .timeline(call, row.events)
        }
        return .timeline(nil, [])
    }
}
