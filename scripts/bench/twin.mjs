import { until } from '../client.mjs';
import { bringUpRack } from '../demo-chains.mjs';
import { onInterrupt } from '../interrupt.mjs';
import { step } from '../setup/progress.mjs';
import { Stack } from '../stack.mjs';
import { freePort, median } from './measure.mjs';

const ROUNDS = 3;

export const bench = {
  title: 'the twin: up (namespaces, switch, servers, hosts, agents connected) and down',
  async run() {
    const up = [];
    const built = [];
    const down = [];
    for (let round = 0; round < ROUNDS; round++) {
      const stack = new Stack({ port: await freePort(), purpose: 'bench', twin: true });
      onInterrupt(() => stack.stop());
      try {
        await stack.start();
        await step(`Round ${round + 1} of ${ROUNDS}`, async () => {
          const start = performance.now();
          await bringUpRack(stack);
          up.push((performance.now() - start) / 1000);
          const state = await until('the twin up', async () => {
            const { state } = await stack.api('GET', '/twin');
            return state?.build_ms ? state : null;
          });
          built.push(state.build_ms / 1000);
        });
        const start = performance.now();
        await stack.stop();
        down.push((performance.now() - start) / 1000);
      } finally {
        await stack.stop();
      }
    }
    return [
      { name: 'twin up, agents connected', value: median(up), unit: 's', better: 'lower' },
      { name: 'twin built (switch, links, hosts)', value: median(built), unit: 's', better: 'lower' },
      { name: 'everything down (server, store, twin)', value: median(down), unit: 's', better: 'lower' },
    ];
  },
};
