/* A library that is no driver. */
int answer(void) { return 42; }
