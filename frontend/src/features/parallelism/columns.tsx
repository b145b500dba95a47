import { sampleKey } from '@orrery/contract/sample-keys';
import { ChainState } from '../../shared/chain/chain-state.js';
import { STATE_WORDS } from '../../shared/chain/state-words.js';
import { copiesOf } from '../../shared/parallel/joints.js';
import type { Column } from '../../shared/table/column.js';
import { liveColumn } from '../../shared/table/live-column.js';
import { quantityColumn } from '../../shared/table/quantity-column.js';
import { nfCount } from './chain-rows.js';
import { gainText, MeasuredGain, predictedGain } from './gain.js';
import classes from './parallelism.module.css';
import type { KnownChain } from './use-chains.js';

export const EXECUTION_WORDS = { sequential: 'in sequence', parallel: 'in parallel' } as const;

function executionText({ row }: KnownChain): string {
  return row.execution ? EXECUTION_WORDS[row.execution] : 'not deployed';
}

const countText = (nfs: number) => (nfs === 1 ? '1 NF' : `${nfs} NFs`);

export const CHAIN_COLUMNS: readonly Column<KnownChain>[] = [
  {
    id: 'chain',
    title: 'Chain',
    className: classes.chain,
    value: ({ row }) => row.title,
    note: ({ row }) => <div className="muted">{countText(nfCount(row.definition))}</div>,
  },
  { id: 'execution', title: 'Runs', className: classes.runs, value: executionText },
  quantityColumn({
    id: 'sequential',
    title: 'Predicted sequence',
    hint: 'Predicted median latency of the chain in sequence, with queues and the way between servers',
    quantity: 'us',
    value: (chain) => chain.in.sequential.predicted?.p50_us,
  }),
  quantityColumn({
    id: 'parallel',
    title: 'Predicted parallel',
    hint: 'Predicted median latency of the chain in parallel, with copies and merges',
    quantity: 'us',
    value: (chain) => chain.in.parallel.predicted?.p50_us,
  }),
  liveColumn({
    id: 'p50',
    title: 'p50',
    hint: 'Median latency, measured where packets leave the chain',
    quantity: 'us',
    sampleKey: ({ row }) => sampleKey('chain', row.id, 'latency_p50_us'),
  }),
  liveColumn({
    id: 'p99',
    title: 'p99',
    hint: '99th percentile of the latency, measured where packets leave the chain',
    quantity: 'us',
    sampleKey: ({ row }) => sampleKey('chain', row.id, 'latency_p99_us'),
  }),
  {
    id: 'gain',
    title: 'Gain predicted',
    hint: 'Share of the median latency in sequence that running in parallel saves',
    number: true,
    value: predictedGain,
    cell: (chain) => {
      const gain = predictedGain(chain);
      if (gain !== null) return gainText(gain);
      return <span className="muted">{chain.row.canGain === false ? 'none' : '–'}</span>;
    },
  },
  {
    id: 'measured-gain',
    title: 'Gain measured',
    hint: 'From the median in the last half minute and in the minute before the last change of execution; below it the difference from the prediction. No difference: no more than their samples spread',
    number: true,
    cell: (chain) => <MeasuredGain chain={chain} />,
  },
  {
    id: 'copies',
    title: 'Copies',
    hint: 'Made of each packet besides the packet itself, as the chain runs',
    number: true,
    value: ({ row }) => (row.execution === null ? null : row.execution === 'parallel' ? copiesOf(row.forms) : 0),
  },
  {
    id: 'state',
    title: 'State',
    className: classes.state,
    value: ({ row }) => STATE_WORDS[row.state],
    cell: ({ row }) => <ChainState chainId={row.id} state={row.state} />,
  },
];
