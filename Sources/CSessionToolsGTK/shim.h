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

/* Collects the popovers and other surfaces of a widget, but not those of one of its children. */
static inline void session_tools_collect_popups(
    GtkWidget *widget, GtkWidget *except, GPtrArray *popups) {
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child != NULL;
       child = gtk_widget_get_next_sibling(child)) {
    if (child == except) continue;
    if (GTK_IS_NATIVE(child) && gtk_widget_get_visible(child)) {
      g_ptr_array_add(popups, g_object_ref(child));
    }
    session_tools_collect_popups(child, except, popups);
  }
}

/* Closes them. What the program does then may change the tree. */
static inline void session_tools_close_popups(GtkWidget *widget, GtkWidget *except) {
  GPtrArray *popups = g_ptr_array_new_with_free_func(g_object_unref);
  session_tools_collect_popups(widget, except, popups);
  for (guint index = 0; index < popups->len; index++) {
    GtkWidget *popup = g_ptr_array_index(popups, index);
    if (GTK_IS_POPOVER(popup)) {
      gtk_popover_popdown(GTK_POPOVER(popup));
    } else {
      gtk_widget_set_visible(popup, FALSE);
    }
  }
  g_ptr_array_unref(popups);
}

/* Ends what a pointer has begun in a widget and all that is in it, such as pressing a button. */
static inline void session_tools_cancel_gestures(GtkWidget *widget) {
  GListModel *controllers = gtk_widget_observe_controllers(widget);
  for (guint index = 0; index < g_list_model_get_n_items(controllers); index++) {
    GtkEventController *controller = g_list_model_get_item(controllers, index);
    if (GTK_IS_GESTURE(controller)) gtk_event_controller_reset(controller);
    g_object_unref(controller);
  }
  g_object_unref(controllers);
  for (GtkWidget *child = gtk_widget_get_first_child(widget); child != NULL;
       child = gtk_widget_get_next_sibling(child)) {
    session_tools_cancel_gestures(child);
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

/* GTK 4.12 has a new name for this, and deprecates the old one. */
static inline void session_tools_load_style(GtkCssProvider *provider, const char *style) {
#if GTK_CHECK_VERSION(4, 12, 0)
  gtk_css_provider_load_from_string(provider, style);
#else
  gtk_css_provider_load_from_data(provider, style, -1);
#endif
}

/* Gives a widget a style that precedes all others, those of the person's theme included. GTK has no
   other way to give one to a single widget. */
static inline void session_tools_set_style(GtkWidget *widget, const char *style) {
  GtkCssProvider *provider = gtk_css_provider_new();
  session_tools_load_style(provider, style);
  G_GNUC_BEGIN_IGNORE_DEPRECATIONS
  gtk_style_context_add_provider(
      gtk_widget_get_style_context(widget), GTK_STYLE_PROVIDER(provider), G_MAXUINT);
  G_GNUC_END_IGNORE_DEPRECATIONS
  g_object_unref(provider);
}
