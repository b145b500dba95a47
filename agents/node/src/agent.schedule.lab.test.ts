import type { NodeSamples, NodeSpec } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { Lab, labMissing, NODE_MAC } from './testing/lab.js';
import { instance, nodeSpec, output } from './testing/specs.js';

const missing = labMissing();

const SHARE = 0.3;
const PACKET_US = 1000;
/** As many as its queue holds: more than three seconds of work for the share. */
const PACKETS = 1000;
/** Readings of 200 ms, each a few batches long. */
const READINGS = 10;
const TOLERANCE = 0.04;

/** A busy loop whose task may take the share of its core. */
function limited(): NodeSpec {
  const place = { weight: null, level: null };
  return {
    ...nodeSpec({
      instances: [
        instance('p.busy.0', {
          nf: 'busy-loop',
          config: { packet_us: PACKET_US },
          outputs: [output('p.e1', { kind: 'exit', exit_id: 'p.exit' })],
        }),
      ],
      hops: [{ hop: 1, instance_id: 'p.busy.0', direction: 'forward' }],
      exits: [{ exit_id: 'p.exit', chain_id: 'p', direction: 'forward' }],
      schedulers: [
        {
          core: 0,
          tree: [
            { kind: 'rate-limit', id: 'root', parent: null, ...place, resource: 'core-time', per_second: SHARE },
            { kind: 'task', id: 'root.0', parent: 'root', ...place, starts_at: 'p.busy.0' },
          ],
        },
      ],
    }),
    nic: { iface: 'e0', mac: NODE_MAC },
  };
}

describe.skipIf(missing !== null)(`a schedule in the real engine${missing ? ` (${missing})` : ''}`, () => {
  it('gives a task its share of the core, whatever the clock of this machine is', { timeout: 60_000 }, async () => {
    const lab = new Lab();
    await lab.setUp();
    lab.startAgent();
    await lab.server.next('hello');
    lab.server.send({ type: 'desired', spec: limited() });
    await lab.server.next(
      'observed',
      ({ observed }) => observed.generation === 1 && observed.state === 'converged',
      25_000,
    );
    const told = lab.server.all('samples').length;
    await lab.exchange({ hop: 1, count: PACKETS, expect: PACKETS, seconds: 10 });
    const whileFull = lab.server
      .all('samples')
      .slice(told)
      .flatMap(({ samples }) => (waiting(samples) > 0 ? [samples] : []));
    // In the first one the packets came.
    const steady = whileFull.slice(1, 1 + READINGS);
    expect(steady).toHaveLength(READINGS);
    const ms = steady.reduce((sum, { interval_ms }) => sum + interval_ms, 0);
    const used = steady.reduce((sum, samples) => sum + usedMs(samples), 0);
    expect(used / ms).toBeGreaterThan(SHARE - TOLERANCE);
    expect(used / ms).toBeLessThan(SHARE + TOLERANCE);
  });
});

const waiting = ({ instances }: NodeSamples) => instances[0]?.queue_depth ?? 0;

function usedMs({ schedulers, interval_ms }: NodeSamples): number {
  return interval_ms * (schedulers[0]?.nodes.find(({ id }) => id === 'root')?.cpu_share ?? 0);
}
