import { defineConfig } from 'vitest/config';

/** What draws nothing needs no document. */
export default defineConfig({
  test: { name: 'console-model', include: ['src/**/*.test.ts'], testTimeout: 240_000 },
});
