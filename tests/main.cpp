// The main function of every test program, compiled once.
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "tests/catch.h"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
