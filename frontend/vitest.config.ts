import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [react()],
  test: {
    name: 'console',
    environment: 'jsdom',
    include: ['src/**/*.test.tsx'],
    testTimeout: 60_000,
    setupFiles: ['src/shared/testing/setup.ts'],
  },
});
