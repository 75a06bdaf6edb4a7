/* Shared libraries that are loaded when a function of theirs is called for the first time. */

enum session_tools_library {
  session_tools_library_gio,
  session_tools_library_secret,
  session_tools_library_pam,
  session_tools_library_curl,
  session_tools_library_fido2,
  session_tools_library_pq,
  session_tools_library_gcrypt,
};

/* Loads a library, and returns a null pointer, or the reason why it cannot be loaded, which is
   valid until the thread asks again. */
const char *session_tools_load_library(enum session_tools_library library);

/* Returns the path of a library that is loaded. */
const char *session_tools_path_of_library(enum session_tools_library library);

/* Returns the name of Debian's package with a library. */
const char *session_tools_package_of_library(enum session_tools_library library);

/* Returns the number of the process's arguments, its own name included. */
int session_tools_argument_count(void);

/* Returns an argument, or a null pointer for a position that has none. */
const char *session_tools_argument(int position);
