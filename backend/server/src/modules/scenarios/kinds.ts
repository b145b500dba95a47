import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import {
  ApplicationDefinition,
  ChainDefinition,
  FaultRequest,
  HealingPolicyRequest,
  LendingGroupRequest,
  P4ProgramUpload,
  ReconfigurationPolicyRequest,
  ScalingPolicyRequest,
  ServicePoolDefinition,
  SwitchNode,
} from '@orrery/contract';
import { z } from 'zod';
import type { Api } from './api-caller.js';
import { changeDrivers, nameDrivers } from './drivers.js';
import { addLabSwitch, LabSwitch, removeLabSwitch } from './lab-switch.js';

/** An existing resource. */
interface Existing {
  readonly id: string;
  /** Whether such a request could have created it. */
  is(request: unknown, notedMs: number): boolean;
}

interface Making {
  make(api: Api, request: unknown): Promise<string>;
  /** `id` is that of the one that is looked for; null: unknown. */
  list(api: Api, signal: AbortSignal, id: string | null): Promise<Existing[]>;
  /** Resolves when it is gone. Throws if it cannot be removed or the signal aborts. */
  remove(api: Api, id: string, signal: AbortSignal): Promise<unknown>;
}

const EVERY = { query: { limit: 1000 } };
const WAIT = { ms: 200, tries: 600 };

/** A capture file that is uploaded. */
const PcapRequest = z.object({ name: z.string(), base64: z.base64() });
/** Drivers by switch. */
const DriversRequest = z.record(z.string(), SwitchNode.shape.driver);

