import { Button } from '@mantine/core';
import type { BoardNode, Link, LinkSample, ServerNode } from '@orrery/contract';
import { durationText } from '../../shared/format/time.js';
import { useNow } from '../../shared/stream/clock.js';
import { useLink, useWantSamples } from '../../shared/stream/hooks.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { Panel } from '../../shared/ui/page-header.js';
import { RateText } from '../../shared/ui/rate-text.js';
import { QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { BoardFaults } from './board-faults.js';
import { type FaultActions, useFaultActions } from './fault-actions.js';
import classes from './twin-lab.module.css';

function Since({ t_ms }: { readonly t_ms: number }) {
  return <span className="tabular">{durationText(useNow() - t_ms)}</span>;
}

function LinkRow({ link, sample, actions }: { link: Link; sample: LinkSample | undefined; actions: FaultActions }) {
  const live = useLink(link.id) ?? sample;
  const fault = actions.faults.find(({ kind, target }) => kind === 'link-down' && target === link.id);
  const up = live?.up ?? true;
  return (
    <tr>
      <td className={`${classes.link} ${classes.cardHead}`}>{link.id}</td>
      <td data-label="State">{fault || !up ? <StatusBadge state="down" /> : <StatusBadge state="up" />}</td>
      <td className="number" data-label="Rate">
        <RateText quantity="bps" value={live?.a_to_b_bps} />
        <span className={classes.small}>to {link.b.node}</span>
      </td>
      <td className="number" data-label="Rate">
        <RateText quantity="bps" value={live?.b_to_a_bps} />
        <span className={classes.small}>to {link.a.node}</span>
      </td>
      <td data-label={fault && 'Down for'}>{fault && <Since t_ms={fault.since_ms} />}</td>
      <td className={`${classes.action} ${classes.cardAction}`}>
        {fault ? (
          <Button
            size="compact-xs"
            disabled={!actions.may}
            loading={actions.busy === fault.id}
            aria-label={`Mend ${link.id}`}
            onClick={() => actions.clear(fault.id)}
          >
            Mend
          </Button>
        ) : (
          <Button
            variant="default"
            size="compact-xs"
            disabled={!actions.may}
            loading={actions.busy === link.id}
            aria-label={`Take down ${link.id}`}
            onClick={() => actions.inject('link-down', link.id)}
          >
            Take down
          </Button>
        )}
      </td>
    </tr>
  );
}

interface FaultsProps {
  readonly links: readonly Link[];
  readonly servers: readonly ServerNode[];
  readonly boards: readonly BoardNode[];
  readonly samples: readonly LinkSample[];
}

export function Faults({ links, servers, boards, samples }: FaultsProps) {
  const { query, ...actions } = useFaultActions();
  useWantSamples(['link/']);
  const emulated = servers.filter(({ origin }) => origin === 'twin');
  return (
    <Panel title="Faults" flush>
      <QueryBoundary query={query} rows={3}>
        <table className={`table ${classes.cards}`}>
          <thead>
            <tr>
              <th scope="col">Link</th>
              <th scope="col">State</th>
              <th scope="colgroup" colSpan={2} className="number">
                Rate each way
              </th>
              <th scope="col">Down for</th>
              <th scope="col">
                <span className="sr-only">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {links.map((link) => (
              <LinkRow
                key={link.id}
                link={link}
                sample={samples.find(({ link_id }) => link_id === link.id)}
                actions={actions}
              />
            ))}
          </tbody>
        </table>
        {emulated.length > 0 && (
          <div className={classes.kills}>
            {emulated.map(({ id }) => (
              <div key={id}>
                <span>{id}</span>
                <ConfirmButton
                  size="compact-xs"
                  disabled={!actions.may}
                  aria-label={`Kill agent of ${id}`}
                  message={`The agent of ${id} is killed. Its engine goes on forwarding; the agent is started again and takes it over.`}
                  confirmLabel="Kill agent"
                  onConfirm={() => actions.inject('agent-kill', id)}
                >
                  Kill agent
                </ConfirmButton>
                <ConfirmButton
                  size="compact-xs"
                  disabled={!actions.may}
                  aria-label={`Kill engine of ${id}`}
                  message={`The data plane of ${id} is killed. Packets on it are lost until its agent has started it again.`}
                  confirmLabel="Kill engine"
                  onConfirm={() => actions.inject('engine-kill', id)}
                >
                  Kill engine
                </ConfirmButton>
              </div>
            ))}
          </div>
        )}
        <BoardFaults boards={boards.filter(({ origin }) => origin === 'twin')} actions={actions} />
      </QueryBoundary>
    </Panel>
  );
}
