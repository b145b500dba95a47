import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { PipelineDefinition, ReconfigurationPolicyRequest, TrafficRequest } from '@orrery/contract';
import type { Api } from './api-caller.js';

/** One that there is. */
interface Existing {
  readonly id: string;
  /** Whether it is what such a request makes. */
  is(request: unknown, notedMs: number): boolean;
}

interface Making {
  make(api: Api, request: unknown): Promise<string>;
  list(api: Api, signal: AbortSignal): Promise<Existing[]>;
  /** Resolves when it is gone. Throws when it cannot be, or the signal ends the waiting. */
  remove(api: Api, id: string, signal: AbortSignal): Promise<unknown>;
}

const EVERY = { query: { limit: 1000 } };
const WAIT = { ms: 200, tries: 600 };

/** What a run can make, and how that is found and taken away again. */
export const KINDS = {
  pipeline: {
    make: async (api, request) => (await api.call('createPipeline', { body: request })).id,
    list: async (api) => {
      const { items } = await api.call('listPipelines', EVERY);
      return items.map(({ id, draft, created_ms }) => ({
        id,
        is: (request, notedMs) => draft.name === PipelineDefinition.parse(request).name && created_ms >= notedMs,
      }));
    },
    remove: async (api, id, signal) => {
      await atRest(api, signal);
      if ((await api.call('getPipeline', { params: { id } })).deployment_state !== 'none')
        await api.call('deleteDeployment', { params: { pipeline_id: id } });
      const isDown = async () => (await api.call('getPipeline', { params: { id } })).deployment_state === 'none';
      await eventually('the chain is taken down', isDown, signal);
      await api.call('deletePipeline', { params: { id } });
    },
  },
  policy: {
    make: async (api, request) => (await api.call('createReconfigurationPolicy', { body: request })).id,
    list: async (api) => {
      const { items } = await api.call('listReconfigurationPolicies', EVERY);
      return items.map(({ id, nf }) => ({
        id,
        is: (request) => isDeepStrictEqual(nf, ReconfigurationPolicyRequest.parse(request).nf),
      }));
    },
    remove: (api, id) => api.call('deleteReconfigurationPolicy', { params: { id } }),
  },
  traffic: {
    make: async (api, request) => (await api.call('startTraffic', { body: request })).id,
    list: async (api, signal) => {
      await eventually('the twin is up', () => isTrafficKnown(api), signal);
      const { items } = await api.call('listTraffic', EVERY);
      if (!(await isTrafficKnown(api))) throw new Error('the twin was lost while its traffic was listed');
      return items.map(({ id, request: made, started_ms }) => ({
        id,
        is: (request, notedMs) => started_ms >= notedMs && isDeepStrictEqual(made, TrafficRequest.parse(request)),
      }));
    },
    remove: (api, id) => api.call('stopTraffic', { params: { id } }),
  },
} as const satisfies Record<string, Making>;

export type Kind = keyof typeof KINDS;

export function makingOf(kind: Kind): Making {
  return KINDS[kind];
}

/** Until the twin is up, what ran in it before is not listed, but will run again. A server that starts has none yet. */
async function isTrafficKnown(api: Api): Promise<boolean> {
  const { enabled, daemon, state } = await api.call('getTwin');
  if (!enabled) return true;
  if (daemon !== 'off') return state?.phase === 'up';
  const { servers, switches, hosts } = await api.call('getInfrastructure');
  return [...servers, ...switches, ...hosts].every(({ origin }) => origin !== 'twin');
}

/** A chain is not taken from under a reconfiguration, which would have to take itself back. */
function atRest(api: Api, signal: AbortSignal): Promise<void> {
  const isOver = async () => {
    const { items } = await api.call('listReconfigurations', { query: { state: 'running' } });
    return items.length === 0;
  };
  return eventually('the end of the reconfiguration', isOver, signal);
}

async function eventually(what: string, probe: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  for (let tries = 0; !(await probe()); tries++) {
    if (tries >= WAIT.tries) throw new Error(`did not happen: ${what}`);
    await sleep(WAIT.ms, undefined, { signal });
  }
}
