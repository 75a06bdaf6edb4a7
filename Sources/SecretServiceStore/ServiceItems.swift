import DBus
import SessionToolsBase

/// Reading items by their paths.
extension ServiceLink {
  /// How many small items are asked for at once: together at most a tenth of what the bus
  /// carries.
  private static let largestBatchCount = 250

  /// What some items hold, as the provider keeps it; those that are locked, or gone, are left
  /// out.
  ///
  /// Large ones are asked for one after the other.
  func lines(
    of paths: [String], _ size: ItemAttributes.Size, until deadline: Deadline
  ) async throws(DBusError) -> [String: SecretBytes] {
    var lines: [String: SecretBytes] = [:]
    var rest = paths[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(size == .small ? Self.largestBatchCount : 1))
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
  /// Of some items, those that are there, and those of them that are locked.
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

  /// The attributes of an item; `nil` when it is gone.
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

  /// Of some items of the same name, the one that was changed last.
  ///
  /// There are several only for moments, or when a program died in one.
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
  /// Whether one of the items whose secrets were asked for is locked, or not there any more.
  ///
  /// For that reason alone KeePassXC (of a locked one) and KWallet (of one that is gone) give none
  /// of the others either.
  var saysLockedOrGone: Bool {
    saysLocked || saysGone || name == "org.freedesktop.DBus.Error.InvalidArgs"
  }

  /// Whether an object is not there (any more).
  var saysGone: Bool {
    [
      "org.freedesktop.Secret.Error.NoSuchObject", "org.freedesktop.DBus.Error.UnknownObject",
      "org.freedesktop.DBus.Error.UnknownMethod",
    ].contains(name)
  }
}
