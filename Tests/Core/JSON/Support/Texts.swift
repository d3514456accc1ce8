import JSON

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

/// Returns a text as a JSON string, with its quotes.
func quoted(_ text: String) -> String {
    var json = JSONWriter()
    json.value(text)
    return String(decoding: json.bytes, as: UTF8.self)
}

/// Returns the reason why a text is refused as JSON; `nil` if it is one object.
func fault(_ text: [UInt8], _ names: MemberNames = MemberNames(["callId", "sdp"])) -> JSONFault? {
    do throws(JSONFault) {
        _ = try JSONObject(text, names: names)
        return nil
    } catch { return error }
}
