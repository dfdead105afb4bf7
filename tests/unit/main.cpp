//===- main.cpp - The doctest entry point of every unit test program ------===//
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
