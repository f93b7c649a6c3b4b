/* The cipher suites of TLS 1.2 that clients of this program offer, in the words of OpenSSL: with
 * ephemeral keys and authenticated encryption; neither CBC nor SHA-1. TLS 1.3 has no others. */
#ifndef NET_TLS_CIPHERS_H
#define NET_TLS_CIPHERS_H

#define TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"

#endif
