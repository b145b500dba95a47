import { Button } from '@mantine/core';
import type { BoardNode, Fault, Link, LinkSample, ServerNode } from '@orrery/contract';
import { sampleKey, samplePrefix } from '@orrery/contract/sample-keys';
import { durationText } from '../../shared/format/time.js';
import { Panel } from '../../shared/page/page-header.js';
import { useNow } from '../../shared/stream/clock.js';
import { useLink, useStale, useWantSamples } from '../../shared/stream/hooks.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { MeasuredText } from '../../shared/ui/rate-text.js';
import { Reason } from '../../shared/ui/reason.js';
import { QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { BoardFaults } from './board-faults.js';
import { type FaultActions, useFaultActions } from './fault-actions.js';
import classes from './twin-lab.module.css';

function Since({ t_ms }: { readonly t_ms: number }) {
  return <span className="tabular">{durationText(useNow() - t_ms)}</span>;
}

interface LinkRow {
  readonly link: Link;
  readonly sample: LinkSample | undefined;
  readonly fault: Fault | undefined;
}

const useLive = ({ link, sample }: LinkRow) => useLink(link.id) ?? sample;

function LinkState({ row }: { readonly row: LinkRow }) {
  const up = useLive(row)?.up ?? true;
  return <StatusBadge state={row.fault || !up ? 'down' : 'up'} />;
}

function LinkRate({ row, from, to }: { readonly row: LinkRow; readonly from: 'a' | 'b'; readonly to: 'a' | 'b' }) {
  const live = useLive(row);
  return (
    <>
      <MeasuredText
        quantity="bps"
        value={from === 'a' ? live?.a_to_b_bps : live?.b_to_a_bps}
        stale={useStale(useLink(row.link.id)?.received_ms)}
      />
      <span className={classes.small}>to {row.link[to].node}</span>
    </>
  );
}

function LinkAction({ row: { link, fault }, actions }: { readonly row: LinkRow; readonly actions: FaultActions }) {
  const button = fault ? (
    <Button
      size="compact-xs"
      disabled={actions.refusal !== null}
      loading={actions.busy === fault.id}
      aria-label={`Restore ${link.id}`}
      onClick={() => actions.clear(fault.id)}
    >
      Restore
    </Button>
  ) : (
    <Button
      variant="default"
      size="compact-xs"
      disabled={actions.refusal !== null}
      loading={actions.busy === link.id}
      aria-label={`Take down ${link.id}`}
      onClick={() => actions.inject('link-down', link.id)}
    >
      Take down
    </Button>
  );
  return <Reason of={actions.refusal}>{button}</Reason>;
}

function linkColumns(actions: FaultActions): readonly Column<LinkRow>[] {
  return [
    { id: 'link', title: 'Link', className: classes.link, value: ({ link }) => link.id },
    {
      id: 'state',
      title: 'State',
      value: ({ fault }) => (fault ? 'down' : 'up'),
      cell: (row) => <LinkState row={row} />,
    },
    {
      id: 'there',
      title: 'Rate',
      number: true,
      sampleKey: ({ link }) => sampleKey('link', link.id, 'a_to_b_bps'),
      cell: (row) => <LinkRate row={row} from="a" to="b" />,
    },
    {
      id: 'back',
      title: 'Rate back',
      number: true,
      sampleKey: ({ link }) => sampleKey('link', link.id, 'b_to_a_bps'),
      cell: (row) => <LinkRate row={row} from="b" to="a" />,
    },
    {
      id: 'since',
      title: 'Down for',
      value: ({ fault }) => fault && -fault.since_ms,
      cell: ({ fault }) => fault && <Since t_ms={fault.since_ms} />,
    },
    {
      id: 'actions',
      title: 'Actions',
      untitled: true,
      className: classes.action,
      cell: (row) => <LinkAction row={row} actions={actions} />,
    },
  ];
}

interface FaultsProps {
  readonly links: readonly Link[];
  readonly servers: readonly ServerNode[];
  readonly boards: readonly BoardNode[];
  readonly samples: readonly LinkSample[];
}

export function Faults({ links, servers, boards, samples }: FaultsProps) {
  const { query, ...actions } = useFaultActions();
  useWantSamples([samplePrefix('link')]);
  const emulated = servers.filter(({ origin }) => origin === 'twin');
  return (
    <Panel title="Faults">
      <QueryBoundary query={query} rows={3}>
        <DataTable
          label="Links"
          cards={560}
          columns={linkColumns(actions)}
          rows={links.map((link) => ({
            link,
            sample: samples.find(({ link_id }) => link_id === link.id),
            fault: actions.faults.find(({ kind, target }) => kind === 'link-down' && target === link.id),
          }))}
          rowKey={({ link }) => link.id}
        />
        {emulated.length > 0 && (
          <div className={classes.kills}>
            {emulated.map(({ id }) => (
              <div key={id}>
                <span>{id}</span>
                <Reason of={actions.refusal}>
                  <ConfirmButton
                    size="compact-xs"
                    disabled={actions.refusal !== null}
                    aria-label={`Kill agent of ${id}`}
                    message={`The agent of ${id} is killed. Its engine keeps forwarding; the agent is restarted and takes over.`}
                    confirmLabel="Kill agent"
                    onConfirm={() => actions.inject('agent-kill', id)}
                  >
                    Kill agent
                  </ConfirmButton>
                </Reason>
                <Reason of={actions.refusal}>
                  <ConfirmButton
                    size="compact-xs"
                    disabled={actions.refusal !== null}
                    aria-label={`Kill engine of ${id}`}
                    message={`The data plane of ${id} is killed. Its packets are lost until the agent has restarted it.`}
                    confirmLabel="Kill engine"
                    onConfirm={() => actions.inject('engine-kill', id)}
                  >
                    Kill engine
                  </ConfirmButton>
                </Reason>
              </div>
            ))}
          </div>
        )}
        <BoardFaults boards={boards.filter(({ origin }) => origin === 'twin')} actions={actions} />
      </QueryBoundary>
    </Panel>
  );
}
