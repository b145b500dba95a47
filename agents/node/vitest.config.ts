import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    name: 'agent',
    globalSetup: 'src/testing/bundle-agent.ts',
    include: ['src/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 20_000,
    silent: 'passed-only',
  },
});
