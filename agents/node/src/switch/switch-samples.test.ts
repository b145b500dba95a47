import type { SwitchSamples, SwitchSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import { SwitchSampler } from './switch-samples.js';

const spec: SwitchSpec = {
  generation: 7,
  ports: [],
  groups: [],
  entries: [{ table: 'admit', priority: 300, rule_id: 'hop/1', match: { fields: {} }, actions: [{ do: 'drop' }] }],
};

it('gives the interval since the last set that was sent', () => {
  let [now_ms, packets, takes] = [0, 0, true];
  const sent: SwitchSamples[] = [];
  const send = (samples: SwitchSamples) => takes && sent.push(samples) > 0;
  const sampler = new SwitchSampler(send, () => now_ms);
  const second = () => {
    sampler.take(spec, { counts: new Map([[0, { packets, bytes: 0 }]]) });
    now_ms += 1000;
    packets += 50;
  };
  second();
  expect(sent).toEqual([]);
  second();
  takes = false;
  for (let i = 0; i < 9; i++) second();
  takes = true;
  second();
  second();
  expect(sent.map(({ interval_ms, lost, rules }) => [interval_ms, lost, rules[0]!.packets])).toEqual([
    [1000, 0, 50],
    [10_000, 9, 550],
    [1000, 9, 600],
  ]);
});
