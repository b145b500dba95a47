import { defineConfig } from '@playwright/test';

/** One worker: all tests share one twin. */
export default defineConfig({
  testDir: '.',
  workers: 1,
  fullyParallel: false,
  forbidOnly: true,
  timeout: 240_000,
  // Finds what never comes: the stages beside it use the same cores.
  expect: { timeout: 45_000 },
  globalSetup: './support/stack-setup.ts',
  reporter: [['list']],
  use: {
    viewport: { width: 1440, height: 900 },
    // Without its pictures, for which the browser would draw all the time.
    trace: { mode: 'retain-on-failure', screenshots: false },
    screenshot: 'only-on-failure',
    // Charts that move on take half of a core; `pages.spec.ts` has motion in dark.
    contextOptions: { reducedMotion: 'reduce' },
    launchOptions: {
      executablePath: process.env.ORRERY_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    },
  },
});
