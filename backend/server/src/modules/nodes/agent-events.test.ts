import type { InstanceSpec } from '@orrery/contract';
import { expect, it } from 'vitest';
import { draftOfAgent } from './agent-events.js';
import { DesiredChains } from './desired-chains.js';
import { Property } from './property.js';

const property = new Property('server-1', () => new Set());

it('what is told of an engine names the chains that it was to run then, whatever the agent says', () => {
  const chains = new DesiredChains();
  const of = (chain_id: string) => ({ id: `${chain_id}.fw.0`, chain_id }) as InstanceSpec;
  chains.told('server-1', { instances: [of('ch-1'), of('ch-1'), of('ch-2')] });
  const told = (event: string, data: object) => {
    const report = { type: 'event', event, subject: 'server-1', message: 'm', t_ms: 1, data } as const;
    return draftOfAgent('server-1', report as never, property, chains.of('server-1')).draft.data;
  };
  const how = { pid: 7, how: 'by SIGKILL' };
  expect(told('engine.ended', { ...how, chains: ['ch-9'] })).toEqual({
    ...how,
    node: 'server-1',
    chains: ['ch-1', 'ch-2'],
  });
  expect(told('port.down', { port: 'nic0' })).toEqual({ port: 'nic0', node: 'server-1' });
  chains.told('server-1', { instances: [] });
  expect(told('engine.ended', how)).toMatchObject({ chains: [] });
  expect(chains.of('server-2')).toEqual([]);
});
