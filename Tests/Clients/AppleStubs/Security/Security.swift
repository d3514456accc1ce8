// The names are Apple's, which documents them.
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The part of Apple's Security that the example for iPhones uses, for compiling it where there is no Apple SDK. Declarations
// as in https://developer.apple.com/documentation/security/keychain-items; nothing is kept. The types of Core Foundation
// are Swift's here.

public typealias CFString = String
public typealias CFDictionary = [String: Any]
public typealias CFTypeRef = AnyObject
public typealias OSStatus = Int32

public let kSecClass: CFString = "class"
public let kSecClassGenericPassword: CFString = "genp"
public let kSecAttrService: CFString = "svce"
public let kSecAttrAccessible: CFString = "pdmn"
public let kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly: CFString = "cku"
public let kSecValueData: CFString = "v_Data"
public let kSecReturnData: CFString = "r_Data"
public let errSecSuccess: OSStatus = 0

@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus { 0 }
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
