/**
 * Read by zod when it loads: without it zod asks at its first schema whether code may be made from strings, and the
 * browser reports that question as a violation of the console's content security policy. Import it before any schema.
 */
Object.assign(globalThis, { __zod_globalConfig: { jitless: true } });
