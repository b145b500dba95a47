import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [react()],
  test: {
    name: 'console',
    environment: 'jsdom',
    include: ['src/**/*.test.tsx'],
    // Finds what hangs: these tests run at the lowest priority, beside others that judge by real time.
    testTimeout: 240_000,
    setupFiles: ['src/shared/testing/setup.ts'],
  },
});
