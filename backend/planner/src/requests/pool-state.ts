import {
  type Calibration,
  type Infrastructure,
  isAtSwitch,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type PoolInstance,
  type ServicePoolDefinition,
  type SlotRef,
  slotPlace,
} from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { boardImplementation } from '../check/implementation.js';
import { costOf, costOfNode, reassemblies } from '../slo/instance-cost.js';
import { hopDelay, serviceUs } from '../slo/latency.js';
import { overheadsOf } from '../slo/overhead.js';
import { coreKey, coreUse } from '../slo/placed.js';
import type { LiveInstance, LiveOption, LiveState, PlaceTimes } from './live-network.js';
import { freeName } from './pool-chain.js';

/** What is known of a pool and where it runs. */
export interface PoolInput {
  readonly pool: ServicePoolDefinition;
  readonly chain_id: string;
  readonly instances: readonly PoolInstance[];
  /** The plan that runs, with the pool or without. */
  readonly plan: Pick<Plan, 'graph' | 'chains'> | null;
  readonly descriptors: readonly NfDescriptor[];
  readonly infrastructure: Infrastructure;
  readonly calibration: Calibration;
  /** Whether what runs at the instance works. */
  readonly works: (server: string, slot: SlotRef | null) => boolean;
  readonly booked_bps: (instance: string) => number;
  /** By instance of the plan: medians and rates of the last seconds; `null`: not measured. */
  readonly measured: (instance: string) => { readonly latency_us: number | null; readonly bps: number | null };
  /** Slots that may get an instance of the NF. */
  readonly free_slots: (nf: string) => readonly SlotRef[];
}

export interface PlacedPoolInstance extends PoolInstance {
  /** Of the plan; `null`: it does not run. */
  readonly instance_id: string | null;
  readonly place: string | null;
  readonly usable: boolean;
  readonly latency_us: number | null;
  readonly measured: boolean;
  readonly measured_bps: number | null;
}

/** What requests to the pool can use, with measured medians where there are any and predictions elsewhere. */
export function poolState(input: PoolInput): {
  readonly state: LiveState;
  readonly all: readonly PlacedPoolInstance[];
} {
  const { pool, instances, infrastructure, calibration } = input;
  const predicted = predictions(input);
  const running = new Map(
    nfInstances(input.plan?.graph)
      .filter(({ chain_id }) => chain_id === input.chain_id)
      .map((it) => [it.node_id, it]),
  );
  const all = instances.map((it): PlacedPoolInstance => {
    const run = running.get(it.id);
    if (!run) return { ...it, ...NOT_RUNNING, ...coming(input, it) };
    const seen = input.measured(run.id);
    return {
      ...it,
      on: run.board ? 'board' : 'software',
      slot: run.board ? { board: run.board.board, slot: run.board.slot } : null,
      instance_id: run.id,
      place: run.board && isAtSwitch(run) ? slotPlace(run.board) : run.server,
      usable: input.works(run.server, run.board ?? null),
      latency_us: seen.latency_us ?? predicted(run.id),
      measured: seen.latency_us !== null,
      measured_bps: seen.bps,
    };
  });
  return {
    all,
    state: {
      functions: pool.nfs.map(({ nf }) => nf),
      instances: all.flatMap((it): LiveInstance[] =>
        (it.usable || it.instance_id === null) && it.place !== null && it.latency_us !== null
          ? [
              {
                id: it.id,
                nf: it.nf,
                place: it.place,
                latency_us: it.latency_us,
                measured: it.measured,
                rate_bps: it.rate_bps,
                booked_bps: input.booked_bps(it.id),
                measured_bps: it.measured_bps ?? 0,
              },
            ]
          : [],
      ),
      options: pool.deploys ? optionsOf(input) : [],
      ...placeTimes(infrastructure, calibration),
    },
  };
}

