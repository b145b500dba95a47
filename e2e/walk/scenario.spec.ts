import { expect, test } from '../support/orrery.js';

test('SQL injection and DDoS detectors swap places by partial and by full load, and back', async ({ api }) => {
  test.setTimeout(180_000);
  const { id } = await api.ok('POST', '/scenarios/reconfiguration/runs', {});
  const run = await api.until(
    'the end of the scenario',
    async () => {
      const now = await api.ok('GET', `/scenario-runs/${id}`);
      return now.state === 'running' ? null : now;
    },
    150_000,
  );
  expect(run, JSON.stringify(run.steps)).toMatchObject({ state: 'completed' });
  const { items } = await api.ok('GET', '/reconfigurations');
  const swaps = items.filter(({ cause }: { cause: string }) => cause.startsWith('load-')).slice(0, 4);
  for (const { state, moves, slot } of swaps) {
    expect({ state, slot }).toEqual({ state: 'completed', slot: swaps[0].slot });
    expect(moves.map(({ nf }: { nf: string }) => nf).sort()).toEqual(['ddos-detector', 'sqli-detector']);
  }
  expect(swaps).toHaveLength(4);
  const { items: chains } = await api.ok('GET', '/chains');
  expect(chains.map(({ draft }: { draft: { name: string } }) => draft.name)).not.toContain('scenario-sqli');
});
