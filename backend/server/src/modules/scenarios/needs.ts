import type { ChainDefinition } from '@orrery/contract';
import { checkTogether } from '@orrery/planner';
import type { Api } from './api-caller.js';
import { type Driver, driversNow, whyNot } from './drivers.js';

/** A prerequisite of a scenario. */
export interface Need {
  readonly title: string;
  /** Why the prerequisite is not met; null: it is. */
  missing(api: Api): Promise<string | null>;
}

const EVERY = { query: { limit: 1000 } };

export function runningTwin(): Need {
  return {
    title: 'a running twin',
    async missing(api) {
      const { enabled, daemon } = await api.call('getTwin');
      if (!enabled) return 'the twin is off (ORRERY_TWIN=off)';
      // A busy twin reports late: it is shown as lost until then, but answers.
      if (daemon === 'running' || (daemon === 'lost' && (await twinAnswers(api)))) return null;
      return `the twin is ${daemon}`;
    },
  };
}

function twinAnswers(api: Api): Promise<boolean> {
  return api.call('listFaults', { query: { limit: 1 } }).then(
    () => true,
    () => false,
  );
}

export function hosts(...ids: readonly string[]): Need {
  return {
    title: `hosts ${ids.join(', ')}`,
    async missing(api) {
      const there = new Set((await api.call('getInfrastructure')).hosts.map(({ id }) => id));
      const absent = ids.filter((id) => !there.has(id));
      return absent.length > 0 ? `there is no host ${absent.join(', ')}` : null;
    },
  };
}

export function twinSwitch(): Need {
  return {
    title: 'a switch in the twin',
    missing: async (api) => (Object.keys(await driversNow(api)).length > 0 ? null : 'no switch is in the twin'),
  };
}

export function driverThere(driver: Driver): Need {
  return {
    title: `the switch driver ${driver}`,
    missing: async (api) => {
      const why = await whyNot(api, driver);
      return why === null ? null : `there are no switches of the driver ${driver}: ${why}`;
    },
  };
}

export function nfs(...ids: readonly string[]): Need {
  const names = [...new Set(ids)];
  return {
    title: `NFs ${names.join(', ')}`,
    async missing(api) {
      const there = new Set((await api.call('listNfDescriptors', EVERY)).items.map(({ id }) => id));
      const absent = names.filter((id) => !there.has(id));
      return absent.length > 0 ? `the catalogue has no NF ${absent.join(', ')}` : null;
    },
  };
}

/** The chain names of the scenario must be unused. */
export function freeNames(...names: readonly string[]): Need {
  return {
    title: `no chain called ${names.join(' or ')}`,
    async missing(api) {
      const taken = new Set((await api.call('listChains', EVERY)).items.map(({ draft }) => draft.name));
      const found = names.filter((name) => taken.has(name));
      return found.length > 0 ? `a chain called ${found.join(' and ')} is there already: remove it` : null;
    },
  };
}

/** A packet belongs to one chain: no running chain may take traffic of the scenario's chains. */
export function freeTraffic(chainsOf: (api: Api) => Promise<readonly ChainDefinition[]>): Need {
  return {
    title: 'no running chain with the same traffic',
    async missing(api) {
      const descriptors = (await api.call('listNfDescriptors', EVERY)).items;
      const running = await Promise.all(
        (await api.call('listDeployments', EVERY)).items.map(async ({ chain_id, version }) => {
          const params = { id: chain_id, version: String(version) };
          return { chain_id, version, definition: (await api.call('getChainVersion', { params })).definition };
        }),
      );
      const own = (await chainsOf(api)).map((definition) => ({ chain_id: definition.name, version: 0, definition }));
      const conflict = checkTogether([...running, ...own], descriptors).find(({ code }) => code === 'class-conflict');
      return conflict ? `${conflict.message}: remove that chain` : null;
    },
  };
}

export function freeBoard(): Need {
  return {
    title: 'an operating board whose slots are all empty and not reserved',
    missing: async (api) =>
      (await findFreeBoard(api))
        ? null
        : 'no board beside an engine operates whose slots are all empty and not reserved: move its NFs to software',
  };
}

/** One beside an engine: at a switch, a slot cannot run the last NF of a chain. */
export async function findFreeBoard(api: Api) {
  const { items } = await api.call('listAccelerators');
  return items.find(
    ({ state, slots, switches }) =>
      state === 'operating' &&
      switches.length === 0 &&
      slots.every((slot) => slot.state === 'empty' && slot.reservation === null),
  );
}

/** All unmet needs, in order. */
export async function missingOf(needs: readonly Need[], api: Api): Promise<string[]> {
  const missing: string[] = [];
  for (const need of needs) {
    const why = await need.missing(api);
    if (why !== null) missing.push(why);
  }
  return missing;
}
