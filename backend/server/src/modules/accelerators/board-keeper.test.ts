import type { ObservedBoard, TwinNodeState } from '@orrery/contract';
import { beforeEach, describe, expect, it } from 'vitest';
import { RACK } from '../../testing/fixtures.js';
import { BoardKeeper } from './board-keeper.js';
import type { Reservations } from './reservations.js';

type Ports = ConstructorParameters<typeof BoardKeeper>;

const [server] = RACK.servers;
const board = {
  id: 'board-1',
  origin: 'twin' as const,
  server: server!.id,
  device: 'emulated',
  slots: 1,
  clock_mhz: 100,
  resources: {},
  bandwidth_bps: 1e9,
  load_s: { full: 12, partial: 2.5 },
};
const seen = (state: ObservedBoard['state'], detail: string | null): ObservedBoard => ({
  id: 'board-1',
  state,
  detail,
  slots: [],
  last_load: null,
});
const told = (state: TwinNodeState['state'], detail: string | null): TwinNodeState => ({
  id: 'board-1',
  kind: 'board',
  state,
  pid: null,
  detail,
});

/** Its slot is in use. */
const PLAN = { graph: { nodes: [{ kind: 'nf', id: 'ch-1.fw.0', board: { board: 'board-1', slot: 0 } }] } };

describe('an emulated board', () => {
  let observed: ObservedBoard | null;
  let node: TwinNodeState | null;
  /** Whether the agent has told anything since it is connected. */
  let hasTold: boolean;
  let events: string[];
  let look: () => void;
  let twinChanged: () => void;
  let keeper: BoardKeeper;

  beforeEach(() => {
    observed = null;
    node = null;
    hasTold = true;
    events = [];
    keeper = new BoardKeeper(
      { current: { infrastructure: { ...RACK, boards: [board] } } } as unknown as Ports[0],
      {
        onChange: (listener: (id: string) => void) => {
          look = () => listener(board.server);
        },
        isConnected: () => true,
        observed: () => (hasTold ? { boards: observed ? [observed] : [] } : null),
        boardOf: () => null,
      } as unknown as Ports[1],
      {
        nodeState: () => node,
        onChange: (listener: () => void) => {
          twinChanged = listener;
        },
      } as unknown as Ports[2],
      { plan: null, comingPlan: PLAN } as unknown as Ports[3],
      { append: ({ message }: { message: string }) => events.push(message) } as unknown as Ports[4],
      { onChange: () => undefined, find: () => null, all: () => [] } as unknown as Reservations,
    );
    keeper.onModuleInit();
  });
  const now = () => {
    look();
    const [{ state, detail }] = keeper.accelerators() as [ReturnType<BoardKeeper['accelerators']>[number]];
    return { state, detail };
  };

  it('that the twin still builds is starting, which is no failure', () => {
    node = told('starting', 'being built: 11 of 24');
    expect(now()).toEqual({ state: 'starting', detail: 'being built: 11 of 24' });
    observed = seen('absent', 'connect ENOENT');
    expect(now()).toEqual({ state: 'starting', detail: 'being built: 11 of 24' });
    expect(events).toEqual([]);
    node = told('up', null);
    observed = seen('operating', null);
    expect(now()).toEqual({ state: 'operating', detail: null });
    expect(events).toEqual(['board-1 operates']);
  });

  it('that could not be built, or does not answer though it runs, is absent', () => {
    observed = seen('absent', 'connect ENOENT');
    node = told('failed', 'the board is not built');
    expect(now()).toEqual({ state: 'absent', detail: 'the board is not built' });
    node = told('up', null);
    expect(now()).toEqual({ state: 'absent', detail: 'connect ENOENT' });
    expect(events).toEqual(['board-1 is away: connect ENOENT']);
  });

  it('whose build fails is told to be away, although its agent says nothing new', () => {
    observed = seen('absent', 'connect ENOENT');
    node = told('starting', 'being built');
    look();
    expect(events).toEqual([]);
    node = told('failed', 'the board is not built');
    twinChanged();
    expect(events).toEqual(['board-1 is away: connect ENOENT']);
  });

  it('is lost where it is away, failed or not driven by its agent, and not while it starts or a faulty slot may be loaded', () => {
    const lost = () => keeper.lost().map(({ id, detail }) => `${id}: ${detail}`);
    hasTold = false;
    expect(lost()).toEqual([]);
    hasTold = true;
    expect(lost()).toEqual([`board-1: ${board.server} does not drive it`]);
    observed = seen('absent', 'connect ENOENT');
    expect(lost()).toEqual(['board-1: connect ENOENT']);
    node = told('starting', 'being built');
    expect(lost()).toEqual([]);
    node = null;
    observed = seen('operating', null);
    expect(lost()).toEqual([]);
    observed = seen('failed', 'the bitstream does not load');
    expect(lost()).toEqual(['board-1: the bitstream does not load']);
    const faulty = { slot: 0, state: 'faulty', module: null, instance_id: null, load: null } as const;
    observed = { ...observed, slots: [{ ...faulty, reloads: false, detail: null }] };
    expect([lost(), keeper.broken()]).toEqual([[], [{ board: 'board-1', slot: 0 }]]);
  });

  it('that answers is as its agent says, whatever the twin last told', () => {
    node = told('starting', null);
    observed = seen('loading', null);
    expect(now()).toEqual({ state: 'loading', detail: null });
  });
});
