import AxeBuilder from '@axe-core/playwright';
import type { NodeStatus } from '@orrery/contract';
import { OneNfChain } from '../support/one-nf-chain.js';
import { type Api, expect, test } from '../support/orrery.js';

async function offersContainers(api: Api): Promise<boolean> {
  const { items } = await api.ok('GET', '/nodes');
  return items.some(({ capabilities }: NodeStatus) =>
    (capabilities.drivers as string[] | undefined)?.includes('container'),
  );
}

test('an NF is moved between its implementations from its chain, after showing the plan', async ({
  signedIn: page,
  api,
}) => {
  const chain = await OneNfChain.deploy(api, 'run-on', 'stateful-firewall');
  await page.goto(`${process.env.E2E_URL}/chains/${chain.chain_id}?select=node:fw`);
  const runsOn = page.getByRole('region', { name: 'Runs on' });
  await expect(runsOn).toContainText(/engine software on server-\d, core \d/);
  const dialog = page.getByRole('dialog', { name: 'Change what fw runs on' });
  const deploy = dialog.getByRole('button', { name: 'Deploy' });
  const choose = async (form: string) => {
    if (!(await dialog.isVisible())) await runsOn.getByRole('button', { name: 'Change what the NF runs on' }).click();
    // By keyboard: the chosen implementation has the focus, arrow keys change it.
    await dialog.getByRole('radio', { name: form }).focus();
    await page.keyboard.press('Space');
    await expect(dialog.getByRole('radio', { name: form })).toBeChecked();
  };

  await test.step('nothing is planned for its current implementation', async () => {
    await runsOn.getByRole('button', { name: 'Change what the NF runs on' }).click();
    await expect(dialog.getByRole('radio', { name: 'Software' })).toBeChecked();
    await expect(deploy).toBeDisabled();
  });

  await choose('Container');
  if (await offersContainers(api)) {
    await test.step('into a container', async () => {
      await expect(dialog.getByText('feasible', { exact: true })).toBeVisible();
      await expect(dialog.getByRole('list', { name: 'Migrations' })).toContainText('run-on.fw.container-0');
      const { violations } = await new AxeBuilder({ page }).analyze();
      expect(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([]);
      await deploy.click();
      await expect(dialog).toBeHidden();
      await expect(runsOn).toContainText(/a container on server-\d/);
      await expect(runsOn).toContainText('running');
      await expect(page.getByRole('list', { name: 'Steps' })).toBeVisible();
    });
    await test.step('and back to software', async () => {
      await choose('Software');
      await deploy.click();
      await expect(runsOn).toContainText(/engine software on server-\d/);
    });
  } else {
    await expect(dialog.getByText('not feasible')).toBeVisible();
    await expect(deploy).toBeDisabled();
    await page.keyboard.press('Escape');
  }

  await test.step('a board’s slot is chosen where the boards are', async () => {
    await choose('Board');
    await dialog.getByRole('link', { name: 'Choose a slot' }).click();
    const program = page.getByRole('dialog', { name: 'Program a slot' });
    await expect(program.getByRole('combobox', { name: 'NF' })).toHaveValue(/^fw \(stateful-firewall\) of run-on/);
    await expect(program.getByRole('button', { name: 'Program' })).toBeInViewport();
  });

  await chain.remove();
});
