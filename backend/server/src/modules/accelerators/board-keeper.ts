import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import {
  type Accelerator,
  type AcceleratorSlot,
  type BoardNode,
  type FieldError,
  type Infrastructure,
  type LoadResult,
  nfInstances,
  type ObservedBoard,
  type ObservedSlot,
  type SlotRef,
  type TwinNodeState,
} from '@orrery/contract';
import type { BoardView } from '../../ports/board-view.js';
import { sameLoad } from '../../ports/board-view.js';
import { DEPLOYMENT_VIEW, type DeploymentView } from '../../ports/deployment-view.js';
import { EVENT_LOG, type EventLog } from '../../ports/event-log.js';
import { INFRASTRUCTURE, type InfrastructureStore } from '../../ports/infrastructure-store.js';
import { FLEET, type NodeFleet } from '../../ports/node-fleet.js';
import { TWIN, type TwinView } from '../../ports/twin-view.js';
import { Reservations, slotKey } from './reservations.js';

/** Parts of a slot's state whose changes are logged; progress of a load is not. */
type Told = Pick<ObservedSlot, 'state' | 'module' | 'instance_id' | 'reloads'>;

/** Joins the declared boards (infrastructure), their state (agents), their users (plan) and reservations (operators). */
@Injectable()
export class BoardKeeper implements BoardView, OnModuleInit {
  private readonly toldSlots = new Map<string, Told>();
  private readonly toldBoards = new Map<string, ObservedBoard['state']>();
  private readonly toldLoads = new Map<string, LoadResult | null>();
  private readonly listeners: (() => void)[] = [];

  constructor(
    @Inject(INFRASTRUCTURE) private readonly infrastructure: InfrastructureStore,
    @Inject(FLEET) private readonly fleet: NodeFleet,
    @Inject(TWIN) private readonly twin: TwinView,
    @Inject(DEPLOYMENT_VIEW) private readonly view: DeploymentView,
    @Inject(EVENT_LOG) private readonly events: EventLog,
    @Inject(Reservations) private readonly reservations: Reservations,
  ) {}

  onModuleInit(): void {
    this.fleet.onChange((node) => this.look(node));
    // What an agent said of a board that was starting is told once it is not.
    this.twin.onChange(() => {
      for (const { server } of this.infrastructure.current.infrastructure.boards) this.look(server);
    });
    this.reservations.onChange(() => this.changed());
  }

  accelerators(): readonly Accelerator[] {
    return this.infrastructure.current.infrastructure.boards.map((board) => this.describe(board));
  }

  errorsOf({ board: id, slot }: SlotRef, pointer: string): FieldError[] {
    const board = this.infrastructure.current.infrastructure.boards.find((each) => each.id === id);
    if (!board) return [{ pointer: `${pointer}/board`, detail: `there is no board ${id}`, code: 'unknown-board' }];
    if (slot < board.slots) return [];
    return [{ pointer: `${pointer}/slot`, detail: `${id} has slots 0 to ${board.slots - 1}`, code: 'unknown-slot' }];
  }

  reserved(): readonly SlotRef[] {
    return this.reservations.all().map(({ board, slot }) => ({ board, slot }));
  }

  broken(): readonly SlotRef[] {
    return this.infrastructure.current.infrastructure.boards.flatMap((board) => {
      if (!this.fleet.isConnected(board.server)) return [];
      const seen = this.observed(board);
      const down = seen !== null && isDown(seen);
      return slotsOf(board)
        .filter((slot) => down || (isFaultyOrReloads(seen, slot) && this.userOf(board.id, slot)))
        .map((slot) => ({ board: board.id, slot }));
    });
  }

  lost(): readonly Accelerator[] {
    return this.infrastructure.current.infrastructure.boards
      .filter((board) => {
        const { server } = board;
        // Until its first report, a connected agent tells of no board.
        if (!this.fleet.isConnected(server) || !this.fleet.observed(server)) return false;
        const seen = this.observed(board);
        return (seen === null || isDown(seen)) && !this.startOf(board.id, seen);
      })
      .map((board) => this.describe(board));
  }

  reloading(): readonly SlotRef[] {
    return this.infrastructure.current.infrastructure.boards.flatMap((board) => {
      if (!this.fleet.isConnected(board.server)) return [];
      const slots = this.observed(board)?.slots ?? [];
      return slots
        .filter(({ slot, reloads }) => reloads && this.userOf(board.id, slot))
        .map(({ slot }) => ({ board: board.id, slot }));
    });
  }

