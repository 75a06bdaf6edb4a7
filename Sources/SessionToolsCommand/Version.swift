/// The version of the package.
package enum Version {
  package static let current = "0.3.0"
}
