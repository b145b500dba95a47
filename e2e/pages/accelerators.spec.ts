import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, test } from '../support/orrery.js';

const url = (view = '') => `${process.env.E2E_URL}/accelerators${view && `?view=${view}`}`;

async function accessible(page: Page, what: string) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${what}: ${id}: ${nodes[0]?.html}`)).toEqual([]);
}

test('every board slot has a lane, a table row and a place in the topology', async ({ signedIn: page, api }) => {
  const { items: boards } = await api.ok('GET', '/accelerators');
  expect(boards.length).toBeGreaterThan(0);
  await page.goto(url());
  const figure = page.getByRole('figure', { name: 'What each board slot did' });
  for (const { title, slots } of boards) {
    await expect(figure.getByText(title, { exact: true })).toBeVisible();
    await expect(page.getByRole('table', { name: `Slots of ${title}` }).locator('tbody tr')).toHaveCount(slots.length);
  }
  await page.getByRole('button', { name: 'Board slots: table' }).click();
  const table = page.getByRole('table', { name: 'Board slots' });
  for (const { id, slots } of boards)
    for (const { slot } of slots)
      await expect(table.getByRole('cell', { name: `${id} slot ${slot}` }).first()).toBeVisible();
  // Away from the button, whose tooltip is outside the page's landmarks.
  await page.mouse.move(0, 0);
  await expect(page.getByRole('tooltip')).toHaveCount(0);
  await accessible(page, 'lanes as a table');
  await page.goto(`${process.env.E2E_URL}/topology?board=${boards[0].id}`);
  await expect(page.getByRole('complementary', { name: `Details of ${boards[0].title}` })).toContainText('slot 0');
});

test('a slot is reserved and released, and every user sees by whom', async ({ signedIn: page, api }) => {
  const { items: boards } = await api.ok('GET', '/accelerators');
  const { id, title } = boards[0];
  await page.goto(url());
  const row = page.getByRole('table', { name: `Slots of ${title}` }).getByRole('row', { name: /slot 0/ });
  await row.getByRole('button', { name: /^Reserve/ }).click();
  const dialog = page.getByRole('dialog', { name: `Reserve slot 0 of ${title}` });
  await dialog.getByLabel('Reason').fill('firmware test');
  await accessible(page, 'reserve');
  await dialog.getByRole('button', { name: 'Reserve' }).click();
  await expect(row).toContainText(/by \S+,/);
  await expect(row).toContainText('firmware test');
  const reserved = async () =>
    (await api.ok('GET', '/accelerators')).items.find((board: { id: string }) => board.id === id).slots[0].reservation;
  expect(await reserved()).toMatchObject({ reason: 'firmware test' });
  await row.getByRole('button', { name: /^Release/ }).click();
  await expect(row.getByRole('button', { name: /^Reserve/ })).toBeVisible();
  expect(await reserved()).toBeNull();
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`its parts are accessible in ${colorScheme}`, async ({ signedIn: page }) => {
    await page.emulateMedia({ colorScheme });
    for (const view of ['boards', 'reconfigurations', 'policies', 'modules']) {
      await page.goto(url(view));
      await expect(page.getByRole('tabpanel')).toBeVisible();
      await accessible(page, view);
    }
  });
}
