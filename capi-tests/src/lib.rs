//! Builds and runs the C and C++ programs of this folder.
