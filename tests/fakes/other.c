/*
 * A library that is no driver.
 *
 * NEEDS   a function that it calls and nobody exports
 */
#ifdef NEEDS
int NEEDS(void);
int answer(void) { return NEEDS(); }
#else
int answer(void) { return 42; }
#endif
