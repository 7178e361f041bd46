// Which sanitizer this is compiled for: GCC and clang say it differently.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TASO_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TASO_ADDRESS_SANITIZER
#endif
#endif

#if defined(__SANITIZE_THREAD__)
#define TASO_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TASO_THREAD_SANITIZER
#endif
#endif
