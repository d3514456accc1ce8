#pragma once
#include <curl/curl.h>

// curl_easy_setopt, curl_multi_setopt and curl_easy_getinfo are variadic, and Swift imports no variadic C function.
// Each function below fixes the one type that the named kind of option takes (libcurl reads a `long` where it is
// promised one: an `int` through the dots would be undefined behaviour), and does nothing else.

/// Options that take a `long` (CURLOPTTYPE_LONG, CURLOPTTYPE_VALUES).
static inline CURLcode ringline_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

/// Options that take a 64-bit size (CURLOPTTYPE_OFF_T): `long` is too narrow on some systems, so libcurl has a type of its own.
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

/// CURLOPT_HTTPHEADER: the list stays ours and must outlive the transfer.
static inline CURLcode ringline_curl_set_headers(CURL *easy, struct curl_slist *list) {
    return curl_easy_setopt(easy, CURLOPT_HTTPHEADER, list);
}

/// CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION: both take bytes in and say how many they took.
static inline CURLcode ringline_curl_set_writer(CURL *easy, CURLoption option, curl_write_callback function) {
    return curl_easy_setopt(easy, option, function);
}

/// CURLOPT_PREREQFUNCTION: called when a connection stands and the request is about to go out.
static inline CURLcode ringline_curl_set_prereq(CURL *easy, curl_prereq_callback function) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

/// CURLOPT_SOCKOPTFUNCTION: called for a new socket before it connects.
static inline CURLcode ringline_curl_set_sockopt(CURL *easy, curl_sockopt_callback function) {
    return curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, function);
}

/// Options of the multi handle that take a `long`.
static inline CURLMcode ringline_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

/// Facts of a finished transfer that are a `long` (CURLINFO_LONG); `fallback` when libcurl does not know the fact.
static inline long ringline_curl_get_long(CURL *easy, CURLINFO info, long fallback) {
    long value = fallback;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : fallback;
}

/// The outcome in a CURLMSG_DONE message: Swift imports the union, but reads it only as unsafe storage.
static inline CURLcode ringline_curl_message_result(const CURLMsg *message) {
    return message->data.result;
}

/// curl_version_info wants the struct version that the caller was compiled for: a macro that Swift does not import.
static inline const curl_version_info_data *ringline_curl_version(void) { return curl_version_info(CURLVERSION_NOW); }
