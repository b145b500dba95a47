import type { Deployment, Health, NfInstance } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { systemState, troublesOf } from './system-state.js';

const health = (status: Health['status'], parts: Health['parts'] = []): Health => ({
  status,
  version: '0.1.0',
  started_ms: 0,
  parts,
});
const instance = (id: string, state: NfInstance['state'], detail: string | null = null) =>
  ({ id, chain_id: 'ch-1', state, detail }) as NfInstance;
const deployment = (chain_id: string, state: Deployment['state']) => ({ chain_id, state }) as Deployment;
const titleOf = (id: string) => `Chain ${id}`;

describe('the state of the system', () => {
  it('is ok only while parts, NFs and chains are', () => {
    const ok = health('ok', [{ name: 'redis', status: 'ok', detail: '' }]);
    const none = troublesOf(ok, [instance('a.ids.0', 'running')], [deployment('ch-1', 'running')], titleOf);
    expect(none).toEqual([]);
    expect(systemState(ok, none)).toBe('ok');
  });

  it('is degraded when an NF failed, which is told once and not again for its chain', () => {
    const failed = [instance('a.ids.0', 'failed', 'out of memory'), instance('a.nat.0', 'starting')];
    const troubles = troublesOf(health('ok'), failed, [deployment('ch-1', 'degraded')], titleOf);
    expect(troubles).toEqual([{ name: 'a.ids.0', status: 'degraded', detail: 'out of memory' }]);
    expect(systemState(health('ok'), troubles)).toBe('degraded');
  });

  it('is degraded when a chain suffers from something else, with the reason', () => {
    const reason = 'no packet from the switch arrives at web.ids.0 (server-1)';
    const dark = { ...deployment('ch-2', 'degraded'), reason };
    const troubles = troublesOf(undefined, [], [dark, deployment('ch-3', 'deploying')], titleOf);
    expect(troubles).toEqual([{ name: 'Chain ch-2', status: 'degraded', detail: reason }]);
  });

  it('is never better than the server says of itself', () => {
    const redis = [{ name: 'redis', status: 'failed' as const, detail: 'does not answer' }];
    expect(systemState(health('failed', redis), troublesOf(health('failed', redis), [], [], titleOf))).toBe('failed');
  });
});
