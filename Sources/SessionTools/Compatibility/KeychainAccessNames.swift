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
  /// Blocks, and reports no error: reading gives `nil`, and **a change that fails is lost**, for
  /// example while the keychain is locked. The error is a notice (`SessionEvent.storeNotice`), for
  /// programs that observe events. Use `get(_:)` and `set(_:key:)` for what must not be lost.
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
  ///
  /// The names are part of the names of keychains, and never change.
  public enum ProtocolType: String, Sendable {
    case ftp, ftpAccount, http, irc, nntp, pop3, smtp, socks, imap, ldap, appleTalk, afp, telnet
    case ssh, ftps, https, httpProxy, httpsProxy, ftpProxy, smb, rtsp, rtspProxy, daap, eppc, ipp
    case nntps, ldaps, telnetS, imaps, ircs, pop3S
  }

  /// Names the keychain of a server's passwords: the service `https://example.com:8443`, of the
  /// protocol and the server's name and port alone.
  ///
  /// An address without a server's name is an empty service: every use throws `invalidName`.
  ///
  /// - Parameters:
  ///   - server: The server's address.
  ///   - protocolType: The protocol.
  ///   - accessGroup: The group of programs that share the keychain.
  public init(server: URL, protocolType: ProtocolType, accessGroup: String? = nil) {
    let name = server.host(percentEncoded: true)?.lowercased() ?? ""
    // Foundation leaves out the brackets of an IPv6 address.
    let host = name.contains(":") ? "[\(name)]" : name
    let port = server.port.map { ":\($0)" } ?? ""
    self.init(
      service: name.isEmpty ? "" : "\(protocolType.rawValue)://\(host)\(port)",
      accessGroup: accessGroup)
  }

  /// Names the keychain of a server's passwords, as the initializer with a `URL`; the address may
  /// lack its scheme.
  public init(server: String, protocolType: ProtocolType, accessGroup: String? = nil) {
    let address = URL(string: server.contains("://") ? server : "//\(server)")
    self.init(
      server: address ?? URL(filePath: "/"), protocolType: protocolType, accessGroup: accessGroup)
  }
}
