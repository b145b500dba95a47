import type { NfDescriptor } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { formChoices, formNow, runOnChoice } from './run-on.js';

const cost = { cycles_per_packet: 100, cycles_per_byte: 0, base_latency_us: 0.5, memory_bytes: 0 };
const implementations: NfDescriptor['implementations'] = [
  { kind: 'software', driver: 'engine', cost, resources: {} },
  { kind: 'board', driver: 'board', cost: { ...cost, cycles_per_packet: 48, cycles_per_byte: 0.25 }, resources: {} },
  { kind: 'container', driver: 'container', cost: { ...cost, base_latency_us: 20 }, resources: {} },
];

describe('formChoices', () => {
  it('offers what the descriptor has and nothing else, each with its own cost', () => {
    const choices = formChoices({ implementations });
    expect(choices.map(({ value }) => value)).toEqual(['software', 'container', 'board']);
    expect(choices[1]!.says).toContain('limits. 100 cycles per packet, and 20.0 µs of fixed latency.');
    expect(choices[2]!.says).toContain(
      '48 cycles per packet + 0.25 per byte of the board’s clock, and 0.50 µs of fixed latency.',
    );
    expect(formChoices({ implementations: implementations.slice(0, 1) })).toHaveLength(1);
  });
});

describe('formNow', () => {
  it('is that of the instances, and the one that it moves to or from while software stands beside it', () => {
    expect(formNow([{ driver: 'engine' }, { driver: 'engine' }])).toBe('software');
    expect(formNow([{ driver: 'process' }])).toBe('software');
    expect(formNow([{ driver: 'engine' }, { driver: 'container' }])).toBe('container');
    expect(formNow([{ driver: 'board' }])).toBe('board');
  });
});

describe('runOnChoice', () => {
  const nf = { chain_id: 'ch-1', node_id: 'ids' };
  it('is of the NF alone, for a server', () => {
    expect(runOnChoice(nf, 'container', 'software')).toMatchObject({ ...nf, on: 'container' });
    expect(runOnChoice({ ...nf, id: 'x' } as typeof nf, 'software', 'board')).not.toHaveProperty('id');
  });

  it('is none for what it runs on already, and for a board, whose slot is chosen elsewhere', () => {
    expect(runOnChoice(nf, 'container', 'container')).toBeNull();
    expect(runOnChoice(nf, 'board', 'software')).toBeNull();
  });
});
