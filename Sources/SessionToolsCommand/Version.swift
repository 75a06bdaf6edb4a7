/// The version of the package.
enum Version {
  static let current = "0.3.0"
}
