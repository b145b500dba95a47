import type { Reconfiguration } from '@orrery/contract';
import { IconReplace } from '@tabler/icons-react';
import { deletedChain, useChainTitle } from '../../shared/api/chains.js';
import { durationText } from '../../shared/format/time.js';
import { useNow } from '../../shared/stream/clock.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './accelerators.module.css';
import { StageBar } from './stage-bar.js';
import { causeText, reconfigurationMs } from './stages.js';

interface ReconfigurationTableProps {
  readonly items: readonly Reconfiguration[];
  readonly selectedId: string;
  readonly onSelect: (id: string) => void;
}

export function ReconfigurationBadge({ state }: Pick<Reconfiguration, 'state'>) {
  return <StatusBadge state={state} status={state === 'running' ? 'working' : undefined} />;
}

/** `Web guard: firewall, software → board-1 slot 0` */
export function Moves({ moves }: Pick<Reconfiguration, 'moves'>) {
  const titleOf = useChainTitle(deletedChain);
  if (moves.length === 0) return <span className="muted">nothing</span>;
  return (
    <ul className={classes.moves}>
      {moves.map(({ pipeline_id, node_id, from, to }) => (
        <li key={`${pipeline_id}${node_id}`}>
          {node_id} <span className="muted">of {titleOf(pipeline_id)}:</span> {from} → {to}
        </li>
      ))}
    </ul>
  );
}

/** What moved, why, and what each of the four steps took; the newest first. */
export function ReconfigurationTable({ items, selectedId, onSelect }: ReconfigurationTableProps) {
  const now = useNow();
  if (items.length === 0)
    return (
      <EmptyState icon={IconReplace} title="Nothing was moved yet">
        An NF moves when a policy sees its load beyond a threshold, or when you program or drain a slot.
      </EmptyState>
    );
  return (
    <table className="table" aria-label="Reconfigurations">
      <thead>
        <tr>
          <th scope="col">Started</th>
          <th scope="col">Moves</th>
          <th scope="col">Cause</th>
          <th scope="col">Stages</th>
          <th scope="col" className="number">
            Took
          </th>
          <th scope="col" className="number" title="Frames that the load of the slot lost">
            Packets lost
          </th>
          <th scope="col">Result</th>
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={item.id} data-clickable="true" data-selected={item.id === selectedId}>
            <td className={classes.nowrap}>
              <button type="button" className="row-link" onClick={() => onSelect(item.id)}>
                <RelativeTime t_ms={item.started_ms} />
              </button>
            </td>
            <td className={classes.movesCell}>
              <Moves moves={item.moves} />
            </td>
            <td className={classes.causeCell}>
              {causeText(item.cause)}
              <span className={classes.small}>{item.trigger}</span>
            </td>
            <td>
              <StageBar reconfiguration={item} now={now} />
            </td>
            <td className="number">{durationText(reconfigurationMs(item, now))}</td>
            <td className="number">
              {item.packets_lost === null ? <span className="muted">–</span> : item.packets_lost.toLocaleString()}
            </td>
            <td className={classes.resultCell}>
              <ReconfigurationBadge state={item.state} />
              {item.detail && <span className={classes.small}>{item.detail}</span>}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
