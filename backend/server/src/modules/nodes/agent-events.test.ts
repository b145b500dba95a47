import type { InstanceSpec } from '@orrery/contract';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { draftOfAgent } from './agent-events.js';
import { DesiredChains } from './desired-chains.js';
import { Property } from './property.js';

const property = new Property('server-1', () => new Set());

const of = (chain_id: string) => ({ id: `${chain_id}.fw.0`, chain_id }) as InstanceSpec;
const how = { pid: 7, how: 'by SIGKILL' };
let chains: DesiredChains;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] });
  chains = new DesiredChains();
});
afterEach(() => void vi.useRealTimers());

/** `awayMs`: for how long the agent had been cut off until just now; null: it is connected for long. */
function told(event: string, data: object, t_ms = Date.now(), awayMs: number | null = null) {
  const now = performance.now();
  const contact = { helloMs: awayMs === null ? now - 60_000 : now, awayMs: awayMs ?? 5000 };
  const report = { type: 'event', event, subject: 'server-1', message: 'm', t_ms, data } as const;
  return draftOfAgent('server-1', report as never, property, chains, contact).draft.data;
}

it('what is told of an engine names the chains that it was to run then, whatever the agent says', () => {
  chains.told('server-1', { instances: [of('ch-1'), of('ch-1'), of('ch-2')] });
  expect(told('engine.ended', { ...how, chains: ['ch-9'] })).toEqual({
    ...how,
    node: 'server-1',
    chains: ['ch-1', 'ch-2'],
  });
  expect(told('port.down', { port: 'nic0' })).toEqual({ port: 'nic0', node: 'server-1' });
  chains.told('server-1', { instances: [] });
  expect(told('engine.ended', how)).toMatchObject({ chains: [] });
  expect(chains.ranAt('server-2', Date.now())).toEqual([]);
});

it('what is told late names the chains of when it happened, of the last lists of a server', () => {
  const sinceMs = Date.now();
  chains.told('server-1', { instances: [of('ch-2'), of('ch-1')] });
  vi.setSystemTime(sinceMs + 10_000);
  // Healing moves them, since the server is cut off.
  chains.told('server-1', { instances: [] });
  const awayMs = 3_600_000;
  vi.setSystemTime(sinceMs + awayMs);
  chains.told('server-1', { instances: [] });
  expect(told('engine.ended', how, sinceMs + 9999, awayMs)).toMatchObject({ chains: ['ch-1', 'ch-2'] });
  expect(told('engine.ended', how, sinceMs - 1, awayMs)).toMatchObject({ chains: ['ch-1', 'ch-2'] });
  expect(told('engine.ended', how, sinceMs + 10_000, awayMs)).toMatchObject({ chains: [] });
  expect(chains.of('server-1')).toEqual([]);
  for (let n = 0; n < 15; n++) chains.told('server-1', { instances: [of(`ch-${n}`)] });
  expect(told('engine.ended', how, sinceMs, awayMs)).toMatchObject({ chains: [] });
});

it('an agent whose clock is wrong names the chains of when it tells, or of while it was cut off', () => {
  const sinceMs = Date.now();
  chains.told('server-1', { instances: [] });
  vi.setSystemTime(sinceMs + 3_600_000);
  chains.told('server-1', { instances: [of('ch-1')] });
  vi.setSystemTime(sinceMs + 4_200_000);
  for (const offMs of [-3_600_000, 3_600_000])
    for (const awayMs of [null, 300_000])
      expect(told('engine.ended', how, Date.now() + offMs, awayMs)).toMatchObject({ chains: ['ch-1'] });
});

it('what is told of an engine names all its chains, however many', () => {
  const ids = Array.from({ length: 1000 }, (_, n) => `ch-${String(n).padStart(10, '0')}`);
  chains.told('server-1', { instances: ids.map(of) });
  expect(told('engine.ended', how)).toMatchObject({ chains: ids });
});
