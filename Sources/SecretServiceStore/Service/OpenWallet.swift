import SessionToolsDBus

/// KWallet's two interfaces: a wallet that PAM opened at the login is open to KDE programs, and
/// locked to users of the Secret Service until one of them unlocks it.
enum OpenWallet {
  /// KWallet's names on the bus, and the objects that report which wallets are open.
  ///
  /// In newer versions of KDE Frameworks 6 the service is a separate program, `ksecretd`, and
  /// `kwalletd6` is one of its clients.
  static let services = [
    (name: "org.kde.kwalletd5", object: "/modules/kwalletd5"),
    (name: "org.kde.kwalletd6", object: "/modules/kwalletd6"),
    (name: "org.kde.ksecretd", object: "/ksecretd"),
  ]

  /// Returns the path of a wallet's collection, which has the wallet's name as its label.
  ///
  /// If two wallets have the same label, the path of the second one also has a number, and its name
  /// is unknown.
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
  /// Returns whether a collection is an open KWallet wallet, whose prompt asks no question.
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
      } catch let error where error.saysGone {
        // A later ksecretd may not report it. The wallet counts as closed, because it might ask a
        // person.
        return false
      }
    }
    return false
  }
}
