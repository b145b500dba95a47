import type { Locator, Page } from '@playwright/test';
import { expect, test } from '../support/orrery.js';

const width = async (part: Locator) => (await part.boundingBox())!.width;

/** Collapses what `button` controls, by click and by key; `wider` is what takes its place. */
async function collapses(page: Page, panel: Locator, button: Locator, key: string, wider: Locator): Promise<void> {
  const before = await width(wider);
  await button.click();
  await expect(button).toHaveAttribute('aria-expanded', 'false');
  await expect.poll(() => width(wider)).toBeGreaterThan(before + 100);
  await page.locator('h1').focus();
  await page.keyboard.press(key);
  await expect(button).toHaveAttribute('aria-expanded', 'true');
  await expect(panel).toBeVisible();
  await expect.poll(() => width(wider)).toBe(before);
  await page.keyboard.press(key);
  await expect(button).toHaveAttribute('aria-expanded', 'false');
}

test('navigation, palette and inspector collapse, leave their room to the canvas, and stay so', async ({
  signedIn: page,
  api,
}) => {
  const chain = await api.ok('POST', '/chains', {
    name: 'panels',
    title: 'Panels',
    traffic_class: { from: ['client-1'] },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'out', kind: 'egress' },
    ],
    edges: [{ id: 'a', from: 'in', to: 'out' }],
  });
  await page.goto(`${process.env.E2E_URL}/chains/${chain.id}`);
  const canvas = page.getByRole('region', { name: 'Canvas' });
  await expect(canvas).toBeVisible();

  const names = page.getByRole('navigation', { name: 'Pages' }).getByText('Topology');
  const navigation = page.getByRole('button', { name: 'Names of the pages' });
  await collapses(page, names, navigation, 'b', canvas);
  // The names stay for screen readers, the icons for everybody.
  expect(await width(page.getByRole('link', { name: 'Topology' }))).toBeLessThan(60);

  const entry = page.getByRole('button', { name: 'Add Firewall', exact: true });
  const palette = page.getByRole('button', { name: /^Palette/ });
  await collapses(page, entry, palette, 'k', canvas);
  await expect(entry).toHaveCount(0);

  const settings = page.getByRole('heading', { name: 'Traffic class' });
  const inspector = page.getByRole('button', { name: /^Chain settings/ });
  await collapses(page, settings, inspector, 'o', canvas);
  await expect(settings).toHaveCount(0);

  await page.reload();
  await expect(canvas).toBeVisible();
  for (const button of [navigation, palette, inspector]) await expect(button).toHaveAttribute('aria-expanded', 'false');
  await expect(entry).toHaveCount(0);
  await expect(settings).toHaveCount(0);
  await api.ok('DELETE', `/chains/${chain.id}`);
});
