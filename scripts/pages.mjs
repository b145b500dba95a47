import { accessSync, constants } from 'node:fs';
import { SetupError } from './setup/progress.mjs';

const DOCS = '/api/docs';
const DEBIAN_CHROMIUM = '/usr/bin/chromium-headless-shell';
const PAGE_MS = 20_000;

/**
 * The browser's program: ORRERY_CHROMIUM, or that of Debian's package. Throws SetupError if it cannot be run.
 */
export function browserProgram(program = process.env.ORRERY_CHROMIUM ?? DEBIAN_CHROMIUM) {
  try {
    accessSync(program, constants.X_OK);
  } catch (error) {
    throw new SetupError(
      `No browser to open the pages with: ${program} cannot be run (${error.code}). Install Debian's package chromium-headless-shell, or set ORRERY_CHROMIUM to the path of a Chromium.`,
    );
  }
  return program;
}

/** Paths of the pages in the console's navigation: its page registry is the only list of pages. */
export function pagePaths(page) {
  return page
    .getByRole('navigation', { name: 'Pages' })
    .first()
    .locator('a:not([target])')
    .evaluateAll((links) => links.map((link) => link.getAttribute('href')));
}

/**
 * Opens every page of the console in the browser, including editor and plan of the first chain. Throws SetupError if
 * there is no browser, or naming a page that shows no heading or reports an error. Returns a summary.
 */
export async function everyPage(stack, program = browserProgram()) {
  const { items } = await stack.api('GET', '/chains');
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({
    executablePath: program,
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
    return { rendered: [...paths, DOCS], browser: browser.version() };
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
