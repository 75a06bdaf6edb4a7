/* A module that asks in unusual ways: two questions at once, or one in binary form.
 *
 *   auth required pam_asking.so two|binary|none
 *
 * It accepts any answers, and otherwise returns the status of the conversation. "none" calls the
 * conversation without a question.
 */
#include <security/pam_modules.h>
#include <stdlib.h>
#include <string.h>

int pam_sm_authenticate(pam_handle_t *handle, int flags, int argc, const char **argv) {
  const void *item;
  const struct pam_conv *conversation;
  struct pam_response *answers = NULL;
  struct pam_message messages[2] = {
    {PAM_PROMPT_ECHO_OFF, "First: "}, {PAM_PROMPT_ECHO_OFF, "Second: "}};
  const struct pam_message *pointers[2] = {&messages[0], &messages[1]};
  const char *what = argc > 0 ? argv[0] : "";
  int count = strcmp(what, "two") == 0 ? 2 : strcmp(what, "none") == 0 ? 0 : 1;
  int status, position;

  (void)flags;
  if (strcmp(what, "binary") == 0) messages[0].msg_style = PAM_BINARY_PROMPT;
  if (pam_get_item(handle, PAM_CONV, &item) != PAM_SUCCESS || item == NULL) return PAM_SYSTEM_ERR;
  conversation = item;
  status = conversation->conv(count, pointers, &answers, conversation->appdata_ptr);
  if (status != PAM_SUCCESS) return status;
  for (position = 0; position < count; position++) {
    if (answers[position].resp == NULL) return PAM_AUTH_ERR;
    explicit_bzero(answers[position].resp, strlen(answers[position].resp));
    free(answers[position].resp);
  }
  free(answers);
  return PAM_SUCCESS;
}

int pam_sm_setcred(pam_handle_t *handle, int flags, int argc, const char **argv) {
  (void)handle; (void)flags; (void)argc; (void)argv;
  return PAM_SUCCESS;
}
