#include <gtk/gtk.h>

/* Swift sees neither the macros that check types nor the types that are macros. */
static inline gboolean session_tools_is_window(gpointer instance) {
  return GTK_IS_WINDOW(instance);
}

/* Gives the focus to a widget without changing the selection of its text: entries select all of it
   otherwise, and the next key would replace it. */
static inline void session_tools_return_focus(GtkWindow *window, GtkWidget *widget) {
  if (GTK_IS_TEXT(widget)) {
    gtk_text_grab_focus_without_selecting(GTK_TEXT(widget));
  } else {
    gtk_window_set_focus(window, widget);
  }
}

/* The variable arguments of this function are out of Swift's reach. */
static inline void session_tools_set_hidden_from_accessibility(
    GtkAccessible *accessible, gboolean is_hidden) {
  if (is_hidden) {
    gtk_accessible_update_state(accessible, GTK_ACCESSIBLE_STATE_HIDDEN, TRUE, -1);
  } else {
    gtk_accessible_reset_state(accessible, GTK_ACCESSIBLE_STATE_HIDDEN);
  }
}
