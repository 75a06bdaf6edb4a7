import CSessionToolsGIO
import CSessionToolsSecret
import Glibc
import SecretStores

/// The encrypted file that libsecret uses where there is no Secret Service, as in a sandbox.
enum LibsecretFile {
  /// An item with the attributes that its program gave it.
  struct Item: Sendable {
    let attributes: [String: String]
    let secret: SecretBytes
  }

  /// The path that libsecret uses: `keyrings/default.keyring` in the user's data directory.
  ///
  /// - Throws: `unavailable` if this user has no home directory.
  static var standardPath: String {
    get throws(StoreError) { "\(try UserDirectory.data.path)/keyrings/default.keyring" }
  }

  /// Reads all items of a file with libsecret.
  ///
  /// Outside of a sandbox, libsecret takes the file's path and its password only from the
  /// environment. So they are set there, and the old values restored afterward, which is safe only
  /// in a program without other threads.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - password: The file's password.
  /// - Returns: The items.
  /// - Throws: `unavailable` when there is no file, `invalidKey` for a password with a NUL or one
  ///   that is not UTF-8, `wrongKey` when the password is wrong or the file is damaged, which
  ///   libsecret does not distinguish.
  static func items(
    at path: String, password: SecretBytes
  ) throws(StoreError) -> [Item] {
    // libsecret treats a missing file as empty.
    guard unsafe access(path, R_OK) == 0 else {
      throw StoreError(
        .unavailable, store: path, reason: "there is no such file, or it cannot be read",
        errno: errno)
    }
    let text = password.copyBytes()
    guard !text.contains(0), let text = String(validating: text, as: UTF8.self) else {
      throw StoreError(
        .invalidKey, store: path, reason: "the password is not UTF-8, or contains a NUL")
    }
    let environment = [
      "SECRET_BACKEND": "file", "SECRET_FILE_TEST_PATH": path, "SECRET_FILE_TEST_PASSWORD": text,
    ]
    let before = environment.map { name, _ in
      (name, unsafe getenv(name).map { unsafe String(cString: $0) })
    }
    for (name, value) in environment { unsafe setenv(name, value, 1) }
    defer {
      for (name, value) in before {
        if let value { unsafe setenv(name, value, 1) } else { unsafe unsetenv(name) }
      }
    }
    return try search(path)
  }

  private static func search(_ path: String) throws(StoreError) -> [Item] {
    // Searching without attributes finds all items.
    let everything = unsafe g_hash_table_new(g_str_hash, g_str_equal)
    defer { unsafe g_hash_table_unref(everything) }
    var error: UnsafeMutablePointer<GError>?
    let flags = guint(SESSION_TOOLS_SEARCH_ALL | SESSION_TOOLS_SEARCH_LOAD_SECRETS)
    let list = unsafe secret_password_searchv_sync(nil, everything, flags, nil, &error)
    defer { unsafe g_list_free_full(list, g_object_unref) }
    if let error = unsafe error {
      defer { unsafe g_error_free(error) }
      throw refused(path, unsafe String(cString: error.pointee.message))
    }
    var items: [Item] = []
    var next = unsafe list
    while let element = unsafe next {
      let item = unsafe OpaquePointer(element.pointee.data)
      guard let secret = unsafe secret_retrievable_retrieve_secret_sync(item, nil, nil) else {
        throw refused(path, "an item in it cannot be opened")
      }
      defer { unsafe secret_value_unref(UnsafeMutableRawPointer(secret)) }
      var count: gsize = 0
      let start = unsafe secret_value_get(secret, &count)
      items.append(
        Item(
          attributes: unsafe attributes(of: item),
          secret: unsafe SecretBytes(UnsafeRawBufferPointer(start: start, count: Int(count)))))
      unsafe next = unsafe element.pointee.next
    }
    return items
  }

  private static func attributes(of item: OpaquePointer?) -> [String: String] {
    let table = unsafe secret_retrievable_get_attributes(item)
    defer { unsafe g_hash_table_unref(table) }
    var (iterator, name, value) = unsafe (
      GHashTableIter(), gpointer?.none, gpointer?.none
    )
    unsafe g_hash_table_iter_init(&iterator, table)
    var attributes: [String: String] = [:]
    while unsafe g_hash_table_iter_next(&iterator, &name, &value) != 0 {
      guard let name = unsafe name?.assumingMemoryBound(to: CChar.self),
        let value = unsafe value?.assumingMemoryBound(to: CChar.self)
      else { continue }
      unsafe attributes[String(cString: name)] = unsafe String(cString: value)
    }
    return attributes
  }

  private static func refused(_ path: String, _ reason: String) -> StoreError {
    StoreError(
      .wrongKey, store: path,
      reason: "libsecret cannot open it: \(reason)",
      remedy: "Check that the password is right and the file is unchanged")
  }
}
