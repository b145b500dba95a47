import type { Reconfiguration } from '@orrery/contract';
import { expect, test } from '../support/orrery.js';

const SLOT = { board: 'board-1', slot: 0 };
const NF = 'stateful-firewall';

const CHAIN = {
  name: 'boards-walk',
  title: 'Boards walk',
  traffic_class: { from: ['client-3'], match: [{ attribute: 'ip.dst', value: '10.0.2.0/24' }], rate_bps: 1_000_000 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'fw', kind: 'nf', nf: NF },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'e1', from: 'in', to: 'fw' },
    { id: 'e2', from: 'fw', to: 'out' },
  ],
};

test('an NF moves to a board with its flows, carries real packets there, and survives the board', async ({
  signedIn: page,
  api,
}) => {
  const { id: pipeline_id } = await api.ok('POST', '/pipelines', CHAIN);
  const nf = { pipeline_id, node_id: 'fw' };
  const instance = async () => (await api.ok('GET', `/nf-instances?pipeline_id=${pipeline_id}`)).items[0];
  const packetsIn = async (id: string) => {
    const { items } = await api.ok('GET', '/samples/counters');
    return items.find((it: { instance_id: string }) => it.instance_id === id)?.packets_in ?? 0;
  };
  const request = async (count: number) => {
    const { id } = await api.ok('POST', '/twin/traffic', {
      kind: 'http',
      from: 'client-3',
      to: 'web-1',
      count,
      rate_per_s: 50,
    });
    return api.until('the end of the requests', async () => {
      const now = await api.ok('GET', `/twin/traffic/${id}`);
      return ['completed', 'failed'].includes(now.state) ? now : null;
    });
  };
  const over = (id: string): Promise<Reconfiguration> =>
    api.until('the end of the reconfiguration', async () => {
      const run = await api.ok('GET', `/reconfigurations/${id}`);
      return run.state === 'running' ? null : run;
    });
  const operation = await api.ok('POST', '/deployments', { pipeline_id });
  await api.until('the deployment', async () =>
    (await api.ok('GET', `/operations/${operation.id}`)).state === 'COMPLETED' ? true : null,
  );

  await test.step('to the board: loaded, verified, then traffic is led over', async () => {
    await request(5);
    const run = await over((await api.ok('POST', '/reconfigurations', { nf, to: 'board', slot: SLOT })).id);
    expect(run).toMatchObject({ state: 'completed', loads: [{ module: NF, error: null, lost: 0 }] });
    expect(run.loads[0]!.measured_s).toBeGreaterThan(run.loads[0]!.modelled_s * 0.98);
    expect(run.loads[0]!.measured_s).toBeLessThan(run.loads[0]!.modelled_s + 1);
    const { id } = await instance();
    expect(id).toBe('boards-walk.fw.board-1-0');
    const before = await packetsIn(id);
    expect(await request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
    await api.until('packets through the slot', async () => ((await packetsIn(id)) >= before + 60 ? true : null));
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
    expect(fallback).toMatchObject({ state: 'completed', moves: [{ nf: NF, to: 'software' }] });
    expect((await instance()).id).toBe('boards-walk.fw.0');
    expect(await request(20)).toMatchObject({ state: 'completed', received: 20, errors: 0 });
    await expect(page.getByText(/board lost|fall-?back|does not work/i).first()).toBeVisible();
    await api.ok('DELETE', `/twin/faults/${fault.id}`);
    await api.until('the board', async () => {
      const { items } = await api.ok('GET', '/accelerators');
      return items.find((it: { id: string }) => it.id === 'board-1')?.state === 'operating' ? true : null;
    });
  });

  const removal = await api.ok('DELETE', `/deployments/${pipeline_id}`);
  await api.until('the removal', async () =>
    (await api.ok('GET', `/operations/${removal.id}`)).state === 'COMPLETED' ? true : null,
  );
  await api.ok('DELETE', `/pipelines/${pipeline_id}`);
});
