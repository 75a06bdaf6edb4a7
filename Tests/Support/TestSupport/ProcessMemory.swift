import Foundation

/// The memory of another process, to search for bytes that should not be there.
public struct ProcessMemory {
  /// A place at which bytes were found.
  public struct Place: Hashable, Sendable {
    /// Its address.
    public let address: UInt
    /// The kernel's flags of the mapping: `VmFlags` in proc(5).
    public let flags: Set<String>

    /// Whether a core dump leaves it out (`MADV_DONTDUMP`).
    public var isLeftOutOfDumps: Bool { flags.contains("dd") }
    /// Whether it is locked into memory.
    public var isLocked: Bool { flags.contains("lo") }
  }

  private struct Mapping {
    let range: Range<UInt>
    var flags: Set<String> = []
  }

  private let process: Int32

  /// Takes a process by its identifier; only root can read it, or its user if it may be dumped.
  public init(of process: Int32) {
    self.process = process
  }

  /// Returns the places of some bytes in all memory that the process can write.
  ///
  /// The process must wait meanwhile.
  public func places(of wanted: [String: [UInt8]]) throws -> [String: [Place]] {
    let memory = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(process)/mem"))
    defer { try? memory.close() }
    var places: [String: [Place]] = [:]
    for mapping in try mappings() {
      // The stack's guard and mappings of drivers cannot be read.
      guard let content = read(mapping.range, from: memory.fileDescriptor) else { continue }
      for (name, bytes) in wanted {
        for offset in Self.offsets(of: bytes, in: content) {
          let place = Place(address: mapping.range.lowerBound + UInt(offset), flags: mapping.flags)
          places[name, default: []].append(place)
        }
      }
    }
    return places
  }

  /// Returns all offsets in a file or a piece of memory at which some bytes begin.
  public static func offsets(of bytes: [UInt8], in content: [UInt8]) -> [Int] {
    unsafe content.withUnsafeBytes { content in
      var offsets: [Int] = []
      guard let start = content.baseAddress, let first = bytes.first else { return offsets }
      var offset = 0
      while offset + bytes.count <= content.count,
        let hit = unsafe memchr(
          start + offset, Int32(first), content.count - bytes.count - offset + 1)
      {
        offset = unsafe start.distance(to: UnsafeRawPointer(hit))
        if unsafe memcmp(hit, bytes, bytes.count) == 0 { offsets.append(offset) }
        offset += 1
      }
      return offsets
    }
  }

  private func mappings() throws -> [Mapping] {
    // By a handle, because a file of reported size 0 is not read to its end by its path.
    let file = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(process)/smaps"))
    defer { try? file.close() }
    let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    var mappings: [Mapping] = []
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: " ")
      let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      if bounds.count == 2, fields.count > 4 {
        let isWritable = fields[1].hasPrefix("rw")
        // Memory that cannot be written now is not searched: its lines belong to an empty range.
        mappings.append(Mapping(range: bounds[0]..<(isWritable ? bounds[1] : bounds[0])))
      } else if fields[0] == "VmFlags:", !mappings.isEmpty {
        mappings[mappings.count - 1].flags = Set(fields.dropFirst().map(String.init))
      }
    }
    return mappings.filter { !$0.range.isEmpty }
  }

  private func read(_ range: Range<UInt>, from memory: Int32) -> [UInt8]? {
    let content = unsafe [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      count = unsafe max(
        0, pread(memory, buffer.baseAddress, range.count, off_t(range.lowerBound)))
    }
    return content.isEmpty ? nil : content
  }
}
