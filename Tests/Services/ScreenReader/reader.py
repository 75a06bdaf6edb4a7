"""Finds what a program shows as a screen reader does, by AT-SPI.

    reader.py PROGRAM                prints the role and name of each object that can be found, and
                                     "focused" after the one that has the focus
    reader.py PROGRAM inside NAME    prints whether the button of this name is inside of its window
    reader.py PROGRAM press NAME     presses the button of this name

Prints nothing of a program that is not there (yet), and fails when it has no such button.
"""

import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib


def objects(item):
    """Returns an object and all below it."""
    children = (item.get_child_at_index(index) for index in range(item.get_child_count()))
    return [item] + [below for child in children if child for below in objects(child)]


def role_of(item):
    """Returns the name of the role, which for buttons was "push button" before AT-SPI 2.56."""
    return "button" if item.get_role() == Atspi.Role.PUSH_BUTTON else item.get_role_name()


def name_of(item):
    """Returns the name, or else that of the object's label."""
    labels = [
        relation.get_target(0).get_name()
        for relation in item.get_relation_set()
        if relation.get_relation_type() == Atspi.RelationType.LABELLED_BY
    ]
    return item.get_name() or "".join(labels)


def is_inside(item):
    window = item
    while role_of(window) not in ("frame", "window"):
        window = window.get_parent()
    inner, outer = (
        found.get_component_iface().get_extents(Atspi.CoordType.WINDOW) for found in (item, window)
    )
    return (
        0 <= inner.x
        and 0 <= inner.y
        and inner.x + inner.width <= outer.width
        and inner.y + inner.height <= outer.height
    )


def read(program, act=None, name=None):
    """Returns lines to print, and the button to press if that is asked for."""
    desktop = Atspi.get_desktop(0)
    programs = [desktop.get_child_at_index(index) for index in range(desktop.get_child_count())]
    found = [
        below
        for item in programs
        if item and item.get_name() == program
        for below in objects(item)
    ]
    if act is None:
        lines = []
        for item in found:
            focus = item.get_state_set().contains(Atspi.StateType.FOCUSED)
            parts = [role_of(item), repr(name_of(item))] + ["focused"] * focus
            lines.append(" ".join(parts))
        return lines, None
    buttons = [item for item in found if role_of(item) == "button"]
    button = next((item for item in buttons if item.get_name() == name), None)
    if button is None:
        sys.exit(f"there is no button {name!r}")
    return ([str(is_inside(button))], None) if act == "inside" else ([], button)


def main(*arguments):
    # A busy machine needs more than the 0.8 s that are usual.
    Atspi.set_timeout(60_000, 60_000)
    deadline = time.monotonic() + 60
    while True:
        try:
            lines, button = read(*arguments)
            break
        except GLib.Error:
            # An object went away while the others were read.
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    print("".join(line + "\n" for line in lines), end="")
    if button:
        button.get_action_iface().do_action(0)


main(*sys.argv[1:])
