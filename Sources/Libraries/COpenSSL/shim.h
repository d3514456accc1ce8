#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/encoder.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

/* OPENSSL_free is a macro that uses __FILE__ and __LINE__, which Swift cannot import. */
static inline void ringline_openssl_free(void *pointer) { OPENSSL_free(pointer); }

/* EVP_PKEY_PUBLIC_KEY is a macro that consists of other macros; Swift cannot import it either. */
static const int ringline_pkey_public_key = EVP_PKEY_PUBLIC_KEY;

/* OSSL_PARAM_BLD keeps the pointers to the names and texts that it is given. A Swift string's pointer is valid for one
   call only, so the names are C constants. */
static const char *const ringline_param_rsa_n = OSSL_PKEY_PARAM_RSA_N;
static const char *const ringline_param_rsa_e = OSSL_PKEY_PARAM_RSA_E;
static const char *const ringline_param_group = OSSL_PKEY_PARAM_GROUP_NAME;
static const char *const ringline_param_public = OSSL_PKEY_PARAM_PUB_KEY;
static const char *const ringline_p256 = SN_X9_62_prime256v1;

/* SSL_CTX_set_min_proto_version, and SSL_set_tlsext_host_name below, are macros over SSL_CTX_ctrl and SSL_ctrl, which
   Swift cannot import. */
static inline int ringline_tls_at_least_12(SSL_CTX *context) {
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
}

/* Sets the host for which the server's certificate must be issued. A host name is also sent in the ClientHello (RFC
   6066, section 3); an IP address is not. */
static inline int ringline_tls_expect(SSL *session, const char *host) {
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), host)) return 1;
    return SSL_set1_host(session, host) && SSL_set_tlsext_host_name(session, host);
}