/** Resources that a run can create, and how they are found and removed. */
export const KINDS = {
  chain: {
    make: async (api, request) => (await api.call('createChain', { body: request })).id,
    list: async (api) => {
      const { items } = await api.call('listChains', EVERY);
      return items.map(({ id, draft, created_ms }) => ({
        id,
        is: (request, notedMs) => draft.name === ChainDefinition.parse(request).name && created_ms >= notedMs,
      }));
    },
    remove: async (api, id, signal) => {
      await atRest(api, signal);
      if ((await api.call('getChain', { params: { id } })).deployment_state !== 'none')
        await api.call('deleteDeployment', { params: { chain_id: id } });
      const isDown = async () => (await api.call('getChain', { params: { id } })).deployment_state === 'none';
      await eventually('the chain is taken down', isDown, signal);
      await api.call('deleteChain', { params: { id } });
    },
  },
  /** With the requests that it carries. */
  'service-pool': {
    make: async (api, request) =>
      (await api.call('createServicePool', { body: ServicePoolDefinition.parse(request) })).id,
    list: async (api) => {
      const { items } = await api.call('listServicePools', EVERY);
      return items.map(({ id, created_ms }) => ({
        id,
        is: (request, notedMs) => id === ServicePoolDefinition.parse(request).name && created_ms >= notedMs,
      }));
    },
    remove: async (api, id, signal) => {
      const isThere = async () => (await api.call('listServicePools', EVERY)).items.some((pool) => pool.id === id);
      if (!(await isThere())) return;
      await api.call('deleteServicePool', { params: { id }, query: { requests: 'release' } });
      await eventually('the pool is taken down', async () => !(await isThere()), signal);
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
  'scaling-policy': {
    make: async (api, request) =>
      (await api.call('createScalingPolicy', { body: ScalingPolicyRequest.parse(request) })).id,
    list: async (api) => {
      const { items } = await api.call('listScalingPolicies', EVERY);
      return items.map(({ id, nf }) => ({
        id,
        is: (request) => isDeepStrictEqual(nf, ScalingPolicyRequest.parse(request).nf),
      }));
    },
    remove: (api, id) => api.call('deleteScalingPolicy', { params: { id } }),
  },
  'lending-group': {
    make: async (api, request) =>
      (await api.call('createLendingGroup', { body: LendingGroupRequest.parse(request) })).id,
    list: async (api) => {
      const { items } = await api.call('listLendingGroups', EVERY);
      return items.map(({ id, title, nfs }) => ({
        id,
        is: (request) => {
          const wanted = LendingGroupRequest.parse(request);
          return title === wanted.title && isDeepStrictEqual(nfs, wanted.nfs);
        },
      }));
    },
    remove: (api, id) => api.call('deleteLendingGroup', { params: { id } }),
  },
  application: {
    make: async (api, request) => (await api.call('createApplication', { body: request })).id,
    list: async (api) => {
      const { items } = await api.call('listApplications', EVERY);
      return items.map(({ id, created_ms }) => ({
        id,
        is: (request, notedMs) => id === ApplicationDefinition.parse(request).id && created_ms >= notedMs,
      }));
    },
    remove: (api, id) => api.call('deleteApplication', { params: { id } }),
  },
  fault: {
    make: async (api, request) => (await api.call('injectFault', { body: request })).id,
    list: async (api, signal) => {
      await eventually('the twin is up', () => isTwinKnown(api), signal);
      const { items } = await api.call('listFaults', EVERY);
      return items.map(({ id, since_ms, ...fault }) => ({
        id,
        is: (request, notedMs) => since_ms >= notedMs && isDeepStrictEqual(fault, FaultRequest.parse(request)),
      }));
    },
    remove: (api, id) => api.call('clearFault', { params: { id } }),
  },
  pcap: {
    make: async (api, request) => {
      const { name, base64 } = PcapRequest.parse(request);
      return (await api.call('uploadPcap', { query: { name }, body: Buffer.from(base64, 'base64') })).id;
    },
    list: async (api, signal) => {
      await eventually('the twin is up', () => isTwinKnown(api), signal);
      const { items } = await api.call('listPcaps', EVERY);
      return items.map(({ id, name, created_ms }) => ({
        id,
        is: (request, notedMs) => name === PcapRequest.parse(request).name && created_ms >= notedMs,
      }));
    },
    remove: (api, id) => api.call('deletePcap', { params: { id } }),
  },
  /** What healing did by itself: a run changes it, and it does this again. Its id is the request. */
  'healing-policy': {
    make: async (_api, request) => JSON.stringify(HealingPolicyRequest.parse(request)),
    list: async (_api, _signal, id) => (id === null ? [] : [{ id, is: () => false }]),
    remove: (api, id) => api.call('putHealingPolicy', { body: HealingPolicyRequest.parse(JSON.parse(id)) }),
  },
  /** The drivers that switches had: a run changes them, and they get these again. Its id is the request. */
  'switch-drivers': {
    make: async (_api, request) => JSON.stringify(DriversRequest.parse(request)),
    list: async (_api, _signal, id) => (id === null ? [] : [{ id, is: () => false }]),
    remove: async (api, id, signal) => {
      const drivers = DriversRequest.parse(JSON.parse(id));
      const { enabled } = await api.call('getTwin');
      if (enabled) await changeDrivers(api, drivers, (what, holds) => eventually(what, holds, signal));
      else await nameDrivers(api, drivers);
    },
  },
  /** Before the switch that runs it, so that it is removed after it. */
  'p4-program': {
    make: async (api, request) => (await api.call('createP4Program', { body: P4ProgramUpload.parse(request) })).name,
    list: async (api) => {
      const { items } = await api.call('listP4Programs', EVERY);
      return items.map(({ name, created_ms }) => ({
        id: name,
        is: (request, notedMs) => name === P4ProgramUpload.parse(request).name && (created_ms ?? 0) >= notedMs,
      }));
    },
    remove: (api, id) => api.call('deleteP4Program', { params: { id } }),
  },
  'lab-switch': {
    make: (api, request) => addLabSwitch(api, LabSwitch.parse(request)),
    list: async (api) => {
      const { switches } = await api.call('getInfrastructure');
      return switches.map(({ id }) => ({ id, is: (request) => id === LabSwitch.parse(request).node.id }));
    },
    remove: (api, id) => removeLabSwitch(api, id),
  },
} as const satisfies Record<string, Making>;

export type Kind = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as [Kind, ...Kind[]];

export function makingOf(kind: Kind): Making {
  return KINDS[kind];
}

/** Faults are listed only while the twin is up. A starting server has no twin yet. */
async function isTwinKnown(api: Api): Promise<boolean> {
  const { enabled, daemon, state } = await api.call('getTwin');
  if (!enabled) return true;
  if (daemon !== 'off') return state?.phase === 'up';
  const { servers, switches, hosts } = await api.call('getInfrastructure');
  return [...servers, ...switches, ...hosts].every(({ origin }) => origin !== 'twin');
}

/** A chain is not removed during a reconfiguration, which would have to roll back. */
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
