import type { ServicePool } from '@orrery/contract';
import { expect, it } from 'vitest';
import { fillers, HARDWARE, NFS, poolOf, probed, RATE_BPS, randomSlas } from './slas.js';
import { serve } from './strawman.js';

it('fillers leave too little at each instance for the probes, so that these need boards', () => {
  const pool = poolOf('client-1');
  for (const nf of HARDWARE) expect(pool.nfs.find((it) => it.nf === nf)!.count).toBe(fillers('client-1').length);
  const [filler] = fillers('client-1');
  const asked = probed('client-1', '10.0.0.1', 9000, 0.6 * RATE_BPS, 'with-software');
  expect(filler!.throughput_bps + asked.throughput_bps).toBeGreaterThan(RATE_BPS);
});

it('the strawman gives ways that miss their bounds, which the chaining algorithm does not', async () => {
  const pool = {
    definition: poolOf('client-1'),
    instances: NFS.flatMap((nf, i) =>
      [1, 2, 3].map((n) => ({
        id: `${nf}-${n}`,
        nf,
        place: `server-${1 + ((i + n) % 3)}`,
        // The strawman takes the first one.
        latency_us: 20 * (4 - n),
        rate_bps: 1e9,
      })),
    ),
  } as unknown as ServicePool;
  const slas = randomSlas('client-1', 1000, 1, 150);
  expect(new Set(slas.map(({ match }) => JSON.stringify(match))).size).toBe(1000);
  const [hyper, strawman] = [await serve(pool, slas, 5, 'hyper'), await serve(pool, slas, 5, 'function-only')];
  expect(hyper.kept).toBe(hyper.given);
  expect(strawman.given).toBe(1000);
  expect(strawman.kept).toBeLessThan(hyper.kept);
});
