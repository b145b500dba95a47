import type { Event } from '@orrery/contract';
import { expect, it } from 'vitest';
import { ControlLoops } from '../../../platform/control-loop/control-loops.js';
import type { Log } from '../../../platform/log.js';
import { notFound } from '../../../platform/problem.js';
import type { ChainStore } from '../../../ports/chain-store.js';
import type { DeploymentView } from '../../../ports/deployment-view.js';
import type { EventSource } from '../../../ports/event-log.js';
import { until } from '../../../testing/wait.js';
import type { Policies } from './policies.js';
import { PolicySweeper } from './policy-sweeper.js';

const log = { warn: () => undefined, error: () => undefined } as unknown as Log;

/** Policies of two undeployed chains, and how often the store was asked for a chain. */
function bench() {
  const policies = ['ch-1', 'ch-2'].map((chain_id) => ({ nf: { chain_id, node_id: 'nf' }, displaces: [] }));
  const stored = new Set(['ch-1', 'ch-2']);
  const told: Event[] = [];
  const forgotten: string[] = [];
  let wake = () => {};
  const seen = { reads: 0, looks: 0, faults: 0, failsAt: 0 };
  const events = {
    latest: '0-0',
    after: async (id: string, limit: number) => {
      seen.looks++;
      if (seen.looks === seen.failsAt) throw new Error('Connection is closed.');
      return told.slice(Number(id.split('-')[0]), Number(id.split('-')[0]) + limit);
    },
    onNews: (listener: () => void) => {
      wake = listener;
      return () => undefined;
    },
  } as unknown as EventSource;
  const chains = {
    get: async (id: string) => {
      seen.reads++;
      if (seen.faults-- > 0) throw new Error('Connection is closed.');
      if (!stored.has(id)) throw notFound('chain', id);
    },
  } as unknown as ChainStore;
  const named = { all: () => policies, forget: async (id: string) => void forgotten.push(id) } as unknown as Policies;
  const view = { comingPlan: null } as DeploymentView;
  const sweeper = new PolicySweeper(new ControlLoops(log), events, chains, view, named);
  const tell = (type: string, subject: string) => {
    told.push({ id: `${told.length + 1}-0`, type, subject } as Event);
    wake();
  };
  return { sweeper, stored, forgotten, seen, told, tell };
}

it('asks for chains at start and when one is deleted, not for every event', async () => {
  const { sweeper, stored, forgotten, seen, tell } = bench();
  sweeper.onApplicationBootstrap();
  await until('the first look', () => seen.reads === 2);
  for (let n = 1; n <= 20; n++) {
    tell('slot.state', 'board-1');
    await until('the event was looked at', () => seen.looks === n + 1);
  }
  expect(seen.reads).toBe(2);
  stored.delete('ch-2');
  tell('chain.deleted', 'ch-2');
  await until('it is forgotten', () => forgotten.length > 0);
  expect(forgotten).toEqual(['ch-2']);
  expect(seen.reads).toBe(4);
  await sweeper.onApplicationShutdown();
});

it('retries after the store was away, without another event', async () => {
  const { sweeper, stored, forgotten, seen } = bench();
  stored.delete('ch-1');
  seen.faults = 1;
  sweeper.onApplicationBootstrap();
  await until('it is forgotten', () => forgotten.length > 0);
  expect(forgotten).toEqual(['ch-1']);
  await sweeper.onApplicationShutdown();
});

it('remembers a deletion if a later page of events cannot be read', async () => {
  const { sweeper, stored, forgotten, seen, told, tell } = bench();
  sweeper.onApplicationBootstrap();
  await until('the first look', () => seen.reads === 2);
  stored.delete('ch-2');
  for (let n = 1; n < 500; n++)
    told.push({ id: `${n}-0`, type: n === 1 ? 'chain.deleted' : 'slot.state', subject: 'ch-2' } as Event);
  seen.failsAt = seen.looks + 2;
  tell('slot.state', 'board-1');
  await until('it is forgotten', () => forgotten.length > 0);
  expect(forgotten).toEqual(['ch-2']);
  await sweeper.onApplicationShutdown();
});
