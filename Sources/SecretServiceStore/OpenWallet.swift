import DBus

/// KWallet's two sides: a wallet that PAM opened at the login is open to programs of KDE, and locked
/// to those that use the Secret Service until one of them unlocks it.
enum OpenWallet {
  /// What KWallet calls itself, and where it says which wallets are open.
  ///
  /// In newer versions of KDE Frameworks 6 the service is a program of its own, `ksecretd`, and
  /// `kwalletd6` is one of its clients.
  static let services = [
    (name: "org.kde.kwalletd5", object: "/modules/kwalletd5"),
    (name: "org.kde.kwalletd6", object: "/modules/kwalletd6"),
    (name: "org.kde.ksecretd", object: "/ksecretd"),
  ]

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
      do throws(DBusError) {
        let answer = try await connection.call(method, [.string(wallet)], timeout: deadline.left)
        return answer.children.first?.boolean == true
      } catch let error where error.saysUnknown {
        // What ksecretd will not say in a later version; a person would be asked if it is closed.
        return false
      }
    }
    return false
  }
}

extension DBusError {
  /// Whether a program does not have what was called.
  fileprivate var saysUnknown: Bool {
    saysGone || name == "org.freedesktop.DBus.Error.UnknownInterface"
  }
}
