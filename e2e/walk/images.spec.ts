import { OneNfChain } from '../support/one-nf-chain.js';
import { type Api, expect, test } from '../support/orrery.js';

const NFTABLES = 'orrery/nftables:1.0.0';
const SQUID = 'orrery/squid:1.0.0';

/** Whether a server of the twin can run an image of the catalogue: `npm run build:images` makes them, and so does Docker compose. */
async function has(api: Api, image: string): Promise<boolean> {
  const { items } = await api.ok('GET', '/nodes');
  return items.some((node: { capabilities: { containers?: { images?: string[] } } }) =>
    node.capabilities.containers?.images?.includes(image),
  );
}

test('a packet filter from an image carries packets, writes a log, and can be looked into', async ({
  api,
  signedIn: page,
}) => {
  test.skip(!(await has(api, NFTABLES)), `no server of the twin has ${NFTABLES}: npm run build:images`);
  const chain = await OneNfChain.deploy(api, 'images-walk', 'nftables-container', { isImage: true });
  try {
    const { id } = await chain.instance();

    await test.step('packets', async () => {
      expect(await chain.request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
      await api.until('they are counted', async () => ((await chain.packetsIn(id)) >= 60 ? true : null));
      expect(await chain.instance()).toMatchObject({ state: 'running', driver: 'container' });
    });

    await test.step('a shell in its container shows its rules', async () => {
      await page.goto(`${process.env.E2E_URL}/topology?nf=${encodeURIComponent(id)}`);
      await page.getByRole('button', { name: 'Open a shell…' }).click();
      const dialog = page.getByRole('dialog', { name: `Shell in ${id}` });
      await expect(dialog.getByRole('status')).toContainText('open;');
      await page.keyboard.type('nft list chain bridge filter forward\n');
      await expect(dialog).toContainText('udp dport 23 counter packets 0 bytes 0 drop');
      await page.keyboard.type('exit 3\n');
      await expect(dialog.getByRole('status')).toContainText('ended: the shell ended with exit code 3');
      await dialog.getByRole('button', { name: 'Close' }).first().click();
    });
  } finally {
    await chain.remove();
  }
});

test('a caching proxy from an image answers pages', async ({ api }) => {
  test.skip(!(await has(api, SQUID)), `no server of the twin has ${SQUID}: npm run build:images`);
  const chain = await OneNfChain.deploy(api, 'proxy-walk', 'squid-container', { isImage: true });
  try {
    const { id } = await chain.instance();
    expect(await chain.request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
    await api.until('they are counted', async () => ((await chain.packetsIn(id)) >= 60 ? true : null));
    const log = await api.ok('GET', `/nf-instances/${encodeURIComponent(id)}/log`);
    expect(log.lines.length).toBeGreaterThan(0);
  } finally {
    await chain.remove();
  }
});
