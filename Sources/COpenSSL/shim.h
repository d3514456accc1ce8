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

/* OPENSSL_free is a macro with __FILE__ and __LINE__ in it, which Swift cannot import. */
static inline void ringline_openssl_free(void *pointer) { OPENSSL_free(pointer); }

/* A macro of macros, which Swift cannot import either. */
static const int ringline_pkey_public_key = EVP_PKEY_PUBLIC_KEY;

/* OSSL_PARAM_BLD keeps the pointers to names and texts that it is given; a Swift string's lives for the one call only. */
static const char *const ringline_param_rsa_n = OSSL_PKEY_PARAM_RSA_N;
static const char *const ringline_param_rsa_e = OSSL_PKEY_PARAM_RSA_E;
static const char *const ringline_param_group = OSSL_PKEY_PARAM_GROUP_NAME;
static const char *const ringline_param_public = OSSL_PKEY_PARAM_PUB_KEY;
static const char *const ringline_p256 = SN_X9_62_prime256v1;
