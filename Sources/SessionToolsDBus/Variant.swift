import CSessionToolsGIO

/// A value that is sent over D-Bus.
///
/// A `GVariant` never changes and counts its references atomically: this justifies the unchecked
/// conformance.
@safe package final class Variant: @unchecked Sendable {
  /// For other C libraries; valid as long as this object exists.
  package let pointer: OpaquePointer

  /// Takes over a floating value, or one reference to any other value.
  package init(taking pointer: OpaquePointer) {
    unsafe self.pointer = unsafe g_variant_take_ref(pointer)
  }

  /// Adds a reference to a value that others also refer to.
  package init(sharing pointer: OpaquePointer) {
    unsafe self.pointer = unsafe g_variant_ref(pointer)
  }

  deinit {
    unsafe g_variant_unref(pointer)
  }
}

// MARK: Making values

extension Variant {
  private static func make(_ pointer: OpaquePointer?) -> Variant {
    guard let pointer = unsafe pointer else {
      preconditionFailure("GLib ends the process when there is no memory")
    }
    return unsafe Variant(taking: pointer)
  }

  /// Makes a string, which must not contain a NUL.
  package static func string(_ text: String) -> Variant {
    unsafe make(g_variant_new_string(text))
  }

  /// Makes an object path, which must be valid.
  package static func objectPath(_ path: String) -> Variant {
    unsafe make(g_variant_new_object_path(path))
  }

  package static func unsigned32(_ value: UInt32) -> Variant {
    unsafe make(g_variant_new_uint32(value))
  }

  package static func unsigned64(_ value: UInt64) -> Variant {
    unsafe make(g_variant_new_uint64(guint64(value)))
  }

  package static func signed32(_ value: Int32) -> Variant {
    unsafe make(g_variant_new_int32(value))
  }

  /// Makes a reference to a descriptor, by its position among those that are sent.
  package static func handle(_ position: Int32) -> Variant {
    unsafe make(g_variant_new_handle(position))
  }

  package static func boolean(_ value: Bool) -> Variant {
    unsafe make(g_variant_new_boolean(value ? 1 : 0))
  }

  /// Makes a value that carries its own type.
  package static func variant(_ value: Variant) -> Variant {
    unsafe make(g_variant_new_variant(value.pointer))
  }

  package static func tuple(_ members: [Variant]) -> Variant {
    var pointers: [OpaquePointer?] = unsafe members.map { unsafe $0.pointer }
    return withExtendedLifetime(members) {
      unsafe make(g_variant_new_tuple(&pointers, gsize(pointers.count)))
    }
  }

  /// Makes an array of elements of one type, such as `o` or `{sv}`.
  package static func array(_ elements: [Variant], of type: String) -> Variant {
    var pointers: [OpaquePointer?] = unsafe elements.map { unsafe $0.pointer }
    let elementType = unsafe g_variant_type_new(type)
    defer { unsafe g_variant_type_free(elementType) }
    return withExtendedLifetime(elements) {
      unsafe make(g_variant_new_array(elementType, &pointers, gsize(pointers.count)))
    }
  }

  package static func objectPaths(_ paths: [String]) -> Variant {
    array(paths.map(objectPath), of: "o")
  }

  /// Makes a dictionary of type `a{ss}`.
  package static func strings(_ values: [String: String]) -> Variant {
    array(values.map { entry(string($0), string($1)) }, of: "{ss}")
  }

  /// Makes a dictionary of type `a{sv}`.
  package static func properties(_ values: [String: Variant]) -> Variant {
    array(values.map { entry(string($0), variant($1)) }, of: "{sv}")
  }

  /// Makes an array of bytes.
  package static func bytes(_ bytes: [UInt8]) -> Variant {
    let type = unsafe g_variant_type_new("y")
    defer { unsafe g_variant_type_free(type) }
    return unsafe make(g_variant_new_fixed_array(type, bytes, gsize(bytes.count), 1))
  }

  /// Makes an entry of a dictionary, which is an array of them.
  package static func entry(_ key: Variant, _ value: Variant) -> Variant {
    unsafe make(g_variant_new_dict_entry(key.pointer, value.pointer))
  }
}

// MARK: Reading values

extension Variant {
  /// The type, such as `(ao)`.
  package var type: String { unsafe String(cString: g_variant_get_type_string(pointer)) }

  /// The string or object path; `nil` for anything else.
  package var text: String? {
    guard ["s", "o"].contains(type) else { return nil }
    return unsafe String(cString: g_variant_get_string(pointer, nil))
  }

  /// The object path, which can be called; `nil` for anything else, even a string that looks like a
  /// path.
  package var objectPath: String? { type == "o" ? text : nil }

  /// The object paths of an array; `nil` for anything else.
  package var objectPaths: [String]? { type == "ao" ? texts : nil }

  package var boolean: Bool? {
    type == "b" ? unsafe g_variant_get_boolean(pointer) != 0 : nil
  }

  package var unsigned32: UInt32? {
    type == "u" ? unsafe UInt32(g_variant_get_uint32(pointer)) : nil
  }

  package var unsigned64: UInt64? {
    type == "t" ? unsafe UInt64(g_variant_get_uint64(pointer)) : nil
  }

  /// The position of a descriptor among those received; `nil` for anything else.
  package var handle: Int? {
    type == "h" ? unsafe Int(g_variant_get_handle(pointer)) : nil
  }

  /// The bytes of an array of them; `nil` for anything else.
  package var bytes: [UInt8]? {
    guard type == "ay" else { return nil }
    var count: gsize = 0
    guard let start = unsafe g_variant_get_fixed_array(pointer, &count, 1) else { return [] }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: start, count: Int(count)))
  }

  /// The members of a container; empty for anything else.
  package var children: [Variant] {
    guard unsafe g_variant_is_container(pointer) != 0 else { return [] }
    return unsafe (0..<g_variant_n_children(pointer)).compactMap { position in
      unsafe g_variant_get_child_value(pointer, position).map { unsafe Variant(taking: $0) }
    }
  }

  /// The content of a value that carries its own type; otherwise the value itself.
  package var unwrapped: Variant {
    var value = self
    while value.type == "v", let inner = value.children.first { value = inner }
    return value
  }

  /// The strings or paths of an array; `nil` for anything else.
  package var texts: [String]? {
    guard ["as", "ao"].contains(type) else { return nil }
    return children.compactMap(\.text)
  }

  /// The entries of a dictionary with strings or paths as keys.
  package var entries: [String: Variant] {
    var entries: [String: Variant] = [:]
    guard type.hasPrefix("a{s") || type.hasPrefix("a{o") else { return entries }
    for entry in children {
      let parts = entry.children
      if parts.count == 2, let key = parts[0].text { entries[key] = parts[1].unwrapped }
    }
    return entries
  }
}
