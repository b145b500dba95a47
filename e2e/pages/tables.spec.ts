import AxeBuilder from '@axe-core/playwright';
import { expect, test } from '../support/orrery.js';

const ROWS = 10_000;
const MOST_DRAWN = 200;

test('a table of ten thousand rows renders those in view, and sorts and filters all of them', async ({
  signedIn: page,
}) => {
  const items = Array.from({ length: ROWS }, (_, index) => ({
    id: `part-${index}`,
    title: `Part ${index}`,
    where: 'server-1',
    available: true,
    detail: `found ${index}`,
    fallback: null,
  }));
  await page.route('**/api/v1/capabilities*', (route) => route.fulfill({ json: { items, total: ROWS } }));
  await page.goto(`${process.env.E2E_URL}/capabilities`);
  const table = page.getByRole('table', { name: 'Capabilities' });
  await expect(table).toHaveAttribute('aria-rowcount', String(ROWS + 1));
  const drawn = table.locator('tbody tr[data-key]');
  await expect.poll(() => drawn.count()).toBeGreaterThan(5);
  expect(await drawn.count()).toBeLessThan(MOST_DRAWN);

  const head = page.getByRole('columnheader', { name: 'Capability' });
  await page.getByRole('button', { name: 'Capability' }).click();
  await page.getByRole('button', { name: 'Capability' }).click();
  await expect(head).toHaveAttribute('aria-sort', 'descending');
  await expect(drawn.first()).toContainText(`Part ${ROWS - 1}`);

  await table.locator('xpath=..').evaluate((box) => box.scrollTo({ top: box.scrollHeight }));
  await expect(table).toContainText('Part 0');
  expect(await drawn.count()).toBeLessThan(MOST_DRAWN);

  await page.getByRole('searchbox', { name: 'Filter Capabilities' }).fill('Part 4321');
  await expect(drawn).toHaveCount(1);
  await expect(page).toHaveURL(/q=Part\+4321/);
  const { violations } = await new AxeBuilder({ page }).include('main').analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
});
