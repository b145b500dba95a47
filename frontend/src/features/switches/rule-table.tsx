import type { SwitchRuleState } from '@orrery/contract';
import { sampleKey, samplePrefix } from '@orrery/contract/sample-keys';
import { IconRoute } from '@tabler/icons-react';
import { useMemo } from 'react';
import { Link } from 'react-router';
import { type ChainTitle, chainPath, useChainTitle } from '../../shared/api/chains.js';
import { useSwitchRules } from '../../shared/api/queries.js';
import { useWantSamples } from '../../shared/stream/hooks.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { liveColumn } from '../../shared/table/live-column.js';
import { measuredColumn } from '../../shared/table/quantity-column.js';
import { useLocalSettings } from '../../shared/table/table-settings.js';
import { MeasuredText } from '../../shared/ui/rate-text.js';
import { EmptyState } from '../../shared/ui/states.js';
import { kindText } from './rule-text.js';

/** Of fewer packets it is the slowest of them. */
const LEAST_FOR_P99 = 100;

/** Why a latency is not shown; `least`: stamped packets of which it can be told. */
function whyNoLatency({ kind, latency }: SwitchRuleState, driver: string | undefined, least: number): string {
  if (latency) return `${latency.packets} stamped packets came back in the last 10 s: ${least} are needed`;
  if (kind !== 'classify') return 'Measured of classes only: rules for classification';
  return driver === 'ovs' ? 'Not measured by Open vSwitch' : 'No stamped packet came back in the last 10 s';
}

function ruleColumns(
  switchId: string,
  driver: string | undefined,
  titleOf: ChainTitle,
): readonly Column<SwitchRuleState>[] {
  const rate = (metric: 'pps' | 'bps', title: string) =>
    liveColumn<SwitchRuleState>({
      id: metric,
      title,
      quantity: metric,
      sampleKey: ({ rule_id }) => sampleKey('rule', `${switchId} ${rule_id}`, metric),
    });
  const latency = (figure: 'p50_us' | 'p99_us', title: string, least = 1): Column<SwitchRuleState> => ({
    id: figure,
    title,
    hint: `From a P4 switch into the chain and back to it: one packet in 16, last 10 s, exact to half an octave; 23 us is also less, 0.74 s also more${least > 1 ? `; from ${least} such packets on` : ''}`,
    number: true,
    cell: (rule) =>
      rule.latency && rule.latency.packets >= least ? (
        <MeasuredText quantity="us" value={rule.latency[figure]} />
      ) : (
        <span className="muted" title={whyNoLatency(rule, driver, least)}>
          –
        </span>
      ),
  });
  return [
    { id: 'rule', title: 'Rule', value: ({ rule_id }) => rule_id },
    {
      id: 'chain',
      title: 'Chain',
      value: ({ chain_id }) => chain_id && titleOf(chain_id),
      cell: ({ chain_id }) => (chain_id ? <Link to={chainPath(chain_id)}>{titleOf(chain_id)}</Link> : '–'),
    },
    { id: 'kind', title: 'Purpose', value: kindText },
    { id: 'entries', title: 'Entries', number: true, value: ({ entries }) => entries },
    rate('pps', 'Packet rate'),
    rate('bps', 'Bit rate'),
    latency('p50_us', 'Latency p50'),
    latency('p99_us', 'Latency p99', LEAST_FOR_P99),
    measuredColumn({ id: 'packets', title: 'Packets', quantity: 'count', value: ({ packets }) => packets }),
    measuredColumn({ id: 'bytes', title: 'Bytes', quantity: 'bytes', value: ({ bytes }) => bytes }),
  ];
}

interface RuleTableProps {
  readonly switchId: string;
  /** Undefined: not known yet. */
  readonly driver: string | undefined;
  /** Shows the entries of a rule. */
  readonly onSelect: (ruleId: string) => void;
}

/** The rules of chains at a switch, with their traffic. */
export function RuleTable({ switchId, driver, onSelect }: RuleTableProps) {
  const query = useSwitchRules(switchId);
  useWantSamples([samplePrefix('rule')]);
  const titleOf = useChainTitle();
  const settings = useLocalSettings();
  const columns = useMemo(() => ruleColumns(switchId, driver, titleOf), [switchId, driver, titleOf]);
  return (
    <DataTable
      label={`Rules of ${switchId}`}
      query={query}
      settings={settings}
      cards={620}
      columns={columns}
      rows={query.data ?? []}
      rowKey={({ rule_id }) => rule_id}
      onSelect={({ rule_id }) => onSelect(rule_id)}
      empty={
        <EmptyState icon={IconRoute} title="No chain uses this switch">
          Its entries only forward between hosts. Deploy a <Link to="/chains">chain</Link>; its rules appear here.
        </EmptyState>
      }
    />
  );
}
