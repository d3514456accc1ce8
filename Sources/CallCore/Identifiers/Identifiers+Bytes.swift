/// Identifiers from the bytes of a text.
///
/// The form is checked before a `String` is made of the bytes: reading the bytes of a `String` costs several times as
/// much.
extension CallID {
    /// Creates a call id; `nil` if the bytes do not have the form.
    public init?(_ text: ArraySlice<UInt8>) {
        guard Alphabet.call.admits(text) else { return nil }
        self.text = String(decoding: text, as: UTF8.self)
    }
}

extension UserID {
    /// Creates a user id; `nil` if the bytes do not have the form.
    public init?(_ text: ArraySlice<UInt8>) {
        guard Alphabet.user.admits(text) else { return nil }
        self.text = String(decoding: text, as: UTF8.self)
    }
}

extension DeviceID {
    /// Creates a device id; `nil` if the bytes do not have the form.
    public init?(_ text: ArraySlice<UInt8>) {
        guard Alphabet.user.admits(text) else { return nil }
        self.text = String(decoding: text, as: UTF8.self)
    }
}
