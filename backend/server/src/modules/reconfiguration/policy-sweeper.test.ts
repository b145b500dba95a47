import type { Event } from '@orrery/contract';
import { expect, it } from 'vitest';
import type { Log } from '../../platform/log.js';
import { notFound } from '../../platform/problem.js';
import type { DeploymentView } from '../../ports/deployment-view.js';
import type { EventSource } from '../../ports/event-log.js';
import type { PipelineStore } from '../../ports/pipeline-store.js';
import { until } from '../../testing/wait.js';
import type { Policies } from './policies.js';
import { PolicySweeper } from './policy-sweeper.js';

/** Policies of two chains that do not run, and how often the store was asked for a chain. */
function bench() {
  const policies = ['pl-1', 'pl-2'].map((pipeline_id) => ({ nf: { pipeline_id, node_id: 'nf' }, displaces: [] }));
  const chains = new Set(['pl-1', 'pl-2']);
  const log: Event[] = [];
  const forgotten: string[] = [];
  let wake = () => {};
  const seen = { reads: 0, looks: 0, faults: 0 };
  const events = {
    latest: '0-0',
    after: async (id: string, limit: number) => {
      seen.looks++;
      return log.slice(Number(id.split('-')[0]), Number(id.split('-')[0]) + limit);
    },
    onNews: (listener: () => void) => {
      wake = listener;
      return () => undefined;
    },
  } as unknown as EventSource;
  const pipelines = {
    get: async (id: string) => {
      seen.reads++;
      if (seen.faults-- > 0) throw new Error('Connection is closed.');
      if (!chains.has(id)) throw notFound('pipeline', id);
    },
  } as unknown as PipelineStore;
  const named = { all: () => policies, forget: async (id: string) => void forgotten.push(id) } as unknown as Policies;
  const view = { comingPlan: null } as DeploymentView;
  const sweeper = new PolicySweeper({ warn: () => undefined } as unknown as Log, events, pipelines, view, named);
  const tell = (type: string, subject: string) => {
    log.push({ id: `${log.length + 1}-0`, type, subject } as Event);
    wake();
  };
  return { sweeper, chains, forgotten, seen, tell };
}

it('asks for chains at its start and when one was deleted, not for every event', async () => {
  const { sweeper, chains, forgotten, seen, tell } = bench();
  sweeper.onApplicationBootstrap();
  await until('the first look', () => seen.reads === 2);
  for (let n = 1; n <= 20; n++) {
    tell('slot.state', 'board-1');
    await until('the event was looked at', () => seen.looks === n);
  }
  expect(seen.reads).toBe(2);
  chains.delete('pl-2');
  tell('pipeline.deleted', 'pl-2');
  await until('it is forgotten', () => forgotten.length > 0);
  expect(forgotten).toEqual(['pl-2']);
  expect(seen.reads).toBe(4);
  await sweeper.onApplicationShutdown();
});

it('looks again after the store was away, without another event', async () => {
  const { sweeper, chains, forgotten, seen } = bench();
  chains.delete('pl-1');
  seen.faults = 1;
  sweeper.onApplicationBootstrap();
  await until('it is forgotten', () => forgotten.length > 0);
  expect(forgotten).toEqual(['pl-1']);
  await sweeper.onApplicationShutdown();
});
