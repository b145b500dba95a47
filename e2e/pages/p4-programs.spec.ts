import { resolve } from 'node:path';
import AxeBuilder from '@axe-core/playwright';
import { expect, test } from '../support/orrery.js';

const EXAMPLES = resolve(import.meta.dirname, '../../twin/p4/examples');
const NAME = 'e2e-router';

test('a P4 program is uploaded, refused at its field where it is wrong, and removed', async ({
  signedIn: page,
  api,
}) => {
  await page.goto(`${process.env.E2E_URL}/switches`);
  const programs = page.getByRole('table', { name: 'P4 programs' });
  await expect(programs.getByRole('row', { name: /ipv4-router/ })).toContainText('Router.routes');
  await page.getByRole('button', { name: 'Upload program' }).click();
  const dialog = page.getByRole('dialog', { name: 'Upload a P4 program' });
  const files = dialog.locator('input[type=file]');
  await files.nth(0).setInputFiles(`${EXAMPLES}/ipv4-router.json`);
  await files.nth(1).setInputFiles(`${EXAMPLES}/l2-switch.p4info.txtpb`);
  await dialog.getByLabel('Name').fill(NAME);
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await expect(dialog.getByText(/is that of another program/)).toBeVisible();
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
  await files.nth(1).setInputFiles(`${EXAMPLES}/ipv4-router.p4info.txtpb`);
  await dialog.getByRole('button', { name: 'Upload' }).click();
  await expect(programs.getByRole('row', { name: new RegExp(NAME) })).toContainText('Router.routes');
  const { content } = await api.ok('GET', `/p4-programs/${NAME}`);
  expect(content.tables).toHaveLength(1);
  await page.getByRole('button', { name: `Remove ${NAME}` }).click();
  await page.getByRole('button', { name: 'Remove program' }).click();
  await expect(programs.getByRole('row', { name: new RegExp(NAME) })).toHaveCount(0);
});
