#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT and SQLITE_STATIC are casts of integers to a function pointer, which Swift does not import. Besides,
// an empty text or blob may come as a null pointer, which SQLite would bind as NULL.

/// Binds UTF-8 text, which SQLite copies.
static inline int csqlite_bind_text_copied(sqlite3_stmt *statement, int index, const void *text, sqlite3_uint64 size) {
    return sqlite3_bind_text64(statement, index, text ? (const char *)text : "", size, SQLITE_TRANSIENT, SQLITE_UTF8);
}

/// Binds bytes, which SQLite copies.
static inline int csqlite_bind_blob_copied(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 size) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", size, SQLITE_TRANSIENT);
}

/// Binds bytes without a copy; the bytes must remain in place until the statement's parameter is bound again.
static inline int csqlite_bind_blob_borrowed(sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 size) {
    return sqlite3_bind_blob64(statement, index, bytes ? bytes : "", size, SQLITE_STATIC);
}