/** What packets take to enter a place, and from one to another. */
export function placeTimes(infrastructure: Infrastructure, calibration: Calibration | undefined): PlaceTimes {
  const overheads = overheadsOf(calibration);
  return {
    entry_us: (place) => overheads.entry(place).mean_us,
    transit_us: (from, to) => hopDelay(infrastructure, from, to, calibration),
  };
}

const NOT_RUNNING = {
  instance_id: null,
  place: null,
  usable: false,
  latency_us: null,
  measured: false,
  measured_bps: null,
};

/** Time in an instance by the model of latency, at the rate that is planned for it. */
function predictions({ plan, chain_id, descriptors, infrastructure }: PoolInput): (instance: string) => number | null {
  const definition = plan?.chains.find((it) => it.chain_id === chain_id)?.definition;
  if (!plan || !definition) return () => null;
  const catalogue = indexDescriptors(descriptors);
  const busy = coreUse(plan.graph);
  const places = reassemblies(plan.graph, descriptors);
  const ghz = new Map(infrastructure.servers.map((server) => [server.id, server.ghz]));
  const nodes = new Map(nfInstances(plan.graph).map((it) => [it.id, it]));
  return (id) => {
    const node = nodes.get(id);
    const clock = node && ghz.get(node.server);
    if (!node || clock === undefined || !catalogue.has(node.nf)) return null;
    const cost = costOfNode(node, catalogue, infrastructure, definition, places.has(id));
    const idle = 1 - Math.min(0.999, busy.get(coreKey(node)) ?? 0);
    return cost.base_latency_us + serviceUs(cost, definition.traffic_class.packet_bytes, clock) / idle;
  };
}

/** One instance of each NF for each slot that may run it; the boards' costs decide between them. */
function optionsOf(input: PoolInput): LiveOption[] {
  const { pool, instances, free_slots } = input;
  const taken = new Set(instances.map(({ id }) => id));
  return pool.nfs.flatMap(({ nf, rate_bps }) =>
    free_slots(nf).flatMap((slot): LiveOption[] => {
      const there = inSlot(input, nf, slot);
      if (!there) return [];
      const id = freeName(`${nf.slice(0, 18)}-${slot.board.slice(0, 18)}`, `-${slot.slot}`, taken);
      taken.add(id);
      return [{ id, nf, rate_bps, slot: `${slot.board}/${slot.slot}`, ...there }];
    }),
  );
}

/** An instance that is to be deployed is as good as the model says. */
function coming(input: PoolInput, { nf, slot }: PoolInstance): Pick<PlacedPoolInstance, 'place' | 'latency_us'> {
  const there = slot && inSlot(input, nf, slot);
  return { place: there?.place ?? null, latency_us: there?.latency_us ?? null };
}

/** What the NF would be in the slot; `null`: it cannot run there now. */
function inSlot({ pool, descriptors, infrastructure, works }: PoolInput, nf: string, slot: SlotRef) {
  const descriptor = indexDescriptors(descriptors).get(nf);
  const asked = pool.nfs.find((it) => it.nf === nf);
  const board = infrastructure.boards.find(({ id }) => id === slot.board);
  const server = infrastructure.servers.find(({ id }) => id === board?.server);
  if (!descriptor || !asked || !boardImplementation(descriptor)) return null;
  if (!board || !server || board.attached === 'switch' || !works(server.id, slot)) return null;
  const { rate_bps, config } = asked;
  const definition = {
    nodes: [{ id: nf, kind: 'nf' as const, nf, config }],
    traffic_class: { from: pool.hosts, match: [], rate_bps, packet_bytes: pool.packet_bytes },
  };
  const place = { ...slot, load: 'partial' as const, policy: 'hold' as const };
  const cost = costOf({ driver: 'board', board: place, node_id: nf }, descriptor, infrastructure, definition);
  const latency_us = cost.base_latency_us + serviceUs(cost, pool.packet_bytes, server.ghz);
  return { place: server.id, latency_us, cost: board.cost };
}
