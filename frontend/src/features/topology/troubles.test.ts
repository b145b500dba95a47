import type { Infrastructure, OutOfService, SwitchState } from '@orrery/contract';
import { expect, it } from 'vitest';
import { troublesOf } from './troubles.js';

const network = {
  servers: [{ id: 'server-1' }, { id: 'server-2' }, { id: 'server-3' }, { id: 'server-4' }],
  boards: [{ id: 'board-1' }],
  hosts: [{ id: 'client-1' }],
  links: ['server-2', 'server-3', 'client-1'].map((id) => ({
    id: `${id}-leaf`,
    a: { node: id, port: 'eth0' },
    b: { node: 'leaf', port: 'p1' },
  })),
} as unknown as Infrastructure;
const part = (id: string, more: Partial<OutOfService>) =>
  ({ id, maintenance: null, lost: null, ...more }) as OutOfService;
const maintenance = { reason: 'new fan', by: 'ann', since_ms: 1, force: false };

it('names what is out of service and the links that are down', () => {
  const out = [
    part('server-2', { maintenance }),
    part('server-4', { lost: { why: 'its agent is away', since_ms: 1 } }),
    part('board-1', { maintenance }),
  ];
  expect(Object.fromEntries(troublesOf(network, out, ['server-2-leaf', 'client-1-leaf'], []))).toEqual({
    'server-2': {
      word: 'maintenance',
      text: 'in maintenance: new fan; link server-2-leaf is down',
      status: 'degraded',
    },
    'server-4': { word: 'lost', text: 'lost: its agent is away', status: 'failed' },
    'board-1': { word: 'maintenance', text: 'in maintenance: new fan', status: 'degraded' },
    'client-1': { word: 'link down', text: 'link client-1-leaf is down', status: 'failed' },
  });
});

it('finds nothing the matter with a part that is back', () => {
  expect(troublesOf(network, [part('server-1', {})], [], []).size).toBe(0);
});

const WELL = { connected: true, description: {}, observed: { state: 'converged', error: null } };
const failed = { state: 'failed', error: 'it does not answer' };

it.each([
  [{}, null],
  [{ observed: { state: 'progressing', error: null } }, null],
  [{ connected: false, description: null, observed: null }, null],
  [{ connected: false }, { word: 'agent away', text: 'its agent is away', status: 'failed' }],
  // What it last told is of no interest any more.
  [
    { connected: false, observed: failed },
    { word: 'agent away', text: 'its agent is away', status: 'failed' },
  ],
  [{ observed: failed }, { word: 'failed', text: 'failed: it does not answer', status: 'failed' }],
  [
    { connected: false, lost: true },
    {
      word: 'lost',
      text: 'lost: it neither answers nor passes packets; packets go around it where another way leads; its agent is away',
      status: 'failed',
    },
  ],
  [
    { changing: 'the twin builds it', observed: null },
    { word: 'changing driver', text: 'changing its driver: the twin builds it', status: 'degraded' },
  ],
  [
    { changing: 'the twin builds it', connected: false, observed: null },
    { word: 'changing driver', text: 'changing its driver: the twin builds it; its agent is away', status: 'failed' },
  ],
])('names what is the matter with a switch: %j', (changed, trouble) => {
  const state = { id: 'leaf', ...WELL, ...changed } as unknown as SwitchState;
  expect(Object.fromEntries(troublesOf(network, [], [], [state]))).toEqual(trouble ? { leaf: trouble } : {});
});