  lastLoad(board: string): LoadResult | null {
    const node = this.infrastructure.current.infrastructure.boards.find(({ id }) => id === board);
    return (node && this.observed(node)?.last_load) ?? null;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  private observed({ id, server }: BoardNode): ObservedBoard | null {
    return this.fleet.observed(server)?.boards.find((board) => board.id === id) ?? null;
  }

  private describe(board: BoardNode): Accelerator {
    const { id, server } = board;
    const connected = this.fleet.isConnected(server);
    const seen = this.observed(board);
    const description = this.fleet.boardOf(server, id);
    const starting = this.startOf(id, seen);
    return {
      id,
      title: board.title ?? id,
      origin: board.origin,
      server,
      switches: switchesOf(board, this.infrastructure.current.infrastructure),
      device: board.device,
      clock_mhz: board.clock_mhz,
      bandwidth_bps: board.bandwidth_bps,
      resources: board.resources,
      load_s: board.load_s,
      state: starting ? 'starting' : (seen?.state ?? 'absent'),
      detail: !connected
        ? `${server} is not connected`
        : starting
          ? starting.detail
          : (this.failureOf(id, seen) ?? seen?.detail ?? (seen ? null : `${server} does not drive it`)),
      description,
      slots: slotsOf(board).map((slot) => this.slot(id, slot, connected, seen)),
      last_load: seen?.last_load ?? null,
    };
  }

  /** An emulated board that does not answer because the twin is still building or starting it. */
  private startOf(board: string, seen: ObservedBoard | null): TwinNodeState | null {
    if (seen && seen.state !== 'absent') return null;
    const told = this.twin.nodeState(board);
    return told?.state === 'starting' ? told : null;
  }

  /** Why the twin could not start an emulated board: its agent sees only that it does not answer. */
  private failureOf(board: string, seen: ObservedBoard | null): string | null {
    const told = seen?.state === 'absent' ? this.twin.nodeState(board) : null;
    return told?.state === 'failed' ? told.detail : null;
  }

  private slot(board: string, slot: number, connected: boolean, seen: ObservedBoard | null): AcceleratorSlot {
    const observed = seen?.slots.find((each) => each.slot === slot) ?? unknownSlot(slot);
    const user = this.userOf(board, slot);
    return {
      ...(connected ? observed : unseen(observed)),
      chain_id: user?.chain_id ?? null,
      node_id: user?.node_id ?? null,
      reservation: this.reservations.find({ board, slot }),
    };
  }

  private userOf(board: string, slot: number) {
    return nfInstances(this.view.comingPlan?.graph).find((it) => it.board?.board === board && it.board.slot === slot);
  }

  private look(node: string): void {
    const connected = this.fleet.isConnected(node);
    let news = false;
    for (const board of this.fleet.observed(node)?.boards ?? []) {
      news = this.tellBoard(board) || news;
      news = this.hasLoaded(board) || news;
      for (const slot of board.slots) news = this.tellSlot(board.id, connected ? slot : unseen(slot)) || news;
    }
    if (news) this.changed();
  }

  private tellBoard(board: ObservedBoard): boolean {
    const { id, state, detail } = board;
    if (this.toldBoards.get(id) === state || this.startOf(id, board)) return false;
    const first = !this.toldBoards.has(id);
    this.toldBoards.set(id, state);
    this.events.append({
      type: 'board.state',
      subject: id,
      message: `${id} ${BOARD_WORDS[state]}${detail ? `: ${detail}` : ''}`,
      data: { board: id, state, detail, first },
    });
    return true;
  }

  private hasLoaded({ id, last_load }: ObservedBoard): boolean {
    const news = !sameLoad(this.toldLoads.get(id) ?? null, last_load);
    this.toldLoads.set(id, last_load);
    return news;
  }

  private tellSlot(board: string, { slot, state, module, instance_id, load, reloads, detail }: ObservedSlot): boolean {
    const key = slotKey({ board, slot });
    const before = this.toldSlots.get(key);
    const told = { state, module, instance_id, reloads };
    if (isDeepStrictEqual(before, told)) return false;
    this.toldSlots.set(key, told);
    if (isDeepStrictEqual({ ...before, reloads }, told)) return true;
    const user = nfInstances(this.view.plan?.graph).find(({ id }) => id === instance_id);
    this.events.append({
      type: 'slot.state',
      subject: board,
      message: `${board} slot ${slot} is ${state}${module ? ` (${module})` : ''}${detail ? `: ${detail}` : ''}`,
      data: {
        board,
        slot,
        state,
        module,
        instance_id,
        chain_id: user?.chain_id ?? null,
        node_id: user?.node_id ?? null,
        load: load?.kind ?? null,
        policy: load?.policy ?? null,
      },
    });
    return true;
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

const BOARD_WORDS: Readonly<Record<ObservedBoard['state'], string>> = {
  operating: 'operates',
  loading: 'loads a bitstream',
  failed: 'failed',
  absent: 'is away',
};

/** A faulty slot may be reloaded, even if it is the board's only one. */
function isDown({ state, slots }: ObservedBoard): boolean {
  return state === 'absent' || (state === 'failed' && !slots.some((slot) => slot.state === 'faulty'));
}

function isFaultyOrReloads(board: ObservedBoard | null, slot: number): boolean {
  const seen = board?.slots.find((each) => each.slot === slot);
  return seen?.state === 'faulty' || seen?.reloads === true;
}

function slotsOf({ slots }: BoardNode): number[] {
  return Array.from({ length: slots }, (_, slot) => slot);
}

function unknownSlot(slot: number): ObservedSlot {
  return { slot, state: 'unknown', module: null, instance_id: null, load: null, reloads: false, detail: null };
}

/** A slot as its agent last reported it, with unknown state. */
function unseen(slot: ObservedSlot): ObservedSlot {
  return { ...slot, state: 'unknown', load: null, reloads: false, detail: null };
}

/** The switches at which the ports of a board hang; none beside an engine. */
function switchesOf({ id, attached }: BoardNode, { links }: Infrastructure): string[] {
  if (attached !== 'switch') return [];
  const peers = links.flatMap(({ a, b }) => (a.node === id ? b.node : b.node === id ? a.node : []));
  return [...new Set(peers)];
}
