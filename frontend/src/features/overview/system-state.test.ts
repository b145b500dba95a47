import type { Deployment, Health, NfInstance, NodeStatus, OutOfService, SloAlert, SloStatus } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { agentsText, type Known, openAlerts, systemState, troublesOf } from './system-state.js';

const health = (status: Health['status'], parts: Health['parts'] = []): Health => ({
  status,
  version: '0.1.0',
  started_ms: 0,
  parts,
});
const instance = (id: string, state: NfInstance['state'], detail: string | null = null, chain_id = 'ch-1') =>
  ({ id, chain_id, state, detail }) as NfInstance;
const deployment = (chain_id: string, state: Deployment['state']) => ({ chain_id, state }) as Deployment;
const slo = (chain_id: string, state: SloStatus['state'], measured: number | null = 3000) =>
  ({ chain_id, slo_id: 'p99', kind: 'latency', unit: 'us', target: 2000, measured, state }) as SloStatus;
const troubles = (known: Partial<Known>) =>
  troublesOf(
    { health: health('ok'), instances: [], deployments: [], slos: [], requests: undefined, ...known },
    (id: string) => `Chain ${id}`,
  );

describe('the state of the system', () => {
  it('is ok only while parts, NFs, chains and objectives are', () => {
    const ok = health('ok', [{ name: 'redis', status: 'ok', detail: '' }]);
    const none = troubles({
      health: ok,
      instances: [instance('a.ids.0', 'running')],
      deployments: [deployment('ch-1', 'running')],
      slos: [slo('ch-1', 'met'), slo('ch-1', 'warming-up', null)],
    });
    expect(none).toEqual([]);
    expect(systemState(ok, none)).toBe('ok');
  });

  it('is not ok when an NF failed, which is told once and not again for its chain', () => {
    const found = troubles({
      instances: [instance('a.ids.0', 'failed', 'out of memory'), instance('a.nat.0', 'starting')],
      deployments: [deployment('ch-1', 'degraded')],
      slos: [slo('ch-1', 'violated')],
    });
    expect(found).toMatchObject([{ name: 'a.ids.0', status: 'failed', detail: 'out of memory' }]);
    expect(systemState(health('ok'), found)).toBe('degraded');
  });

  it('is not ok when a chain suffers from something else, with the reason, which is told once for its objectives', () => {
    const reason = 'no packet from the switch arrives at web.ids.0 (server-1)';
    const dark = { ...deployment('ch-2', 'degraded'), reason };
    const found = troubles({
      deployments: [dark, deployment('ch-3', 'deploying')],
      slos: [slo('ch-2', 'violated', null)],
    });
    expect(found).toMatchObject([{ name: 'Chain ch-2', status: 'degraded', detail: reason, chain_id: 'ch-2' }]);
  });

  it('is not ok while an objective is violated though everything runs, with what is missed', () => {
    const found = troubles({
      deployments: [deployment('ch-1', 'running')],
      slos: [slo('ch-1', 'violated'), { ...slo('ch-1', 'violated', null), slo_id: 'p50' }, slo('ch-2', 'met')],
    });
    expect(found).toMatchObject([
      {
        name: 'Chain ch-1',
        status: 'degraded',
        says: 'misses objectives',
        detail: 'Objective violated: latency 3.00 ms, at most 2.00 ms; latency nothing measured, at most 2.00 ms.',
      },
    ]);
    expect(systemState(health('ok'), found)).toBe('degraded');
  });

  it('calls a chain that loses packets degraded, as its row does', () => {
    const loss = { ...slo('ch-1', 'violated', 0.03), kind: 'loss', unit: 'share', target: 0.01 } as SloStatus;
    const detail = 'Objective violated: lost packets 3.0 %, at most 1.0 %.';
    expect(troubles({ slos: [loss] })).toMatchObject([{ says: 'degraded', detail }]);
  });

  it('tells of objectives between classes what they ask for', () => {
    const priority = { ...slo('ch-1', 'violated', 0.4), kind: 'priority', unit: 'share', target: 0.2 } as SloStatus;
    const ratio = { ...slo('ch-2', 'violated', 1.5), kind: 'cpu-ratio', unit: 'ratio', target: 3 } as SloStatus;
    expect(troubles({ slos: [priority, ratio] }).map(({ detail }) => detail)).toEqual([
      'Objective violated: served before a class with priority 40.0 %, at most 20.0 %.',
      'Objective violated: CPU time of two classes 1.50, target 3.',
    ]);
  });

  it('is not ok while service requests miss their bounds or have no way', () => {
    expect(troubles({ requests: { late: 0, broken: 0 } })).toEqual([]);
    const found = troubles({ requests: { late: 2, broken: 1 } });
    expect(found).toMatchObject([
      { detail: '1 broken: no other way is left; 2 late: slower than their bounds.', path: '/service-requests' },
    ]);
    expect(systemState(health('ok'), found)).toBe('degraded');
  });

  it('lists the worst first', () => {
    const parts: Health['parts'] = [
      { name: 'twin', status: 'degraded', detail: 'hangs' },
      { name: 'redis', status: 'failed', detail: 'does not answer' },
    ];
    const found = troubles({
      health: health('failed', parts),
      instances: [instance('a.ids.0', 'failed')],
      deployments: [deployment('ch-2', 'degraded'), deployment('ch-3', 'failed')],
      slos: [slo('ch-4', 'violated')],
    });
    expect(found.map(({ key, status }) => [key, status])).toEqual([
      ['part/redis', 'failed'],
      ['nf/a.ids.0', 'failed'],
      ['chain/ch-3', 'failed'],
      ['part/twin', 'degraded'],
      ['chain/ch-2', 'degraded'],
      ['objectives/ch-4', 'degraded'],
    ]);
  });

  it('is not ok while a server is lost, also one whose agent is connected', () => {
    const detail = 'server-1 is lost: port nic0 has no link';
    const degraded = health('degraded', [{ name: 'servers', status: 'degraded', detail }]);
    const found = troubles({ health: degraded });
    expect(found).toMatchObject([{ name: 'servers', status: 'degraded', detail }]);
    expect(systemState(degraded, found)).toBe('degraded');
    const nodes = ['server-1', 'server-2'].map((id) => ({ id, state: 'connected' }) as NodeStatus);
    const lost = { id: 'server-1', kind: 'server', lost: { why: 'port nic0 has no link', since_ms: 0 } };
    expect(agentsText(nodes, [lost as OutOfService])).toBe('2 of 2 connected, server-1 is lost');
    expect(agentsText(nodes, [{ ...lost, lost: null } as OutOfService])).toBe('2 of 2 connected');
  });

  it('is never better than the server says of itself', () => {
    const failed = health('failed', [{ name: 'redis', status: 'failed', detail: 'does not answer' }]);
    expect(systemState(failed, troubles({ health: failed }))).toBe('failed');
  });
});

it('tells objectives with open alerts once each, with the causes, apart from the troubles of now', () => {
  const alert = (slo_id: string, state: SloAlert['state'], what: string | null) =>
    ({ id: `${slo_id}-${what}`, chain_id: 'ch-1', slo_id, state, cause: what === null ? null : { what } }) as SloAlert;
  const alerts = [
    alert('p99', 'open', 'link-down at link-1.'),
    alert('p50', 'open', null),
    alert('p99', 'open', 'link-down at link-1'),
    alert('p99', 'open', 'a fault'),
    alert('loss', 'resolved', null),
  ];
  expect(openAlerts(alerts, (id) => `Chain ${id}`)).toEqual([
    {
      key: 'ch-1/p99',
      text: 'Chain ch-1: the budget of p99 burns too fast: link-down at link-1; a fault.',
      path: '/slos?slo=ch-1%2Fp99',
    },
    {
      key: 'ch-1/p50',
      text: 'Chain ch-1: the budget of p50 burns too fast: no cause found.',
      path: '/slos?slo=ch-1%2Fp50',
    },
  ]);
});
