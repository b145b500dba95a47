import {
  type Accelerator,
  type Deployment,
  type Infrastructure,
  type Link,
  type NfInstance,
  type Origin,
  primaryAddress,
  type SlotRef,
} from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { type ShownState, shownState } from '../../shared/chain/nf-state.js';
import { DRIVER_TITLES } from '../../shared/switches/switch-text.js';
import { type BoardBox, boardBoxes, boardsHeight } from './boards.js';
import type { RunningJoint } from './running-joints.js';

/** `board`: one whose ports hang on a switch; others are drawn in their servers. */
export type NodeKind = 'server' | 'switch' | 'host' | 'board';

/** An NF instance on a core or a board of its server, or on a switch; the box is relative to the node's centre. */
export interface Chip {
  readonly id: string;
  readonly label: string;
  readonly instance: NfInstance;
  /** As it is shown. */
  readonly state: ShownState;
  /** Absent: not in one. */
  readonly slot?: SlotRef;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface CoreRow {
  readonly label: string;
  /** Of the row's middle, relative to the server's centre. */
  readonly y: number;
  /** Cores without an instance that the row stands for; 0 for a core that has some. */
  readonly idle: number;
}

export interface SceneNode {
  readonly id: string;
  readonly kind: NodeKind;
  readonly title: string;
  readonly subtitle: string;
  readonly origin: Origin;
  readonly role: 'client' | 'server' | null;
  readonly addresses: readonly string[];
  readonly w: number;
  readonly h: number;
  readonly chips: readonly Chip[];
  readonly rows: readonly CoreRow[];
  readonly boards: readonly BoardBox[];
}

export interface SceneLink extends Pick<Link, 'id' | 'bandwidth_bps' | 'delay_us' | 'jitter_us' | 'loss'> {
  readonly a: string;
  readonly b: string;
  /** At its two ends. */
  readonly ports: { readonly a: string; readonly b: string };
  readonly origin: Origin;
}

/** What is drawn, without positions. */
export interface Scene {
  readonly name: string;
  readonly nodes: ReadonlyMap<string, SceneNode>;
  readonly links: ReadonlyMap<string, SceneLink>;
  /** The node in which it is drawn: its server, a board at a switch, or a switch. */
  readonly serverOfInstance: ReadonlyMap<string, string>;
  /** The node in which it is drawn: its server, or itself at a switch. */
  readonly serverOfBoard: ReadonlyMap<string, string>;
  /** Mirrors, merges and queues of running chains, by id. */
  readonly joints: ReadonlyMap<string, RunningJoint>;
  readonly maxBandwidth_bps: number;
}

export const SERVER_W = 236;
export const HEADER_H = 34;
export const CHIP_H = 26;
const CHIP_GAP = 4;
export const CORE_LABEL_W = 50;
const PAD = 8;
const IDLE_H = 20;
/** Of a switch that runs no NF; of the part with its name. */
export const SWITCH_H = 44;
const SWITCH_CHIP_W = 166;
export const HOST_W = 132;
export const HOST_H = 44;

/** `ids.0` of `demo.ids.0`: the colour shows the chain. */
export function chipLabel(id: string): string {
  const parts = id.split('.');
  return parts.length > 2 ? parts.slice(1).join('.') : id;
}

/** Where the packets of an instance are counted. */
export function rateKey({ id, slot }: Pick<Chip, 'id' | 'slot'>): string {
  return slot ? sampleKey('slot', slot, 'pps') : sampleKey('instance', id, 'pps');
}

function serverNode(
  server: Infrastructure['servers'][number],
  instances: readonly NfInstance[],
  boardNodes: Infrastructure['boards'],
  accelerators: readonly Accelerator[],
  stateOf: (instance: NfInstance) => ShownState,
): SceneNode {
  const onBoards = new Set(accelerators.flatMap(({ slots }) => slots.map(({ instance_id }) => instance_id)));
  const byCore = new Map<number, NfInstance[]>();
  for (const instance of instances) {
    if (onBoards.has(instance.id)) continue;
    const list = byCore.get(instance.core);
    if (list) list.push(instance);
    else byCore.set(instance.core, [instance]);
  }
  const cores = [...byCore].sort(([a], [b]) => a - b);
  const idle = Math.max(0, server.cores - cores.length);
  const bodies = cores.map(([, list]) => list.length * (CHIP_H + CHIP_GAP) - CHIP_GAP);
  const inner = bodies.reduce((sum, height) => sum + height + PAD, 0) + (idle > 0 ? IDLE_H + PAD / 2 : 0);
  const h = HEADER_H + PAD / 2 + inner + boardsHeight(boardNodes) + PAD / 2;
  const chips: Chip[] = [];
  const rows: CoreRow[] = [];
  let y = -h / 2 + HEADER_H + PAD / 2;
  const chipW = SERVER_W - CORE_LABEL_W - 2 * PAD;
  for (const [index, [core, list]] of cores.entries()) {
    rows.push({ label: `core ${core}`, y: y + bodies[index]! / 2, idle: 0 });
    for (const [place, instance] of list.sort((a, b) => a.id.localeCompare(b.id)).entries()) {
      chips.push({
        id: instance.id,
        label: chipLabel(instance.id),
        instance,
        state: stateOf(instance),
        x: -SERVER_W / 2 + PAD + CORE_LABEL_W + chipW / 2,
        y: y + place * (CHIP_H + CHIP_GAP) + CHIP_H / 2,
        w: chipW,
        h: CHIP_H,
      });
    }
    y += bodies[index]! + PAD;
  }
  if (idle > 0) {
    rows.push({ label: `${idle} idle ${idle === 1 ? 'core' : 'cores'}`, y: y + IDLE_H / 2, idle });
    y += IDLE_H + PAD / 2;
  }
  const boards = boardBoxes(boardNodes, accelerators, instances, y, SERVER_W - 2 * PAD);
  chips.push(...slotChips(boards, stateOf));
  return {
    id: server.id,
    kind: 'server',
    title: server.title ?? server.id,
    subtitle: server.cores === 1 ? '1 core' : `${server.cores} cores`,
    origin: server.origin,
    role: null,
    addresses: server.addresses.map(({ address }) => address),
    w: SERVER_W,
    h,
    chips,
    rows,
    boards,
  };
}

/** The NFs in the slots of boards. */
function slotChips(boards: readonly BoardBox[], stateOf: (instance: NfInstance) => ShownState): Chip[] {
  const w = SERVER_W - CORE_LABEL_W - 2 * PAD;
  const x = -SERVER_W / 2 + PAD + CORE_LABEL_W + w / 2 - PAD / 2;
  return boards.flatMap((board) =>
    board.slots.flatMap(({ slot, instance, y }): Chip[] => {
      if (!instance) return [];
      const shown = { id: instance.id, label: instance.node_id, instance, state: stateOf(instance) };
      return [{ ...shown, slot: { board: board.id, slot }, x, y, w, h: CHIP_H - 2 }];
    }),
  );
}

function boardNode(
  board: Infrastructure['boards'][number],
  accelerators: readonly Accelerator[],
  instances: readonly NfInstance[],
  stateOf: (instance: NfInstance) => ShownState,
): SceneNode {
  const h = boardsHeight([board]);
  const boards = boardBoxes([board], accelerators, instances, -h / 2, SERVER_W - 2 * PAD);
  return {
    id: board.id,
    kind: 'board',
    title: board.title ?? board.id,
    subtitle: board.device,
    origin: board.origin,
    role: null,
    addresses: [],
    w: SERVER_W - 2 * PAD,
    h,
    chips: slotChips(boards, stateOf),
    rows: [],
    boards,
  };
}

/** A switch of at least that width, with the NFs that it runs below its name, which theirs need not repeat. */
function switchBox(
  least: number,
  instances: readonly NfInstance[],
  stateOf: (instance: NfInstance) => ShownState,
): Pick<SceneNode, 'w' | 'h' | 'chips'> {
  if (instances.length === 0) return { w: least, h: SWITCH_H, chips: [] };
  const step = SWITCH_CHIP_W + CHIP_GAP;
  const perRow = Math.max(1, Math.min(instances.length, Math.floor((least - 2 * PAD + CHIP_GAP) / step)));
  const rows = Math.ceil(instances.length / perRow);
  const h = SWITCH_H + rows * (CHIP_H + CHIP_GAP) + PAD / 2;
  const chips = instances
    .toSorted((a, b) => a.id.localeCompare(b.id))
    .map((instance, place) => ({
      id: instance.id,
      label: instance.node_id,
      instance,
      state: stateOf(instance),
      x: ((place % perRow) - (perRow - 1) / 2) * step,
      y: -h / 2 + SWITCH_H + Math.floor(place / perRow) * (CHIP_H + CHIP_GAP) + CHIP_H / 2,
      w: SWITCH_CHIP_W,
      h: CHIP_H,
    }));
  return { w: Math.max(least, SWITCH_CHIP_W + 2 * PAD), h, chips };
}

export function buildScene(
  infrastructure: Infrastructure,
  instances: readonly NfInstance[],
  accelerators: readonly Accelerator[] = [],
  deployments: readonly Deployment[] = [],
  running: readonly RunningJoint[] = [],
): Scene {
  const chainStates = new Map(deployments.map(({ chain_id, state }) => [chain_id, state]));
  const stateOf = ({ state, chain_id }: NfInstance) => shownState(state, chainStates.get(chain_id));
  const byServer = new Map<string, NfInstance[]>();
  const serverOfInstance = new Map<string, string>();
  const hung = new Set(infrastructure.boards.flatMap(({ id, attached }) => (attached === 'switch' ? [id] : [])));
  for (const instance of instances) {
    const board = instance.slot?.board;
    const home = board && hung.has(board) ? board : instance.server;
    serverOfInstance.set(instance.id, home);
    const list = byServer.get(home);
    if (list) list.push(instance);
    else byServer.set(home, [instance]);
  }
  const degree = new Map<string, number>();
  for (const { a, b } of infrastructure.links) {
    for (const id of [a.node, b.node]) degree.set(id, (degree.get(id) ?? 0) + 1);
  }
  const nodes = new Map<string, SceneNode>();
  for (const server of infrastructure.servers) {
    const boards = infrastructure.boards.filter((board) => board.server === server.id && !hung.has(board.id));
    nodes.set(server.id, serverNode(server, byServer.get(server.id) ?? [], boards, accelerators, stateOf));
  }
  for (const board of infrastructure.boards)
    if (hung.has(board.id)) nodes.set(board.id, boardNode(board, accelerators, byServer.get(board.id) ?? [], stateOf));
  const serverOfBoard = new Map(infrastructure.boards.map(({ id, server }) => [id, hung.has(id) ? id : server]));
  for (const { id, title, driver, origin } of infrastructure.switches) {
    nodes.set(id, {
      id,
      kind: 'switch',
      title: title ?? id,
      subtitle: DRIVER_TITLES[driver],
      origin,
      role: null,
      addresses: [],
      ...switchBox(Math.min(900, Math.max(180, (degree.get(id) ?? 0) * 40)), byServer.get(id) ?? [], stateOf),
      rows: [],
      boards: [],
    });
  }
  for (const { id, title, addresses, role, origin } of infrastructure.hosts) {
    nodes.set(id, {
      id,
      kind: 'host',
      title: title ?? id,
      subtitle: primaryAddress({ addresses }),
      origin,
      role,
      addresses: addresses.map(({ address }) => address),
      w: HOST_W,
      h: HOST_H,
      chips: [],
      rows: [],
      boards: [],
    });
  }
  const links = new Map<string, SceneLink>();
  for (const { id, a, b, bandwidth_bps, delay_us, jitter_us, loss } of infrastructure.links) {
    const ends = [nodes.get(a.node), nodes.get(b.node)];
    if (!ends[0] || !ends[1]) continue;
    const origin = ends.some((end) => end?.origin === 'twin') ? 'twin' : 'live';
    links.set(id, {
      id,
      a: a.node,
      b: b.node,
      ports: { a: a.port, b: b.port },
      bandwidth_bps,
      delay_us,
      jitter_us,
      loss,
      origin,
    });
  }
  const maxBandwidth_bps = Math.max(1, ...infrastructure.links.map(({ bandwidth_bps }) => bandwidth_bps));
  const joints = new Map(running.flatMap((joint) => (nodes.has(joint.server) ? [[joint.id, joint] as const] : [])));
  return { name: infrastructure.name, nodes, links, serverOfInstance, serverOfBoard, joints, maxBandwidth_bps };
}

export function chipOf({ nodes, serverOfInstance }: Scene, id: string): Chip | undefined {
  return nodes.get(serverOfInstance.get(id) ?? '')?.chips.find((chip) => chip.id === id);
}

/** The node of an element that is a node or stands on one. */
export function nodeOf(scene: Scene, kind: 'node' | 'nf' | 'board' | 'joint', id: string): string | undefined {
  if (kind === 'nf') return scene.serverOfInstance.get(id);
  if (kind === 'board') return scene.serverOfBoard.get(id);
  return kind === 'joint' ? scene.joints.get(id)?.server : id;
}

export function boardOf({ nodes, serverOfBoard }: Scene, id: string): BoardBox | undefined {
  return nodes.get(serverOfBoard.get(id) ?? '')?.boards.find((board) => board.id === id);
}
