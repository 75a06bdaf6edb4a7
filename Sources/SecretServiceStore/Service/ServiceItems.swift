import SessionToolsDBus
import SecretStores

/// Reading items by their paths.
extension ServiceLink {
  /// How many small items are read at once: together at most a tenth of the bus's limit.
  private static let maximumBatchCount = 250

  /// Returns the secrets of some items, as the provider keeps them; locked or missing items are
  /// left out.
  ///
  /// Large items are read one after the other.
  func lines(
    of paths: [String], _ size: ItemAttributes.Size, until deadline: Deadline
  ) async throws(DBusError) -> [String: SecretBytes] {
    var lines: [String: SecretBytes] = [:]
    var rest = paths[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(size == .small ? Self.maximumBatchCount : 1))
      let wanted = Set(batch)
      rest = rest.dropFirst(batch.count)
      let answer = try await provider.call(
        Provider.path, .service, "GetSecrets", [.objectPaths(batch), .objectPath(session.path)],
        until: deadline)
      guard let entries = answer.first?.entries, answer[0].type.hasPrefix("a{o") else {
        throw .unexpected("GetSecrets")
      }
      for (path, secret) in entries where wanted.contains(path) {
        guard secret.type == ServiceSession.secretType else { throw .unexpected("GetSecrets") }
        guard let line = session.open(secret) else { throw .otherKey() }
        lines[path] = line
      }
    }
    return lines
  }
}

extension Provider {
  /// Returns which of some items exist, and which of these are locked.
  func present(
    of paths: [String], until deadline: Deadline
  ) async throws(DBusError) -> (all: [String], locked: [String]) {
    var (all, locked): ([String], [String]) = ([], [])
    for path in paths {
      do throws(DBusError) {
        let isLocked = try await property("Locked", of: path, .item, until: deadline).boolean
        all.append(path)
        if isLocked == true { locked.append(path) }
      } catch let error where error.saysGone {
        continue
      }
    }
    return (all, locked)
  }

  /// Returns the attributes of an item; `nil` when the item is gone.
  func attributes(
    of path: String, until deadline: Deadline
  ) async throws(DBusError) -> [String: String]? {
    do throws(DBusError) {
      return try await property("Attributes", of: path, .item, until: deadline).entries
        .compactMapValues(\.text)
    } catch let error where error.saysGone {
      return nil
    }
  }

  /// Returns the label of an item, which a person sees; `nil` when the item is gone.
  func label(of path: String, until deadline: Deadline) async throws(DBusError) -> String? {
    do throws(DBusError) {
      return try await property("Label", of: path, .item, until: deadline).text
    } catch let error where error.saysGone {
      return nil
    }
  }

  /// Returns the most recently changed of some items with the same name.
  ///
  /// There are several only briefly, or after a program died in between.
  func newest(
    of paths: [String], until deadline: Deadline
  ) async throws(DBusError) -> String? {
    guard paths.count > 1 else { return paths.first }
    var newest: (path: String, time: UInt64)?
    for path in paths {
      do throws(DBusError) {
        let time = try await property("Modified", of: path, .item, until: deadline).unsigned64 ?? 0
        if newest.map({ ($0.time, $0.path) < (time, path) }) ?? true { newest = (path, time) }
      } catch let error where error.saysGone {
        continue
      }
    }
    return newest?.path
  }
}

extension DBusError {
  /// Whether one of the items in a request is locked or missing.
  ///
  /// In that case KeePassXC (for a locked item) and KWallet (for a missing one) return none of the
  /// other secrets either.
  var saysLockedOrGone: Bool {
    saysLocked || saysGone || name == "org.freedesktop.DBus.Error.InvalidArgs"
  }

  /// Whether an object does not exist, or no longer does.
  var saysGone: Bool {
    [
      "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject",
      "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.DBus.Error.UnknownInterface",
    ].contains(name)
  }
}
