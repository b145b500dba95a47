import { defineConfig } from 'vitest/config';

export default defineConfig({
  // Pure functions: files may share what is loaded.
  test: { name: 'planner', include: ['src/**/*.test.ts'], testTimeout: 240_000, isolate: false },
});
