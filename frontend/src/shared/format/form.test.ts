import type { NfDescriptor } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { formOfDriver, formsOf, formsText, runsOnText, spotText } from './form.js';

const at = { server: 'server-1', core: 2, slot: null };
const cost = { cycles_per_packet: 1, cycles_per_byte: 0, base_latency_us: 1, memory_bytes: 0 };
const implementations: NfDescriptor['implementations'] = [
  { kind: 'board', driver: 'board', cost, resources: {} },
  { kind: 'container', driver: 'container', cost, resources: {} },
  { kind: 'software', driver: 'engine', cost, resources: {} },
];

describe('where an instance runs', () => {
  it.each([
    [{ ...at, driver: 'engine' as const }, 'engine software on server-1, core 2', 'core 2'],
    [{ ...at, driver: 'process' as const }, 'a separate process on server-1, core 2', 'core 2'],
    [{ ...at, driver: 'container' as const }, 'a container on server-1', 'container'],
    [
      { ...at, driver: 'board' as const, slot: { board: 'board-1', slot: 0 } },
      'board-1 slot 0 of server-1',
      'board-1 slot 0',
    ],
  ])('%o', (instance, whole, spot) => {
    expect(runsOnText(instance)).toBe(whole);
    expect(spotText(instance)).toBe(spot);
  });
});

describe('the forms of an NF', () => {
  it('are told with the plainest first, whatever the order of the descriptor', () => {
    expect(formsOf(implementations)).toEqual(['software', 'container', 'board']);
    expect(formsText(implementations)).toBe('software (engine), container, board');
    expect(formsText(implementations.slice(0, 1))).toBe('board');
  });

  it('have the engine and a process as software', () => {
    expect((['engine', 'process', 'container', 'board'] as const).map(formOfDriver)).toEqual([
      'software',
      'software',
      'container',
      'board',
    ]);
  });
});
