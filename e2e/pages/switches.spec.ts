import AxeBuilder from '@axe-core/playwright';
import type { SwitchEntryState, SwitchState } from '@orrery/contract';
import type { Locator, Page } from '@playwright/test';
import { OneNfChain } from '../support/one-nf-chain.js';
import { expect, test } from '../support/orrery.js';

const url = (search = '') => `${process.env.E2E_URL}/switches${search}`;

async function accessible(page: Page, what: string) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${what}: ${id}: ${nodes[0]?.html}`)).toEqual([]);
}

/** The figure of a row in a column of its table; NaN while it has another form, such as `1.2 k`. */
async function figure(table: Locator, row: Locator, column: string): Promise<number> {
  const titles = await table.getByRole('columnheader').allTextContents();
  return Number(
    await row
      .getByRole('cell')
      .nth(titles.findIndex((title) => title.trim() === column))
      .textContent(),
  );
}

test('a switch holds what was planned for it, and its rules count the packets of their chain', async ({
  signedIn: page,
  api,
}) => {
  const chain = await OneNfChain.deploy(api, 'switched', 'monitor');
  const { items: switches }: { items: SwitchState[] } = await api.ok('GET', '/switches');
  const { id } = switches[0]!;
  const entriesOf = async (): Promise<SwitchEntryState[]> =>
    (await api.ok('GET', `/switches/${id}/entries?limit=500`)).items;
  const rules = page.getByRole('table', { name: `Rules of ${id}` });
  const entries = page.getByRole('table', { name: `Entries of ${id}` });
  const rows = entries.locator('tbody tr[data-key]');

  await test.step('the list has every switch, with as many entries installed as planned', async () => {
    await page.goto(url());
    const list = page.getByRole('table', { name: 'Switches' });
    await expect(list.locator('tbody tr')).toHaveCount(switches.length);
    const planned = (await entriesOf()).length;
    expect(planned).toBeGreaterThan(0);
    const row = list.getByRole('row', { name: new RegExp(`^${id} in sync`) });
    await expect(row).toContainText(`${planned} of ${planned}`);
    await accessible(page, 'list and rules');
  });

  await test.step('a rule counts the packets that its chain is sent', async () => {
    const row = rules.getByRole('row', { name: /^classify\/switched\./ });
    await expect(row).toContainText('switched');
    const before = await figure(rules, row, 'Packets');
    await chain.request(10);
    await expect.poll(() => figure(rules, row, 'Packets')).toBeGreaterThan(before);
    const between = await figure(rules, row, 'Packets');
    await chain.request(10);
    await expect.poll(() => figure(rules, row, 'Packets')).toBeGreaterThan(between);
  });

  await test.step('a rule leads to its entries, which say what is connected to their ports', async () => {
    await rules.getByRole('button', { name: /^classify\/switched\./ }).click();
    await expect(page).toHaveURL(/rule=classify/);
    const own = (await entriesOf()).filter(({ rule_id }) => rule_id?.startsWith('classify/switched.'));
    await expect(rows).toHaveCount(own.length);
    await expect(rows.first()).toContainText('(client-3)');
    await expect(rows.first()).toContainText(/output \S+ \(server-\d\)/);
    await page.getByRole('button', { name: 'Show the entries of all rules' }).click();
    await expect(rows).toHaveCount((await entriesOf()).length);
  });

  await test.step('entries are filtered by their table and by what is typed', async () => {
    const all = await entriesOf();
    await page.getByRole('combobox', { name: 'Table' }).click();
    await page.getByRole('option', { name: 'route' }).click();
    await expect(page).toHaveURL(/table=route/);
    const routes = all.filter(({ table }) => table === 'route');
    await expect(rows).toHaveCount(routes.length);
    await page.getByRole('searchbox', { name: `Filter Entries of ${id}` }).fill('10.0.2.1');
    await expect(rows).toHaveCount(1);
    await expect(rows).toContainText('(web-1)');
    await accessible(page, 'entries');
  });

  await test.step('abilities and ports', async () => {
    await page.getByRole('tab', { name: 'Abilities and ports' }).click();
    const port = page.getByRole('table', { name: 'Ports' }).getByRole('row', { name: /client-3/ });
    await expect(port).toContainText('up');
  });

  await test.step('on a phone each row is a card, and the page does not scroll sideways', async () => {
    await page.setViewportSize({ width: 390, height: 844 });
    await page.goto(url('?view=entries'));
    await expect(rows.first()).toBeVisible();
    await expect(entries.locator('thead')).toBeHidden();
    await expect(rows.first().locator('td[data-label="Packets"]')).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    await accessible(page, 'on a phone');
  });

  await chain.remove();
});

test('a switch whose agent is gone says so', async ({ signedIn: page, api }) => {
  const { items }: { items: SwitchState[] } = await api.ok('GET', '/switches');
  const gone = items.map((each) => ({ ...each, connected: false }));
  await page.route('**/api/v1/switches?*', (route) => route.fulfill({ json: { items: gone, total: gone.length } }));
  await page.goto(url());
  await expect(page.getByText(`${gone.length} of ${gone.length} switches`)).toContainText('attention');
  await expect(page.getByRole('table', { name: 'Switches' })).toContainText('disconnected');
});
