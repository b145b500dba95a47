import type { Locator, Page } from '@playwright/test';
import { pagePaths } from '../../scripts/pages.mjs';
import { ensureRunning } from '../support/applications.js';
import { OneNfChain } from '../support/one-nf-chain.js';
import { expect, test } from '../support/orrery.js';

const NAME = 'blackout';
/** What a page calls stale within: 3 s, and the time that a page needs to be drawn on a loaded machine. */
const STALE_MS = 15_000;
/** What objectives, health and causes follow the packets within: a few windows of measurement, on a loaded machine. */
const JUDGED_MS = 90_000;

const row = (page: Page, table: string) =>
  page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: NAME });
const fact = (page: Page, name: string) =>
  page
    .getByRole('main')
    .locator('dl > div')
    .filter({ has: page.getByText(name, { exact: true }) })
    .locator('dd');

/** What pages that show health say of the chain while it carries nothing; `cause` is the text that explains it. */
function inTrouble(page: Page, link: string, cause: RegExp): Record<string, () => Promise<void>> {
  const main = page.getByRole('main');
  return {
    '/': async () => {
      await expect(fact(page, 'System')).toHaveText('degraded');
      await expect(fact(page, 'SLOs')).toHaveText('0 of 2 met');
      await expect(main.getByRole('list', { name: 'Problems' }).getByRole('listitem').first()).toContainText(cause);
      await expect(row(page, 'Running chains')).toContainText(/degraded|failed/);
      await expect(row(page, 'Running chains')).toContainText('2 violated');
    },
    '/chains': async () => {
      await expect(row(page, 'Chains')).toContainText(cause);
      await expect(row(page, 'Chains')).toContainText('2 of 2 violated');
    },
    '/slos': async () => {
      await expect(main.getByText(/2 of 2 objectives are violated/)).toBeVisible();
      await expect(main.locator('[data-status="healthy"]')).toHaveCount(0);
    },
    '/topology': async () => {
      await main.getByRole('textbox', { name: 'Search elements' }).fill(link);
      await expect(main.getByRole('button', { name: /down$/ })).toBeVisible();
    },
    '/events': async () => {
      await expect(main.getByText(cause).first()).toBeVisible();
    },
  };
}

// It would end the blackout by running the chain elsewhere.
test.beforeEach(({ api }) => api.ok('POST', '/loops/healing/pause'));
test.afterEach(({ api }) => api.ok('POST', '/loops/healing/resume'));

test('every page tells a blackout, is stale while the browser is cut off, and recovers', async ({
  signedIn: page,
  context,
  api,
}, info) => {
  // Some twenty pages, three times each, on a loaded machine.
  test.setTimeout(600_000);
  const chain = await OneNfChain.deploy(api, NAME, 'monitor', {
    slos: [
      { id: 'p99', kind: 'latency', percentile: 99, max_us: 1_000_000 },
      { id: 'rate', kind: 'throughput', min_bps: 1000 },
    ],
  });
  await ensureRunning(api, 'web-1-probes', { kind: 'probe-server', node: 'web-1', config: {} });
  await ensureRunning(api, 'probes', { kind: 'probe', node: 'client-3', config: { to: 'web-1', rate_per_s: 100 } });
  const judged = (state: string) =>
    api.until(
      `${state} objectives`,
      async () => {
        const { items } = await api.ok('GET', '/slos');
        return items.length === 2 && items.every((slo: { state: string }) => slo.state === state) ? items : null;
      },
      JUDGED_MS,
    );
  await judged('met');
  await expect(fact(page, 'System')).toHaveText('ok', { timeout: JUDGED_MS });
  await expect(fact(page, 'SLOs')).toHaveText('2 of 2 met');

  const { server } = await chain.instance();
  const { links } = await api.ok('GET', '/infrastructure');
  const [{ id: link }] = links.filter(({ a, b }: { a: { node: string }; b: { node: string } }) =>
    [a.node, b.node].includes(server),
  );
  const fault = await api.ok('POST', '/twin/faults', { kind: 'link-down', target: link });
  await judged('violated');
  const cause = new RegExp(`(link ${server} - .+|${server}: .+: its link) is down`);
  await api.until(
    'the degraded chain',
    async () => {
      const { reason = '' } = await api.ok('GET', `/deployments/${chain.chain_id}`);
      return cause.test(reason) ? true : null;
    },
    JUDGED_MS,
  );

  const paths = await pagePaths(page);
  /** Within the page: what is loaded already can be opened without the server. */
  const open = async (path: string) => {
    const [, list, id, plan] = path.split('/');
    await page.getByRole('navigation', { name: 'Pages' }).locator(`a[href="/${list}"]`).click();
    if (id) await page.getByRole('main').getByRole('link', { name: NAME, exact: true }).click();
    if (plan) await page.getByRole('button', { name: 'Plan' }).click();
    await expect(page).toHaveURL(new RegExp(`${path}(\\?.*)?$`));
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  };
  const picture = async (path: string, when: string, schemes: readonly ('light' | 'dark')[]) => {
    const name = path === '/' ? 'overview' : path.slice(1).replace(chain.chain_id, NAME).replaceAll('/', '-');
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: info.outputPath(when, `${name}-${colorScheme}.png`), animations: 'disabled' });
    }
  };
  const editor = `/chains/${chain.chain_id}`;
  const all = [...paths, editor, `${editor}/plan`];
  const tells = inTrouble(page, link, cause);
  tells[editor] = async () => {
    await expect(page.getByRole('main').getByText(cause).first()).toBeVisible();
    await expect(page.locator('[data-health="degraded"], [data-health="failed"]')).toHaveCount(1);
  };
  for (const path of all)
    await test.step(`${path} in the blackout`, async () => {
      await open(path);
      await tells[path]?.();
      await picture(path, 'blackout', ['light', 'dark']);
    });

  await test.step('without the server every page says that it is stale', async () => {
    await open('/');
    await context.setOffline(true);
    await expect(fact(page, 'System')).toHaveText('degraded, stale', { timeout: STALE_MS });
    for (const path of all.filter((each) => !each.endsWith('/plan'))) {
      await open(path);
      await expect(page.getByText('You are looking at old data')).toBeVisible();
      await expect(live(page)).toHaveCount(0);
      await picture(path, 'offline', ['dark']);
    }
  });

  await test.step('recovery', async () => {
    await api.ok('DELETE', `/twin/faults/${fault.id}`);
    await open('/');
    await context.setOffline(false);
    await expect(fact(page, 'System')).toHaveText('ok', { timeout: JUDGED_MS });
    await expect(fact(page, 'SLOs')).toHaveText('2 of 2 met');
    await expect(page.getByRole('list', { name: 'Problems' })).toHaveCount(0);
  });
  await api.ok('DELETE', '/applications/probes');
  await chain.remove();
});

/** Badges and tiles that show a state of the present as if it were known. */
function live(page: Page): Locator {
  return page.getByRole('main').locator('[data-health="healthy"], [data-status="healthy"]:not([data-lasting])');
}
