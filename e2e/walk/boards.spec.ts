import type { Reconfiguration } from '@orrery/contract';
import { OneNfChain } from '../support/one-nf-chain.js';
import { expect, test } from '../support/orrery.js';

const SLOT = { board: 'board-1', slot: 0 };
const NF = 'stateful-firewall';

test('an NF moves to a board with its flows, carries real packets there, and survives the board', async ({
  signedIn: page,
  api,
}) => {
  const chain = await OneNfChain.deploy(api, 'boards-walk', NF);
  const nf = { chain_id: chain.chain_id, node_id: 'fw' };
  const over = (id: string): Promise<Reconfiguration> =>
    api.until('the end of the reconfiguration', async () => {
      const run = await api.ok('GET', `/reconfigurations/${id}`);
      return run.state === 'running' ? null : run;
    });

  await test.step('to the board: loaded, verified, then traffic is switched over', async () => {
    await chain.request(5);
    const run = await over((await api.ok('POST', '/reconfigurations', { nf, to: 'board', slot: SLOT })).id);
    expect(run).toMatchObject({ state: 'completed', loads: [{ module: NF, error: null, lost: 0 }] });
    expect(run.loads[0]!.measured_s).toBeGreaterThan(run.loads[0]!.modelled_s * 0.98);
    expect(run.loads[0]!.measured_s).toBeLessThan(run.loads[0]!.modelled_s + 1);
    const { id } = await chain.instance();
    expect(id).toBe('boards-walk.fw.board-1-0');
    const before = await chain.packetsIn(id);
    expect(await chain.request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
    await api.until('packets through the slot', async () => ((await chain.packetsIn(id)) >= before + 60 ? true : null));
    const { state } = await api.ok('GET', `/nf-instances/${encodeURIComponent(id)}/state`);
    expect(JSON.stringify(state)).toContain('10.0.2.1');
  });

  await test.step('power loss: the chain goes back to software, and the page says so', async () => {
    await page.goto(`${process.env.E2E_URL}/accelerators?view=reconfigurations`);
    const fault = await api.ok('POST', '/twin/faults', { kind: 'board-kill', target: 'board-1' });
    const fallback = await api.until('the fall-back', async () => {
      const { items } = await api.ok('GET', '/reconfigurations');
      return items[0]?.cause === 'fallback' && items[0].state !== 'running' ? items[0] : null;
    });
    expect(fallback).toMatchObject({ state: 'completed', moves: [{ nf: NF, to: { on: 'software' } }] });
    expect((await chain.instance()).id).toBe('boards-walk.fw.0');
    expect(await chain.request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
    await expect(page.getByText(/board lost|fall-?back|does not work/i).first()).toBeVisible();
    await api.ok('DELETE', `/twin/faults/${fault.id}`);
    await api.until('the board', async () => {
      const { items } = await api.ok('GET', '/accelerators');
      return items.find((it: { id: string }) => it.id === 'board-1')?.state === 'operating' ? true : null;
    });
  });

  await chain.remove();
});
