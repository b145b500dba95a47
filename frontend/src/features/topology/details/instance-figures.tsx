import { Button } from '@mantine/core';
import type { InstanceFigures as Figures } from '@orrery/contract';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../../shared/api/client.js';
import { useMay } from '../../../shared/api/session.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { amount, coresText } from '../../../shared/plan/plan-text.js';
import { DetailSection, Facts } from '../../../shared/ui/detail-panel.js';
import { FormTrouble } from '../../../shared/ui/form-trouble.js';
import { RelativeTime } from '../../../shared/ui/relative-time.js';
import { containerFacts } from './container-facts.js';
import { type DiskUse, diskFacts, diskIn } from './disk-use.js';

const QUANTITIES = { bytes: 'bytes', entries: 'count', cells: 'count' } as const;

type Fact = readonly [string, string];

const NAMES: Readonly<Record<string, string>> = { cpu: 'CPU' };

/** Between two readings while they are shown. */
const AGAIN_MS = 10_000;

/** What get_instance_state tells of an instance (HYPER III-A); read while it is shown, and when asked. */
export function InstanceFigures({ id }: { readonly id: string }) {
  const mayOperate = useMay('operator');
  const { data, dataUpdatedAt, error, isFetching, refetch } = useQuery({
    queryKey: ['instance-figures', id],
    enabled: mayOperate,
    refetchInterval: AGAIN_MS,
    queryFn: async ({ signal }) => {
      const told = await call('getNfInstanceState', { params: { id }, query: { limit: 1 } }, { signal });
      return { figures: told.figures, disk: diskIn(told.state), container: containerFacts(told.state) };
    },
  });
  if (!mayOperate) return null;
  return (
    <DetailSection title="State by its agent">
      <FormTrouble error={error} shown={[]} />
      {data && data.figures === null && <p className="muted">Its agent reports no figures.</p>}
      {data && <Facts items={[...factsOf(data.figures, data.disk), ...data.container]} />}
      {data && (
        <p className="muted">
          Read <RelativeTime t_ms={dataUpdatedAt} />
        </p>
      )}
      <Button variant="default" loading={isFetching && !data} onClick={() => void refetch()}>
        Read again
      </Button>
    </DetailSection>
  );
}

export function factsOf(figures: Figures | null, disk: DiskUse | null = null): Fact[] {
  const ofDisk = disk === null ? [] : diskFacts(disk);
  if (figures === null) return ofDisk;
  const { latency_us, throughput, workload, resources, not_measured, window_ms, emulated } = figures;
  const absent = (name: string) => `not measured: ${not_measured[name] ?? 'no reason given'}`;
  const rate = ({ pps, bps }: { pps: number; bps: number }) =>
    `${quantityText('pps', pps)}, ${quantityText('bps', bps)}`;
  return [
    [
      'Latency, p50 and p99',
      latency_us
        ? `${quantityText('us', latency_us.p50)}, ${quantityText('us', latency_us.p99)}`
        : absent('latency_us'),
    ],
    ['Throughput', throughput ? rate(throughput) : absent('throughput')],
    ['Workload', workload ? rate(workload) : absent('workload')],
    ...resources.map(({ resource, unit, used, total }): Fact => {
      const why = (name: 'used' | 'total') => not_measured[`${resource}.${name}`] ?? not_measured[resource];
      const text = (value: number) => (unit === 'cores' ? coresText(value) : quantityText(QUANTITIES[unit], value));
      const all = (value: number) => (unit === 'cores' ? amount(value, unit) : text(value));
      const taken = used === null ? (why('used') ?? 'unknown') : text(used);
      const unlimited = `${unit === 'cores' ? ' cores' : ''}, ${why('total') ?? 'no limit known'}`;
      const most = total === null ? unlimited : ` of ${all(total)}`;
      return [`Used of ${NAMES[resource] ?? resource}`, `${taken}${most}`];
    }),
    ...ofDisk,
    ...(window_ms > 0 ? ([['Measured over', quantityText('ms', window_ms)]] as const) : []),
    ...(emulated ? ([['Emulated', 'rates and latencies are of the emulation']] as const) : []),
  ];
}
