import { defineConfig } from 'vitest/config';

/** What draws nothing needs no document, and no modules of its own for each file. */
export default defineConfig({
  test: { name: 'console-model', include: ['src/**/*.test.ts'], testTimeout: 240_000, isolate: false },
});
