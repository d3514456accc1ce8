package import CallCore
import JSON

/// The responses to requests that were carried out and return no object of their own (protocol, section 5).
package enum AcceptedBody {
    /// `{"ok":true}`.
    package static let ok = Array(#"{"ok":true}"#.utf8)

    /// Returns the response to `GET /api/web-push`, with the key that `PushManager.subscribe` takes.
    package static func applicationServerKey(_ key: String) -> [UInt8] {
        accepted { json in
            json.name("applicationServerKey")
            json.plain(key)
        }
    }

    /// Returns the response to a signal: the place of the signal in its call's log, and the state of the call after the
    /// signal.
    package static func signal(_ call: CallID, epoch: UInt32, seq: UInt64, _ state: StateChange) -> [UInt8] {
        accepted { json in
            json.name("callId")
            json.plain(call.text)
            json.name("epoch")
            json.value(epoch)
            json.name("seq")
            json.value(seq)
            json.write(state)
        }
    }

    /// Returns the response to `POST /api/schedules/{id}/ring`, with the call that has begun.
    package static func ringing(_ call: CallID, epoch: UInt32) -> [UInt8] {
        accepted { json in
            json.name("callId")
            json.plain(call.text)
            json.name("epoch")
            json.value(epoch)
        }
    }

    /// Returns the response to `POST /api/logout-all`, with the moment of the revocation: tokens that were issued up to
    /// this moment are refused.
    package static func tokensRevoked(before moment: Moment) -> [UInt8] {
        accepted { json in
            json.name("before")
            json.value(moment.milliseconds)
        }
    }

    /// Returns the response to `PUT /api/me/dnd`: the end of do-not-disturb, or null.
    package static func doNotDisturb(until moment: Moment?) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("until")
        if let moment { json.value(moment.milliseconds) } else { json.null() }
        json.endObject()
        return json.bytes
    }

    private static func accepted(_ more: (inout JSONWriter) -> Void) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.name("ok")
        json.value(true)
        more(&json)
        json.endObject()
        return json.bytes
    }
}
