import Foundation
import SessionToolsBase
import Testing

@Suite struct PathTests {
  @Test func `the directory of a path's last component`() {
    for (path, parent) in [
      ("/a/b", "/a"), ("/a/b/", "/a"), ("/a//", "/"), ("/a", "/"), ("/", "/"), ("//", "/"),
      ("a/b", "a"), ("a", "."), ("", "."),
    ] {
      #expect(path.parentPath == parent, "\(path)")
    }
  }

  @Test func `directories of a user are where the specification says`() {
    let home = ["HOME": "/h"]
    #expect(UserDirectory.data.path(environment: home) == "/h/.local/share")
    #expect(UserDirectory.state.path(environment: home) == "/h/.local/state")
    #expect(UserDirectory.runtime.path(environment: home) == "/h/.local/state")
    #expect(UserDirectory.data.path(environment: ["HOME": "/h", "XDG_DATA_HOME": "/d"]) == "/d")
    #expect(UserDirectory.runtime.path(environment: ["XDG_RUNTIME_DIR": "/r"]) == "/r")
    // What is not absolute is ignored.
    let database = UserDirectory.data.path(environment: [:])
    #expect(database == "\(NSHomeDirectory())/.local/share")
    #expect(UserDirectory.data.path(environment: ["HOME": "h"]) == database)
    #expect(
      UserDirectory.data.path(environment: ["HOME": "/h", "XDG_DATA_HOME": "d"])
        == "/h/.local/share")
  }
}
