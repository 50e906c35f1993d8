/* Digits and letters of ASCII, whatever the locale; every byte beyond is neither, and stays. */
#ifndef LUMOS_BASE_ASCII_H
#define LUMOS_BASE_ASCII_H

#include <stdbool.h>

static inline bool lumos_is_digit(char byte) { return byte >= '0' && byte <= '9'; }
static inline bool lumos_is_letter(char byte) { return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z'); }
static inline char lumos_ascii_upper(char byte) { return (char)(byte >= 'a' && byte <= 'z' ? byte - 'a' + 'A' : byte); }
static inline char lumos_ascii_lower(char byte) { return (char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte); }
static inline bool lumos_is_alphanumeric(char byte) { return lumos_is_digit(byte) || lumos_is_letter(byte); }

#endif
