import { z } from 'zod';
import { LoadKind, LoadPolicy, LoadResult, ObservedBoard, ObservedSlot, SlotRef, SlotState } from '../boards.js';
import { Id, Name } from '../common.js';
import { agentEvent, event } from './declare.js';

export const BOARD_EVENTS = {
  'board.state': event({
    title: 'Board state',
    about: 'board',
    severity: ({ state }) => (state === 'failed' || state === 'absent' ? 'error' : 'info'),
    data: z.object({
      board: Name,
      state: ObservedBoard.shape.state,
      detail: z.string().nullable(),
      first: z.boolean().describe('first report since the server started'),
    }),
  }),
  'slot.state': event({
    title: 'Slot state',
    about: 'board',
    severity: ({ state }) => (state === 'faulty' ? 'error' : 'info'),
    data: z.object({
      ...SlotRef.shape,
      state: SlotState,
      module: ObservedSlot.shape.module,
      instance_id: Id.nullable(),
      chain_id: Id.nullable(),
      node_id: Name.nullable(),
      load: LoadKind.nullable(),
      policy: LoadPolicy.nullable(),
    }),
  }),
  'slot.reserved': event({
    title: 'Slot reserved',
    about: 'board',
    data: z.object({ ...SlotRef.shape, reason: z.string() }),
  }),
  'slot.released': event({ title: 'Slot released', about: 'board', data: z.object(SlotRef.shape) }),
};

const ofBoard = { board: Name };
const ofSlot = { ...ofBoard, slot: SlotRef.shape.slot };

/** Reported by the agent of the board's server. */
export const BOARD_AGENT_EVENTS = {
  'board.lost': agentEvent({ title: 'Board lost', about: 'board', severity: 'error', data: ofBoard }),
  'board.back': agentEvent({
    title: 'Board back',
    about: 'board',
    data: { ...ofBoard, lost: z.int().describe('frames lost while it had no power or did not answer') },
  }),
  'board.poll-failed': agentEvent({ title: 'Board not readable', about: 'board', severity: 'error', data: ofBoard }),
  'board.events-lost': agentEvent({
    title: 'Events of board modules lost',
    about: 'board',
    severity: 'warning',
    data: { ...ofBoard, slot: SlotRef.shape.slot.nullable().describe('null: any slot'), count: z.int() },
  }),
  'slot.loaded': agentEvent({
    title: 'Slot loaded',
    about: 'board',
    data: { ...ofBoard, ...LoadResult.shape },
  }),
  'slot.emptied': agentEvent({ title: 'Slot emptied', about: 'board', data: ofSlot }),
  'slot.faulty': agentEvent({ title: 'Slot faulty', about: 'board', severity: 'error', data: ofSlot }),
  'slot.failed': agentEvent({ title: 'Slot not set up', about: 'board', severity: 'error', data: ofSlot }),
};
