import swc from 'unplugin-swc';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [swc.vite({ module: { type: 'es6' } })],
  test: {
    name: 'server',
    globalSetup: 'src/testing/bundle-child.ts',
    include: ['src/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    silent: 'passed-only',
    // Loading the server takes a quarter of the CPU of its tests where each file does it anew.
    isolate: false,
  },
});
