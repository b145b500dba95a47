import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { ROOT } from './setup/paths.mjs';
import { SetupError } from './setup/progress.mjs';

const DOCS = '/api/docs';
const CHROMIUM = process.env.ORRERY_CHROMIUM ?? '/usr/bin/chromium';
const PAGE_MS = 20_000;

/** Paths of the pages in the console's navigation: its page registry is the only list of pages. */
export function pagePaths(page) {
  return page
    .getByRole('navigation', { name: 'Pages' })
    .first()
    .locator('a:not([target])')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
}

/**
 * Opens every page of the console in a browser, including editor and plan of the first chain; without a browser,
 * fetches every file that the pages load. Throws SetupError naming a page that shows no heading or reports an error.
 * Returns a summary.
 */
export async function everyPage(stack) {
  if (!existsSync(CHROMIUM)) return { rendered: [], fetched: await fetchFiles(stack), browser: null };
  const { items } = await stack.api('GET', '/chains');
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    page.setDefaultTimeout(PAGE_MS);
    await page.goto(stack.url);
    await page.getByLabel(/secret/i).fill(stack.secret);
    await page.getByRole('button', { name: /sign in/i }).click();
    await page.getByRole('navigation', { name: 'Pages' }).first().waitFor();
    const ofFirst = items.slice(0, 1).flatMap(({ id }) => [`/chains/${id}`, `/chains/${id}/plan`]);
    const paths = [...(await pagePaths(page)), ...ofFirst];
    const errors = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    page.on('console', (said) => {
      const { url } = said.location();
      // The reference page names no icon, so the browser requests one on its own.
      if (said.type() === 'error' && !url.endsWith('/favicon.ico')) errors.push(`${said.text()} ${url}`);
    });
    for (const path of paths) await show(page, stack.url, path, 'h1', errors);
    await show(page, stack.url, DOCS, '.swagger-ui .info', errors);
    return { rendered: [...paths, DOCS], fetched: 0, browser: browser.version() };
  } finally {
    await browser.close();
  }
}

async function show(page, url, path, heading, errors) {
  const fail = (why) => {
    throw new SetupError(`Page ${path}: ${why}`);
  };
  await page.goto(`${url}${path}`, { waitUntil: 'domcontentloaded' });
  await page
    .locator(heading)
    .first()
    .waitFor()
    .catch(() => fail(`no heading within ${PAGE_MS / 1000} s. ${errors.join('; ')}`));
  for (const title of ['No such page', 'This page failed', 'This page could not be loaded'])
    if ((await page.getByText(title).count()) > 0) fail(title);
  if (errors.length > 0) fail(errors.join('; '));
}

/** Fetches every file that the pages load according to the console's build; returns the number of files. */
async function fetchFiles(stack) {
  const manifest = JSON.parse(readFileSync(resolve(ROOT, 'frontend/dist/.vite/manifest.json'), 'utf8'));
  const files = new Set(Object.values(manifest).flatMap(({ file, css = [] }) => [file, ...css]));
  for (const path of ['/', DOCS, ...[...files].map((file) => `/${file}`)]) {
    const answer = await fetch(`${stack.url}${path}`);
    const isPage = answer.headers.get('content-type')?.startsWith('text/html') ?? false;
    await answer.arrayBuffer();
    // For an unknown path the server returns the console itself.
    if (!answer.ok || isPage !== !files.has(path.slice(1)))
      throw new SetupError(`${path} is not served: ${answer.status} ${answer.headers.get('content-type')}`);
  }
  return files.size;
}
