#include <gcrypt.h>

/* Swift calls no C function with a variable list of arguments. */
static inline void session_tools_gcrypt_start(void) {
  gcry_check_version(0);
  gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
  gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}
