/** Milliseconds since an arbitrary start; unaffected by changes of the wall clock. Every deadline and age uses it. */
export const monotonicMs = (): number => performance.now();
