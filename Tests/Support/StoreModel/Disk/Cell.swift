/// The smallest piece of a file that the model distinguishes.
///
/// Bytes are symbols here: a part of a change represents bytes that no other change has. The chain,
/// the tags and the checks of the real store are therefore comparisons of symbols.
enum Cell: Hashable, Sendable {
  case zero
  /// Bytes that match nothing.
  case noise
  /// The head of a journal.
  case head(Int)
  /// A part of a change: the number of the change, and that of the part.
  case part(Int, Int)
  case mark(Int)
  case header(Int)
}

extension Cell: CustomStringConvertible {
  var description: String {
    switch self {
    case .zero: "-"
    case .noise: "noise"
    case .head(let journal): "head \(journal)"
    case .part(let change, let part): "\(change).\(part)"
    case .mark(let mark): "mark \(mark)"
    case .header(let header): "header \(header)"
    }
  }
}

/// The unit that a disk writes: after a power cut it is old or new, and never a mixture.
///
/// A sector has two cells, so that the end of one change and the beginning of the next share it.
struct Sector: Hashable, Sendable {
  static let cellCount = 2

  var first: Cell = .zero
  var second: Cell = .zero

  subscript(position: Int) -> Cell {
    get { position == 0 ? first : second }
    set { if position == 0 { first = newValue } else { second = newValue } }
  }
}
