import AxeBuilder from '@axe-core/playwright';
import { pagePaths } from '../../scripts/pages.mjs';
import { expect, test } from '../support/orrery.js';

for (const colorScheme of ['light', 'dark'] as const) {
  test(`every page loads without errors and is accessible in ${colorScheme}`, async ({ signedIn: page }) => {
    await page.emulateMedia({ colorScheme, reducedMotion: colorScheme === 'dark' ? 'no-preference' : 'reduce' });
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    const paths = await pagePaths(page);
    expect(paths).toContain('/');
    expect(paths.length).toBeGreaterThanOrEqual(10);
    for (const path of paths) {
      await test.step(path, async () => {
        await page.goto(`${process.env.E2E_URL}${path}`);
        await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
        await expect(page.getByText('No such page')).toHaveCount(0);
        const { violations } = await new AxeBuilder({ page }).analyze();
        expect(violations.map(({ id, nodes }) => `${path}: ${id}: ${nodes[0]?.html}`)).toEqual([]);
      });
    }
    expect(errors).toEqual([]);
  });
}

test('a wrong secret is refused with a reason, and the requested page opens after signing in', async ({ page }) => {
  await page.goto(`${process.env.E2E_URL}/events`);
  await page.getByLabel(/secret/i).fill('not-the-secret');
  await page.getByRole('button', { name: /sign in/i }).click();
  await expect(
    page
      .getByRole('alert')
      .or(page.getByText(/wrong|not the|refused/i))
      .first(),
  ).toBeVisible();
  await page.getByLabel(/secret/i).fill(process.env.E2E_SECRET as string);
  await page.getByRole('button', { name: /sign in/i }).click();
  await expect(page.getByRole('heading', { name: 'Events' })).toBeVisible();
});

test('a rule with a bad prefix marks the right node on the canvas', async ({ signedIn: page, api }) => {
  const chain = await api.ok('POST', '/chains', {
    name: 'marked',
    title: 'Marked',
    traffic_class: { from: ['client-1'] },
    nodes: [
      { id: 'in', kind: 'ingress' },
      {
        id: 'fw',
        kind: 'nf',
        nf: 'firewall',
        config: { default_action: 'allow', rules: [{ action: 'deny', src: '1.2.3.4/40' }] },
      },
      { id: 'mon', kind: 'nf', nf: 'monitor' },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'a', from: 'in', to: 'fw' },
      { id: 'b', from: 'fw', to: 'mon' },
      { id: 'c', from: 'mon', to: 'out' },
    ],
  });
  await page.goto(`${process.env.E2E_URL}/chains/${chain.id}`);
  const mark = (id: string) => page.locator(`.react-flow__node[data-id="${id}"]`).getByRole('img', { name: /problem/ });
  await expect(mark('fw')).toBeVisible();
  await expect(mark('mon')).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Deploy', exact: true })).toBeDisabled();
  await api.ok('DELETE', `/chains/${chain.id}`);
});
