import type { Plan } from '@orrery/contract';
import { expect, it } from 'vitest';
import { whyFull } from './full-queues.js';

const queue = (id: string, task: string) => ({
  kind: 'queue',
  id,
  chain_id: 'c',
  server: 'server-1',
  core: 1,
  tasks: [task],
});
const plan = {
  graph: { nodes: [queue('first', 't1'), queue('second', 't2'), queue('third', 't3')], edges: [] },
  nodes: {
    'server-1': {
      schedulers: [
        {
          core: 1,
          tree: [
            { kind: 'priority', id: 'root', parent: null, level: null },
            { kind: 'task', id: 'root.0', parent: 'root', level: 0, starts_at: 'first' },
            { kind: 'weighted-fair', id: 'root.1', parent: 'root', level: 1 },
            { kind: 'task', id: 'root.1.0', parent: 'root.1', level: null, starts_at: 'second' },
            { kind: 'task', id: 'root.1.1', parent: 'root.1', level: null, starts_at: 'third' },
          ],
        },
      ],
    },
  },
  schedules: [
    {
      chain_id: 'c',
      tasks: [
        { id: 't1', classes: ['c.1'] },
        { id: 't2', classes: ['c.2'] },
        { id: 't3', classes: ['c.3'] },
      ],
    },
  ],
  classes: ['e1', 'e2', 'e3'].map((edge, i) => ({ id: `c.${i + 1}`, chain_id: 'c', edges: ['in', edge] })),
  chains: [
    {
      chain_id: 'c',
      definition: { class_slos: [{ id: 'urgent-first', kind: 'priority', above: 'e1', below: 'e2' }] },
    },
  ],
} as unknown as Plan;

it('says that a task gets too little of its core, or what has priority there, where an objective asks for that', () => {
  expect(whyFull(plan, 'first')).toBe('its task gets too little of core 1 of server-1');
  expect(whyFull(plan, 'second')).toBe('what has priority takes core 1 of server-1, as objective urgent-first asks');
  expect(whyFull(plan, 'third')).toBe('its task gets too little of core 1 of server-1');
});
