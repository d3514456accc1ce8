/// Every limit of the call core, with its reason (protocol, section 8).
public enum Limits {
    /// An identifier's length in bytes (section 1).
    public static let identifierBytes = 128
}
