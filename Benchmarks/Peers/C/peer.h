// The operations that every peer in C has for its store. `peer.c` has the items, the clock and the
// protocol. Any error ends the program: this code measures, it does not protect secrets.

#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

enum { VALUE_BYTES = 512, KEY_BYTES = 32 };

extern const char service[];

typedef struct {
  const char *name, *version, *what, *durable, *durable_because, *sealed, *start;
} description;

// MARK: implemented by a peer

description store_description(void);
// Opens the store in a directory, and creates it first if necessary.
void store_open(const char *directory);
void store_close(void);
// Makes the puts between these two calls durable together at the end, if the store can do that.
void store_begin(void);
void store_end(void);
void store_put(const char *identifier, const uint8_t value[VALUE_BYTES]);
// Reads an item's value; returns whether the item exists and its value has that length.
int store_get(const char *identifier, uint8_t value[VALUE_BYTES]);
// Calls `found` with every identifier.
void store_list(void (*found)(const char *identifier));
// Removes an item; returns whether it existed.
int store_remove(const char *identifier);

// MARK: used by peers

noreturn void fail(const char *what, const char *why);
// Prints errno's text and ends the program if a condition is not met.
void require(int condition, const char *what);
// Reads the key in the directory, and creates it first if necessary.
void read_key(const char *directory, uint8_t key[KEY_BYTES]);
// Returns a path in a directory, which the caller frees.
char *path_in(const char *directory, const char *name);
