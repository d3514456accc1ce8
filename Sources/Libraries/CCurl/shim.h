#pragma once
#include <curl/curl.h>

// curl_easy_setopt, curl_multi_setopt and curl_easy_getinfo are variadic, and Swift does not import variadic C
// functions. Each function below fixes the one type that its kind of option takes, and does nothing else. libcurl reads
// a `long` for an option of type `long`; passing an `int` as the variadic argument would be undefined behaviour.

/// Options that take a `long` (CURLOPTTYPE_LONG, CURLOPTTYPE_VALUES).
static inline CURLcode ringline_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

/// Options that take a 64-bit size (CURLOPTTYPE_OFF_T). A `long` is too narrow for such a size on some systems, so
/// libcurl has a type of its own for it.
static inline CURLcode ringline_curl_set_size(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

/// Options that take a C string, which libcurl copies (CURLOPTTYPE_STRINGPOINT).
static inline CURLcode ringline_curl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

/// Options that take a plain pointer: user data, and the bytes of CURLOPT_COPYPOSTFIELDS.
static inline CURLcode ringline_curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}

/// CURLOPT_HTTPHEADER and CURLOPT_RESOLVE: the caller owns the list, which must outlive the transfer.
static inline CURLcode ringline_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *list) {
    return curl_easy_setopt(easy, option, list);
}

/// CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION: both callbacks receive bytes and return the number of bytes that
/// they took.
static inline CURLcode ringline_curl_set_writer(CURL *easy, CURLoption option, curl_write_callback function) {
    return curl_easy_setopt(easy, option, function);
}

/// CURLOPT_PREREQFUNCTION: called when a connection is established and the request is about to be sent.
static inline CURLcode ringline_curl_set_prereq(CURL *easy, curl_prereq_callback function) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

/// CURLOPT_SOCKOPTFUNCTION: called for a new socket before it connects.
static inline CURLcode ringline_curl_set_sockopt(CURL *easy, curl_sockopt_callback function) {
    return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, function);
}

/// CURLOPT_OPENSOCKETFUNCTION: makes the socket for an address, or refuses the address.
static inline CURLcode ringline_curl_set_opensocket(CURL *easy, curl_opensocket_callback function) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, function);
}

/// CURLOPT_RESOLVER_START_FUNCTION: called before libcurl itself resolves a name.
static inline CURLcode ringline_curl_set_resolver_start(CURL *easy, curl_resolver_start_callback function) {
    return curl_easy_setopt(easy, CURLOPT_RESOLVER_START_FUNCTION, function);
}

/// The address that CURLOPT_OPENSOCKETFUNCTION gets; Swift imports it as a struct whose last member it cannot take the
/// address of safely.
static inline const struct sockaddr *ringline_curl_address(const struct curl_sockaddr *address) { return &address->addr; }

/// What CURLOPT_OPENSOCKETFUNCTION returns to refuse an address; the macro is a cast, which Swift does not import.
static inline curl_socket_t ringline_curl_no_socket(void) { return CURL_SOCKET_BAD; }

/// Options of the multi handle that take a `long`.
static inline CURLMcode ringline_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// Information about a finished transfer that is a `long` (CURLINFO_LONG); `fallback` if libcurl does not know it.
static inline long ringline_curl_get_long(CURL *easy, CURLINFO info, long fallback) {
    long value = fallback;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : fallback;
}

/// The outcome in a CURLMSG_DONE message; Swift imports the message's union only as unsafe storage.
static inline CURLcode ringline_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/// Calls curl_version_info with the version of its struct for which the caller is compiled. That version is a macro,
/// which Swift does not import.
static inline const curl_version_info_data *ringline_curl_version(void) { return curl_version_info(CURLVERSION_NOW); }
