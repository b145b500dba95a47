import { bringUpRack, declareApplications, deploy, loadChains, packetsPerInstance } from '../demo-chains.mjs';
import { onInterrupt } from '../interrupt.mjs';
import { step } from '../setup/progress.mjs';
import { Stack } from '../stack.mjs';
import { cpuSecondsOf, freePort, median } from './measure.mjs';

const ROUNDS = 5;
const SETTLE_S = 15;
const IDLE_S = 10;

/**
 * Seconds from just before the deploy request until the first packet leaves the chain, with traffic already running.
 * Client and server share one clock: they are on one machine.
 */
async function deployOnce(stack, chains) {
  for (const { id } of chains) {
    const { data } = await stack.request('DELETE', `/deployments/${id}`).catch(() => ({ data: null }));
    if (data) await stack.operation(data.id);
  }
  const clicked_ms = Date.now();
  const operation = await stack.api('POST', '/deployments', { chain_id: chains[0].id });
  const seen = await stack.firstPacket(operation.id);
  await stack.operation(operation.id);
  await deploy(stack, chains);
  return (seen.first_packet_ms - clicked_ms) / 1000;
}

/** Latency in us at a percentile, over the packets that left the chain, from the newest samples. */
async function latencies(stack, chains) {
  const { sampleKey } = await import('@orrery/contract/sample-keys');
  const figures = [];
  for (const { id, draft } of chains) {
    for (const percentile of ['p50', 'p99']) {
      const key = sampleKey('chain', id, `latency_${percentile}_us`);
      const { items } = await stack.api('GET', `/samples?keys=${encodeURIComponent(key)}`);
      const values = items[0].points.map(([, value]) => value);
      figures.push({
        name: `chain latency ${percentile}, ${draft.name}`,
        value: median(values),
        unit: 'us',
        better: 'lower',
      });
    }
  }
  return figures;
}

export const bench = {
  title: 'the demo in the twin: deploy to first packet, chain latency, CPU idle and with demo traffic',
  async run() {
    const stack = new Stack({ port: await freePort(), purpose: 'bench', twin: true });
    onInterrupt(() => stack.stop());
    try {
      await step('Server, twin and agents', async () => {
        await stack.start();
        await bringUpRack(stack);
      });
      const chains = await loadChains(stack);
      await declareApplications(stack);
      const rounds = await step(`${ROUNDS} deployments`, async () => {
        const seconds = [];
        for (let round = 0; round < ROUNDS; round++) seconds.push(await deployOnce(stack, chains));
        return seconds;
      });
      await packetsPerInstance(stack);
      const busy = await step(`${SETTLE_S} s of demo traffic`, () => cpuSecondsOf(stack, SETTLE_S));
      const latency = await latencies(stack, chains);
      for (const { id } of (await stack.api('GET', '/applications')).items)
        await stack.api('DELETE', `/applications/${id}`);
      const idle = await step(`${IDLE_S} s idle`, () => cpuSecondsOf(stack, IDLE_S));
      return [
        { name: 'deploy to first packet, median', value: median(rounds), unit: 's', better: 'lower', bar: 2 },
        { name: 'deploy to first packet, worst', value: Math.max(...rounds), unit: 's', better: 'lower', bar: 2 },
        ...latency,
        {
          name: 'CPU of the whole demo with traffic',
          value: (100 * busy) / SETTLE_S,
          unit: '% of a core',
          better: 'lower',
        },
        { name: 'CPU of the whole demo, idle', value: (100 * idle) / IDLE_S, unit: '% of a core', better: 'lower' },
      ];
    } finally {
      await stack.stop();
    }
  },
};
