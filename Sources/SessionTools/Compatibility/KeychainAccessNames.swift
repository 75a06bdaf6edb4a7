public import Foundation
public import SessionToolsBase

/// For code that comes from KeychainAccess.
extension Keychain {
  /// Returns a text: the same as `get(_:)`.
  ///
  /// - Throws: The same.
  public func getString(_ key: String) throws(StoreError) -> String? { try get(key) }

  /// The names of all items; none also when the keychain cannot be read.
  @available(*, deprecated, message: "takes a locked keychain for an empty one: use try keys()")
  public func allKeys() -> [String] {
    // The old method cannot report more.
    (try? keys()) ?? []
  }

  /// A text; setting `nil` removes the item.
  ///
  /// Blocks, and reports no error: reading gives `nil`, and setting changes nothing, also when the
  /// keychain is locked. The error is a notice (`SessionEvent.storeNotice`). Use `get(_:)` and
  /// `set(_:key:)` where the difference matters.
  public subscript(key: String) -> String? {
    get { noticed { () throws(StoreError) in try get(key) } ?? nil }
    nonmutating set {
      noticed { () throws(StoreError) in
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  /// A text: the same as without a label.
  public subscript(string key: String) -> String? {
    get { self[key] }
    nonmutating set { self[key] = newValue }
  }

  /// Bytes, as the subscript without a label.
  public subscript(data key: String) -> Data? {
    get { noticed { () throws(StoreError) in try getData(key) } ?? nil }
    nonmutating set {
      noticed { () throws(StoreError) in
        if let newValue { try set(newValue, key: key) } else { try remove(key) }
      }
    }
  }

  @discardableResult
  private func noticed<Value>(_ body: () throws(StoreError) -> Value) -> Value? {
    do throws(StoreError) {
      return try body()
    } catch {
      StoreReport.report(.notice(store: description, "a subscript failed: \(error)"))
      return nil
    }
  }

  // MARK: - Internet passwords

  /// The protocol of a server, whose passwords are apart from those of its others.
  public enum ProtocolType: String, Sendable {
    case ftp, ftpAccount, http, irc, nntp, pop3, smtp, socks, imap, ldap, appleTalk, afp, telnet
    case ssh, ftps, https, httpProxy, httpsProxy, ftpProxy, smb, rtsp, rtspProxy, daap, eppc, ipp
    case nntps, ldaps, telnetS, imaps, ircs, pop3S
  }

  /// Names the keychain of a server's passwords: the service `https://example.com:8443`, of the
  /// protocol and the server's name and port alone.
  ///
  /// - Parameters:
  ///   - server: The server's address, or its name.
  ///   - protocolType: The protocol.
  ///   - accessGroup: The group of programs that share the keychain.
  public init(server: URL, protocolType: ProtocolType, accessGroup: String? = nil) {
    // Without a scheme, the whole text is the name.
    let host = server.host(percentEncoded: false)?.lowercased() ?? server.relativeString
    let port = server.port.map { ":\($0)" } ?? ""
    self.init(service: "\(protocolType.rawValue)://\(host)\(port)", accessGroup: accessGroup)
  }

  /// Names the keychain of a server's passwords, as the initializer with an address.
  public init(server: String, protocolType: ProtocolType, accessGroup: String? = nil) {
    guard let address = URL(string: server), address.host() != nil else {
      self.init(service: "\(protocolType.rawValue)://\(server)", accessGroup: accessGroup)
      return
    }
    self.init(server: address, protocolType: protocolType, accessGroup: accessGroup)
  }
}
