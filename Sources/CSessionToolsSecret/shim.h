// The calls that work on D-Bus paths are declared for those only who say that they know that
// later versions may change them.
#define SECRET_WITH_UNSTABLE 1
#define SECRET_API_SUBJECT_TO_CHANGE 1
#include <libsecret/secret.h>
