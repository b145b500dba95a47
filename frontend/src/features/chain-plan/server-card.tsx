import type { BoardNode, Instance, ServerNode } from '@orrery/contract';
import { useAccelerators } from '../../shared/api/queries.js';
import { awayWord } from '../../shared/format/board-state.js';
import { quantityText } from '../../shared/format/quantity.js';
import { coresText } from '../../shared/plan/plan-text.js';
import { EmulatedMark, emulatedOutline } from '../../shared/ui/emulated-mark.js';
import { type CoreModule, ModuleChip } from './core-module.js';
import { type ChipProps, InstanceChip } from './instance-chip.js';
import classes from './placement.module.css';

/** Idle cores beyond this many are counted, not drawn. */
const DRAWN_IDLE_CORES = 4;

interface ServerProps extends ChipProps {
  readonly server: ServerNode;
  readonly boards: readonly BoardNode[];
  readonly instances: readonly Instance[];
  /** What the cores run besides NFs. */
  readonly modules: readonly CoreModule[];
}

/** A server with the instances that the plan puts on its cores and boards. */
export function ServerCard({ server, boards, instances, modules, ...chips }: ServerProps) {
  const onCores = instances.filter(({ board }) => !board);
  const used = [...onCores, ...modules].reduce((sum, { core_share }) => sum + core_share, 0);
  const cores = Array.from({ length: server.cores }, (_, core) => core);
  const busy = cores.filter((core) => [...onCores, ...modules].some((each) => each.core === core));
  const idle = cores.filter((core) => !busy.includes(core));
  const drawn = idle.length <= DRAWN_IDLE_CORES ? cores : busy;
  const emulated = server.origin === 'twin' ? emulatedOutline : '';
  return (
    <section
      className={`${classes.server} ${emulated}`}
      data-origin={server.origin}
      aria-label={server.title ?? server.id}
    >
      <header>
        <strong>{server.title ?? server.id}</strong>
        <EmulatedMark origin={server.origin} />
        <span className="muted tabular">
          {coresText(used)} of {server.cores === 1 ? '1 core' : `${server.cores} cores`}
        </span>
      </header>
      {drawn.map((core) => (
        <Core
          key={core}
          core={core}
          instances={onCores.filter((each) => each.core === core)}
          modules={modules.filter((each) => each.core === core)}
          {...chips}
        />
      ))}
      {drawn.length < cores.length && <p className={classes.idle}>{idle.length} more cores are idle</p>}
      {boards.map((board) => (
        <Board
          key={board.id}
          board={board}
          instances={instances.filter((each) => each.board?.board === board.id)}
          {...chips}
        />
      ))}
    </section>
  );
}

interface CoreProps extends Omit<ServerProps, 'server' | 'boards'> {
  readonly core: number;
}

function Core({ core, instances, modules, ...chips }: CoreProps) {
  const share = [...instances, ...modules].reduce((sum, { core_share }) => sum + core_share, 0);
  return (
    <div className={classes.core}>
      <span className={classes.coreName}>core {core}</span>
      <div className={classes.chips}>
        {instances.map((instance) => (
          <InstanceChip key={instance.id} instance={instance} {...chips} />
        ))}
        {modules.map((module) => (
          <ModuleChip key={module.id} module={module} chainId={chips.chainId} />
        ))}
        {instances.length + modules.length === 0 && <span className={classes.free}>idle</span>}
      </div>
      <span className={classes.bar} role="img" aria-label={`${(share * 100).toFixed(0)} % of the core`}>
        <span style={{ width: `${Math.min(100, share * 100)}%` }} data-full={share > 0.9 || undefined} />
      </span>
    </div>
  );
}

/** An FPGA board with what the plan loads into each slot. */
function Board({
  board,
  instances,
  ...chips
}: ChipProps & { readonly board: BoardNode; readonly instances: readonly Instance[] }) {
  const emulated = board.origin === 'twin' ? emulatedOutline : '';
  const now = useAccelerators().data?.find(({ id }) => id === board.id);
  const away = now ? awayWord(now) : null;
  return (
    <div className={`${classes.board} ${emulated}`} data-origin={board.origin}>
      <div className={classes.boardHead}>
        <strong>{board.title ?? board.id}</strong> <EmulatedMark origin={board.origin} />
        <span className="muted">
          {board.device}, {board.attached === 'switch' ? 'at the switch, ' : ''}ports{' '}
          {quantityText('bps', board.bandwidth_bps)}
        </span>
      </div>
      <ul className={classes.slots} aria-label={`Slots of ${board.title ?? board.id}`}>
        {[...Array(board.slots).keys()].map((slot) => {
          const used = instances.filter((each) => each.board?.slot === slot);
          return (
            <li
              key={slot}
              data-used={used.length > 0 || undefined}
              title={away === null ? undefined : (now?.detail ?? undefined)}
            >
              slot {slot}
              {used.length === 0 && (away === null ? ': free' : `: board ${away}`)}
              {used.map((instance) => (
                <InstanceChip key={instance.id} instance={instance} {...chips} />
              ))}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
