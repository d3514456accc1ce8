#pragma once
// Debian's libpq-dev installs its headers in /usr/include/postgresql. libpq.pc names that folder, but Package.swift
// cannot use the file: SwiftPM refuses other flags that it contains.
#if __has_include(<postgresql/libpq-fe.h>)
#include <postgresql/libpq-fe.h>
#else
#include <libpq-fe.h>
#endif
#include <stdint.h>
#include <sys/eventfd.h>

// The codes of an error's fields are macros of single characters, which Swift does not import.

/// Returns the SQLSTATE of a failed result; NULL if the server has sent none.
static inline const char *cpostgres_sqlstate(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_SQLSTATE);
}

/// Returns the primary message of a failed result; NULL if the server has sent none. The details, which may quote the
/// values of a row, are left out.
static inline const char *cpostgres_message(const PGresult *result) {
    return PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
}

/// Returns a new `eventfd`, which `poll` reports as readable once it is signalled; -1 if there is no free descriptor.
/// Swift's Glibc module does not contain `eventfd`.
static inline int cpostgres_wakeup(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

/// Signals a descriptor of `cpostgres_wakeup`; a second signal has no further effect.
static inline void cpostgres_wakeup_signal(int descriptor) { eventfd_write(descriptor, 1); }

/// Makes a descriptor of `cpostgres_wakeup` unreadable again, until the next signal.
static inline void cpostgres_wakeup_clear(int descriptor) {
    eventfd_t count;
    eventfd_read(descriptor, &count);
}
