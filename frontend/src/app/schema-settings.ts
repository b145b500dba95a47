/**
 * Read by zod on loading. Without it zod tests at its first schema whether it can generate code from strings, which the
 * browser reports as a violation of the console's content security policy. Must be imported first.
 */
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });
