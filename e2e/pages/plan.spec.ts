import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { type Api, expect, test } from '../support/orrery.js';

const SAFE = { attribute: 'ids.verdict', op: 'is', value: 'safe' };
const UNSAFE = { attribute: 'ids.verdict', op: 'is', value: 'unsafe' };

/** Six NFs on two branches, with every kind of objective. */
function forked(name: string, rateBps: number) {
  const nf = (id: string, kind = id) => ({ id, kind: 'nf', nf: kind });
  return {
    name,
    title: `Plan ${name}`,
    traffic_class: { from: ['client-1'], rate_bps: rateBps, packet_bytes: 200 },
    nodes: [
      { id: 'in', kind: 'ingress' },
      nf('firewall'),
      nf('ids'),
      nf('web-monitor', 'monitor'),
      nf('limiter', 'rate-limiter'),
      nf('scrubber', 'firewall'),
      nf('monitor'),
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'firewall' },
      { id: 'e2', from: 'firewall', to: 'ids' },
      { id: 'safe', from: 'ids', to: 'web-monitor', filter: [SAFE] },
      { id: 'unsafe', from: 'ids', to: 'limiter', filter: [UNSAFE] },
      { id: 'e5', from: 'limiter', to: 'scrubber' },
      { id: 'e6', from: 'scrubber', to: 'monitor' },
      { id: 'e7', from: 'web-monitor', to: 'monitor' },
      { id: 'e8', from: 'monitor', to: 'out' },
    ],
    slos: [
      { id: 'latency-p99', kind: 'latency', percentile: 99, max_us: 500 },
      { id: 'throughput', kind: 'throughput', min_bps: 1e6 },
    ],
    class_slos: [{ id: 'safe-first', kind: 'priority', above: 'safe', below: 'unsafe' }],
  };
}

async function accessible(page: Page, what: string) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${what}: ${id}: ${nodes[0]?.html}`)).toEqual([]);
}

/** Runs `work` with a stored chain that is deleted afterwards. */
async function withChain(api: Api, name: string, rateBps: number, work: (id: string) => Promise<void>) {
  const { id } = await api.ok('POST', '/chains', forked(name, rateBps));
  try {
    await work(id);
  } finally {
    await api.ok('DELETE', `/chains/${id}`);
  }
}

const tab = (page: Page, name: RegExp) => page.getByRole('tab', { name });

test('a plan is read, proven and compared on its own page', async ({ signedIn: page, api }) => {
  await withChain(api, 'read', 200e6, async (id) => {
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));

    await test.step('the editor’s key opens the page, back returns to the editor', async () => {
      await page.goto(`${process.env.E2E_URL}/chains/${id}`);
      await expect(page.locator('.react-flow__node').first()).toBeVisible();
      await page.keyboard.press('p');
      await expect(page.getByRole('heading', { name: 'Plan of Plan read' })).toBeFocused();
      await expect(page.getByText('feasible', { exact: true })).toBeVisible();
      await page.goBack();
      await expect(page.locator('.react-flow')).toBeVisible();
      await page.goForward();
      await expect(page.getByText('feasible', { exact: true })).toBeVisible();
    });

    await test.step('placement: an NF shows why it was placed where it is', async () => {
      await page.getByRole('button', { name: 'limiter', exact: true }).focus();
      const why = page.getByRole('complementary', { name: 'Why here' });
      await expect(why.getByText('read.limiter.0').first()).toBeVisible();
      await page.getByRole('button', { name: 'ids', exact: true }).click();
      await expect(page).toHaveURL(/nf=read\.ids\.0/);
      await expect(why.getByRole('table', { name: 'Candidates for read.ids.0' })).toBeVisible();
    });

    await test.step('deployment options: how the chain runs is chosen and planned, back discards it again', async () => {
      for (const [label, option, query] of [
        ['Execution', /^Parallel/, /execution=parallel/],
        ['Cores serve', /^As scheduled/, /schedule=planned/],
      ] as const) {
        await page.getByRole('combobox', { name: label }).click();
        await page.getByRole('option', { name: option }).click();
        await expect(page).toHaveURL(query);
        await expect(page.getByRole('combobox', { name: label })).toHaveValue(option);
        await expect(page.getByText('feasible', { exact: true })).toBeVisible();
        await page.goBack();
        await expect(page).not.toHaveURL(query);
        await expect(page.getByText('feasible', { exact: true })).toBeVisible();
      }
    });

    await test.step('why: decisions by the part that made them', async () => {
      await tab(page, /^Why/).click();
      await expect(page.getByRole('heading', { name: /Where instances run/ })).toBeVisible();
    });

    await test.step('parallel form: graph, latency and dependencies of the chosen path', async () => {
      await tab(page, /^Parallel form/).click();
      await expect(page.getByRole('table', { name: 'Latency of the chain' })).toBeVisible();
      await expect(page.getByRole('table', { name: 'Dependencies' })).toContainText('ids sets ids.verdict');
      const paths = page.getByRole('table', { name: 'Parallel forms' });
      await paths.getByRole('button').last().click();
      await expect(paths.getByRole('button').last()).toHaveAttribute('aria-pressed', 'true');
    });

    await test.step('schedule: tree, tasks and the objective between classes', async () => {
      await tab(page, /^Schedule/).click();
      await expect(page.getByRole('region', { name: /^Scheduler of server-\d, core \d/ }).first()).toBeVisible();
      await expect(page.getByRole('table', { name: 'Tasks' })).toContainText('cycles/s');
      await expect(page.getByRole('table', { name: 'Objectives between classes' })).toContainText('safe-first');
    });

    await test.step('objectives: predicted beside attainable, and the traffic classes', async () => {
      await tab(page, /^Objectives/).click();
      await expect(page.getByRole('table', { name: 'Predicted objectives' })).toContainText('latency-p99');
      await expect(page.getByRole('table', { name: 'Traffic classes' }).getByRole('row')).toHaveCount(3);
    });

    await test.step('steps and changes', async () => {
      await tab(page, /^Steps and changes/).click();
      await expect(page.getByRole('list', { name: 'Steps' })).toBeVisible();
      await expect(page.getByRole('list', { name: 'Changes' })).toContainText('read.ids.0');
    });

    await test.step('prove: bounds are computed and shown', async () => {
      await page.getByRole('button', { name: 'Prove', exact: true }).click();
      // Whole, so that a failure tells what was shown instead.
      await expect(page.getByRole('main')).toContainText(/improved in/);
      await page.getByRole('button', { name: 'Proofs', exact: true }).click();
      await expect(page.getByRole('table', { name: 'Proofs' })).toContainText('latency of a flow');
    });

    await test.step('compare: a plan for each strategy; one is adopted, back discards it again', async () => {
      await tab(page, /^Compare/).click();
      await expect(page.getByText('5 plans of the same draft')).toBeVisible({ timeout: 30_000 });
      await page.getByRole('button', { name: 'Use First fit', exact: true }).click();
      await expect(page).toHaveURL(/strategy=first-fit/);
      const placement = page.getByRole('combobox', { name: 'Placement' });
      await expect(placement).toHaveValue('First fit');
      await page.goBack();
      await expect(placement).toHaveValue('E2');
      await page.goForward();
      await page.getByRole('button', { name: 'Reset' }).click();
      await expect(page).not.toHaveURL(/strategy=/);
    });
    expect(errors).toEqual([]);
  });
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every part of a plan is accessible in ${colorScheme}`, async ({ signedIn: page, api }) => {
    await page.emulateMedia({ colorScheme });
    await withChain(api, `axe-${colorScheme}`, 200e6, async (id) => {
      for (const name of ['placement', 'why', 'parallel', 'schedule', 'objectives', 'compare', 'changes']) {
        await test.step(name, async () => {
          await page.goto(`${process.env.E2E_URL}/chains/${id}/plan?tab=${name}&proofs=shown`);
          await expect(page.getByRole('table', { name: 'Proofs' })).toBeVisible();
          await accessible(page, name);
        });
      }
    });
  });
}

test('an infeasible plan shows what is missing and links to the chain', async ({ signedIn: page, api }) => {
  await withChain(api, 'short', 900e9, async (id) => {
    await page.goto(`${process.env.E2E_URL}/chains/${id}/plan`);
    await expect(page.getByText('not feasible', { exact: true })).toBeVisible();
    await expect(page.getByRole('alert').first()).toContainText(/needs .* has /);
    await expect(page.getByRole('button', { name: 'Deploy this plan' })).toBeDisabled();
    await accessible(page, 'not feasible');
    await page.setViewportSize({ width: 390, height: 844 });
    await accessible(page, 'not feasible, narrow');
    await page.getByRole('link', { name: 'Change the chain' }).click();
    await expect(page.locator('.react-flow')).toBeVisible();
  });
});

test('an objective between classes is set in the chain’s settings', async ({ signedIn: page, api }) => {
  await withChain(api, 'classes', 10e6, async (id) => {
    await page.goto(`${process.env.E2E_URL}/chains/${id}`);
    const form = page.getByRole('region', { name: 'Objectives between classes' });
    await form.getByRole('button', { name: 'Objective between classes' }).click();
    const card = form.getByRole('group', { name: 'Objective class-priority' });
    await card.getByRole('combobox', { name: 'Kind' }).click();
    await page.getByRole('option', { name: 'Throughput' }).click();
    await card.getByRole('textbox', { name: 'Ratio' }).fill('2');
    await expect
      .poll(async () => (await api.ok('GET', `/chains/${id}`)).draft.class_slos.at(-1))
      .toEqual({ id: 'class-priority', kind: 'throughput', a: 'safe', b: 'unsafe', ratio: 2 });
    await accessible(page, 'inspector');
    await form.getByRole('button', { name: 'Remove objective class-priority' }).click();
    await page.keyboard.press('Control+z');
    await expect(card).toBeVisible();
  });
});
