import { type MeasuredRequest, type ServicePool, serviceRequestName } from '@orrery/contract';
import type { Column } from '../../shared/table/column.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { MeasuredText, RateText } from '../../shared/ui/rate-text.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { type Status, StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './service-requests.module.css';

const STATUS: Readonly<Record<MeasuredRequest['state'], Status>> = {
  requested: 'working',
  deploying: 'working',
  active: 'healthy',
  late: 'degraded',
  refused: 'degraded',
  broken: 'failed',
  released: 'idle',
};

export function wayText({ way }: Pick<MeasuredRequest, 'way'>): string {
  return way ? way.stages.map(({ instance }) => instance).join(' → ') : '';
}

/** What a request has of its pool; null: nothing is booked for it. */
export function bookedBps({ state, throughput_bps }: Pick<MeasuredRequest, 'state' | 'throughput_bps'>): number | null {
  return ['refused', 'broken', 'released'].includes(state) ? null : throughput_bps;
}

export function RequestState({ request: { state } }: { readonly request: Pick<MeasuredRequest, 'state'> }) {
  return <StatusBadge state={state} status={STATUS[state]} lasting={state === 'refused' || state === 'released'} />;
}

export const REQUEST_COLUMNS: readonly Column<MeasuredRequest>[] = [
  {
    id: 'class',
    title: 'Request',
    hint: 'Hosts that send, their packets, and the functions that these pass',
    className: classes.wide,
    value: serviceRequestName,
  },
  { id: 'state', title: 'State', value: ({ state }) => state, cell: (request) => <RequestState request={request} /> },
  {
    id: 'way',
    title: 'Way',
    className: classes.wide,
    value: (request) => wayText(request) || request.why,
    cell: (request) => wayText(request) || <span className="muted">{request.why ?? '–'}</span>,
  },
  {
    id: 'measured',
    title: 'Latency',
    hint: 'Medians of its instances and the links between them, over the last seconds',
    number: true,
    value: ({ measured }) => measured.latency_us,
    cell: ({ measured }) => <MeasuredText quantity="us" value={measured.latency_us} />,
  },
  {
    id: 'bound',
    title: 'Bound',
    number: true,
    value: ({ latency_us }) => latency_us,
    cell: ({ latency_us }) => <RateText quantity="us" value={latency_us} />,
  },
  {
    id: 'rate',
    title: 'Rate',
    hint: 'Of its packets at the switches',
    number: true,
    value: ({ measured }) => measured.bps,
    cell: ({ measured }) => <MeasuredText quantity="bps" value={measured.bps} />,
  },
  {
    id: 'booked',
    title: 'Booked',
    hint: 'Nothing for a request that is refused, broken or released',
    number: true,
    value: bookedBps,
    cell: (request) => <RateText quantity="bps" value={bookedBps(request)} />,
  },
  {
    id: 'asked',
    title: 'Asked',
    value: ({ created_ms }) => created_ms,
    cell: ({ created_ms }) => <RelativeTime t_ms={created_ms} />,
  },
  { id: 'pool', title: 'Pool', value: ({ pool }) => pool, hidden: true },
  { id: 'by', title: 'By', value: ({ by }) => by, hidden: true },
  { id: 'id', title: 'Id', value: ({ id }) => id, hidden: true },
];

export const INSTANCE_COLUMNS: readonly Column<ServicePool['instances'][number]>[] = [
  { id: 'instance', title: 'Instance', value: ({ id }) => id },
  {
    id: 'place',
    title: 'Runs on',
    value: ({ place, slot }) => (slot ? `${slot.board}, slot ${slot.slot}` : place),
  },
  {
    id: 'usable',
    title: 'State',
    value: ({ usable }) => (usable ? 'usable' : 'not usable'),
    cell: ({ usable, place }) => (
      <StatusBadge
        state={usable ? 'usable' : place === null ? 'deploying' : 'not usable'}
        status={usable ? 'healthy' : place === null ? 'working' : 'failed'}
      />
    ),
  },
  {
    id: 'latency',
    title: 'Latency',
    hint: 'Median of the last seconds, or what the model predicts',
    number: true,
    value: ({ latency_us }) => latency_us,
    cell: ({ latency_us, measured }) => (
      <>
        <MeasuredText quantity="us" value={latency_us} />
        {latency_us !== null && <span className={classes.below}>{measured ? 'measured' : 'predicted'}</span>}
      </>
    ),
  },
  {
    id: 'booked',
    title: 'Booked',
    number: true,
    value: ({ booked_bps }) => booked_bps,
    cell: ({ booked_bps }) => (
      <LastKnown word="">
        <RateText quantity="bps" value={booked_bps} />
      </LastKnown>
    ),
  },
  {
    id: 'rate',
    title: 'Can carry',
    number: true,
    value: ({ rate_bps }) => rate_bps,
    cell: ({ rate_bps }) => <RateText quantity="bps" value={rate_bps} />,
  },
  {
    id: 'measured',
    title: 'Carries',
    number: true,
    value: ({ measured_bps }) => measured_bps,
    cell: ({ measured_bps }) => <MeasuredText quantity="bps" value={measured_bps} />,
  },
];
