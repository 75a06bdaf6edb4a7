import DBus

/// KWallet's two sides: a wallet that PAM opened at the login is open to programs of KDE, and locked
/// to those that use the Secret Service until one of them unlocks it.
enum OpenWallet {
  /// What KWallet calls itself, and where it says which wallets are open.
  static let services = ["org.kde.kwalletd5", "org.kde.kwalletd6"].map { name in
    (name: name, object: name.replacing("org.kde.", with: "/modules/"))
  }

  /// The path of the collection that is a wallet, which has the wallet's name as its label.
  ///
  /// Of two wallets that have one label, the path of the second one has a number as well, and its
  /// name is not known.
  static func collection(_ wallet: String) -> String {
    let name = wallet.utf8.map { byte in
      let character = Character(UnicodeScalar(byte))
      if byte < 0x80, character.isLetter || character.isNumber || character == "_" {
        return String(character)
      }
      return "_" + (byte < 0x10 ? "0" : "") + String(byte, radix: 16)
    }
    return "\(Provider.path)/collection/\(name.joined())"
  }
}

extension Provider {
  /// Whether a collection is a wallet of KWallet's that is open, so that its prompt asks nothing.
  ///
  /// - Throws: `DBusError`.
  func isOpenWallet(_ collection: String, until deadline: Deadline) async throws(DBusError) -> Bool
  {
    for service in OpenWallet.services {
      guard try await connection.owner(of: service.name, until: deadline) == name else { continue }
      let label = try await property("Label", of: collection, .collection, until: deadline)
      guard let wallet = label.text, OpenWallet.collection(wallet) == collection else {
        return false
      }
      let method = DBusMethod(name, service.object, "org.kde.KWallet", "isOpen")
      let answer = try await connection.call(method, [.string(wallet)], timeout: deadline.left)
      return answer.children.first?.boolean == true
    }
    return false
  }
}
