import { Button } from '@mantine/core';
import type { Deployment, NfInstance, SloStatus } from '@orrery/contract';
import { type SampleMetric, sampleKey, samplePrefix } from '@orrery/contract/sample-keys';
import { IconHierarchy2 } from '@tabler/icons-react';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { useDeployments, useNfInstances } from '../../shared/api/queries.js';
import { ChainState } from '../../shared/chain/chain-state.js';
import { lossOf, stateWithLoss } from '../../shared/chain/slo-miss.js';
import { worstFirst } from '../../shared/chain/worst-first.js';
import { Panel } from '../../shared/page/page-header.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import { useSloRows } from '../../shared/stream/slo-rows.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { liveColumn } from '../../shared/table/live-column.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { Sparkline } from '../../shared/ui/sparkline.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './overview.module.css';

function SloState({ slos }: { readonly slos: readonly SloStatus[] }) {
  const violated = slos.filter(({ state }) => state === 'violated').length;
  if (slos.length === 0) return <span className="muted">none</span>;
  if (violated > 0) return <StatusBadge state="violated" label={`${violated} violated`} />;
  if (slos.every(({ state }) => state === 'met')) return <StatusBadge state="met" />;
  if (slos.some(({ state }) => state === 'warming-up')) return <StatusBadge state="warming-up" />;
  return <StatusBadge state="no-data" status="stale" />;
}

interface Known {
  readonly titleOf: (id: string) => string;
  readonly slos: readonly SloStatus[];
  readonly instances: readonly NfInstance[];
}

const shownState = ({ chain_id, state }: Deployment, slos: readonly SloStatus[]) =>
  stateWithLoss(state, lossOf(slos, chain_id));

function columnsOf({ titleOf, slos, instances }: Known): readonly Column<Deployment>[] {
  const key = (name: SampleMetric<'chain'>) => (row: Deployment) => sampleKey('chain', row.chain_id, name);
  const originOf = ({ chain_id: id }: Deployment) =>
    instances.some(({ chain_id, origin }) => chain_id === id && origin === 'twin') ? 'twin' : 'live';
  return [
    {
      id: 'chain',
      title: 'Chain',
      className: classes.chain,
      value: ({ chain_id: id }) => titleOf(id),
      cell: ({ chain_id: id, version }) => (
        <>
          <Link to={chainPath(id)}>{titleOf(id)}</Link> <span className="muted">v{version}</span>
        </>
      ),
    },
    {
      id: 'state',
      title: 'State',
      className: classes.state,
      value: (row) => shownState(row, slos),
      cell: ({ chain_id, state }) => <ChainState chainId={chain_id} state={state} />,
    },
    {
      id: 'recent',
      title: 'Last 30 s',
      cell: ({ chain_id: id }) => (
        <Sparkline sampleKey={sampleKey('chain', id, 'bps')} quantity="bps" label={`${titleOf(id)}, throughput`} />
      ),
    },
    liveColumn({ id: 'bps', title: 'Throughput', quantity: 'bps', sampleKey: key('bps') }),
    liveColumn({ id: 'pps', title: 'Packets', quantity: 'pps', sampleKey: key('pps') }),
    liveColumn({ id: 'p50', title: 'p50', quantity: 'us', sampleKey: key('latency_p50_us') }),
    liveColumn({ id: 'p99', title: 'p99', quantity: 'us', sampleKey: key('latency_p99_us') }),
    {
      id: 'slos',
      title: 'SLOs',
      cell: ({ chain_id: id }) => <SloState slos={slos.filter(({ chain_id }) => chain_id === id)} />,
    },
    {
      id: 'origin',
      title: 'Origin',
      value: originOf,
      cell: (row) => (originOf(row) === 'twin' ? <EmulatedMark /> : <span className="muted">live</span>),
    },
  ];
}

export function RunningChains() {
  const query = useDeployments();
  const { data: instances = [] } = useNfInstances();
  const { rows: slos } = useSloRows();
  const titleOf = useChainTitle();
  const deployments = query.data ?? [];
  useSeededSamples(deployments.length > 0 ? [samplePrefix('chain')] : []);
  return (
    <Panel title="Running chains">
      <DataTable
        label="Running chains"
        query={query}
        cards={620}
        columns={columnsOf({ titleOf, slos, instances })}
        rows={worstFirst(deployments, (row) => shownState(row, slos))}
        rowKey={({ chain_id }) => chain_id}
        empty={
          <EmptyState
            icon={IconHierarchy2}
            title="No chain is deployed"
            action={
              <Button component={Link} to="/chains">
                Draw a chain
              </Button>
            }
          >
            Add network functions, connect them and deploy: packets flow in seconds.
          </EmptyState>
        }
      />
    </Panel>
  );
}
