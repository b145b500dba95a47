import { expect, it } from 'vitest';
import { planRefusal, shortage } from './refusal.js';

const cpu = { constraint: 'cpu', needed: 1.2, available: 0.85, unit: 'cores', where: 'server-1' } as const;

it('says what is short by how much, and where', () => {
  expect(shortage(cpu)).toBe('cpu at server-1 needs 1.2 cores, but only 0.85 cores available');
  const link = { constraint: 'link-bandwidth', needed: 2e6, available: 1e6, unit: 'bps', where: 'l-1' } as const;
  expect(shortage(link)).toBe('link-bandwidth at l-1 needs 2000000 bit/s, but only 1000000 bit/s available');
  const late = { constraint: 'latency', needed: 98.5, available: 40, unit: 'us', where: 'web' } as const;
  expect(shortage(late)).toBe('latency at web needs 98.5 µs, but only 40 µs available');
});

it('counts nothing where something is there or not', () => {
  const lack = { constraint: 'implementation', needed: 1, available: 0, where: 'server-1' } as const;
  expect(shortage({ ...lack, unit: 'container runtime' })).toBe('server-1 lacks: container runtime');
  const path = { constraint: 'switch-path', needed: 1, available: 0, unit: 'ways', where: 'board-3' } as const;
  expect(shortage(path)).toBe('no way leads from board-3 to where the chain goes on');
  const program = { constraint: 'switch-program', needed: 1, available: 0, unit: 'switches', where: 'lab' } as const;
  expect(shortage(program)).toBe('lab runs a P4 program of its own, and carries no chain');
});

it('names the field of a problem before any shortage, and takes warnings for none', () => {
  const problem = { pointer: '/rate', message: 'is missing', code: 'bad-config', chain_id: 'web' } as const;
  const refused = (severity: 'error' | 'warning') =>
    planRefusal({ problems: [{ ...problem, severity }], conflicts: [cpu] });
  expect(refused('error')).toBe('/rate: is missing');
  expect(refused('warning')).toBe(`The plan is not feasible: ${shortage(cpu)}.`);
  expect(planRefusal({ problems: [], conflicts: [] })).toBe('The plan is not feasible.');
});
