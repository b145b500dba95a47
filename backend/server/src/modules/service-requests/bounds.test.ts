import { expect, it } from 'vitest';
import { boundedWays } from './bounds.js';

it('each way has the tightest bound of its requests, with the instances of the plan and their places', () => {
  const all = [
    { id: 'fw-1', instance_id: 'ch.fw-1.0', place: 'server-1', latency_us: 20 },
    { id: 'ids-1', instance_id: 'ch.ids-1.0', place: 'server-2', latency_us: 30 },
    { id: 'ids-2', instance_id: null, place: 'server-2', latency_us: 30 },
  ];
  const through = (number: number, ...instances: string[]) => ({
    number,
    stages: instances.map((instance) => ({
      ...{ instance, nf: 'x', place: 'elsewhere', transit_us: 0, processing_us: 0, measured: false },
    })),
    latency_us: 1,
  });
  const asked = (latency_us: number, way: ReturnType<typeof through>) => ({ latency_us, way });
  const both = through(1, 'fw-1', 'ids-1');
  const requests = [asked(300, both), asked(200, both), asked(250, both), asked(9, through(2, 'ids-2'))];
  expect(boundedWays(all, requests)).toEqual([
    {
      most_us: 200,
      stops: [
        { instance: 'ch.fw-1.0', place: 'server-1', latency_us: 20 },
        { instance: 'ch.ids-1.0', place: 'server-2', latency_us: 30 },
      ],
    },
  ]);
});
