import { Button } from '@mantine/core';
import { type MeasuredRequest, type RejectedInstance, type ServicePool, serviceRequestName } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from 'react-router';
import { call } from '../../shared/api/client.js';
import { useNeeds } from '../../shared/api/session.js';
import { amount, apart, constraintText } from '../../shared/plan/plan-text.js';
import { ConfirmButton } from '../../shared/ui/confirm-button.js';
import { DetailPanel, DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { notifyError } from '../../shared/ui/notify.js';
import { MeasuredText, RateText } from '../../shared/ui/rate-text.js';
import { Reason } from '../../shared/ui/reason.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { bookedBps, RequestState } from './columns.js';
import classes from './service-requests.module.css';

interface RequestDetailProps {
  readonly request: MeasuredRequest;
  readonly pool: ServicePool | undefined;
  readonly onClose: () => void;
}

/** The way of a request with the latencies of its stages, or why it has none, and what spoke against other instances. */
export function RequestDetail({ request, pool, onClose }: RequestDetailProps) {
  const { id, state, way, why, latency_us, throughput_bps, measured, nearest_us, rejected, functions } = request;
  const name = serviceRequestName(request);
  const queries = useQueryClient();
  const refusal = useNeeds('operator');
  const release = useMutation({
    mutationFn: () => call('deleteServiceRequest', { params: { id }, query: {} }),
    onError: (error) => notifyError('The request was not released', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['service-requests'] }),
  });
  const dismiss = useMutation({
    mutationFn: () => call('deleteServiceRequest', { params: { id }, query: { state: 'refused' } }),
    onSuccess: onClose,
    onError: (error) => notifyError('The request was not dismissed', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['service-requests'] }),
  });
  const holds = ['requested', 'deploying', 'active', 'late', 'broken'].includes(state);
  return (
    <DetailPanel title={name} label={`Service request ${name}`} onClose={onClose}>
      <Facts
        items={[
          ['State', <RequestState key="state" request={request} />],
          [
            'Asked',
            <span key="asked">
              <RelativeTime t_ms={request.created_ms} /> by {request.by}
            </span>,
          ],
          ['Functions', functions.join(', ')],
          ['Latency bound', <RateText key="bound" quantity="us" value={latency_us} inText />],
          ['Measured', <MeasuredText key="measured" quantity="us" value={measured.latency_us} inText />],
          [
            bookedBps(request) === null ? 'Asked for' : 'Booked',
            <RateText key="booked" quantity="bps" value={throughput_bps} inText />,
          ],
          ['Carried', <MeasuredText key="carried" quantity="bps" value={measured.bps} inText />],
          ['Id', <code key="id">{id}</code>],
        ]}
      />
      {state === 'late' && (
        <p role="status">Its packets take longer than its bound. Another way is looked for now and then.</p>
      )}
      {why !== null && (
        <DetailSection title="Why">
          <p>{why}</p>
          {nearest_us !== null && state === 'refused' && (
            <p>
              Through instances that have room, each by itself, the fastest way takes{' '}
              <RateText quantity="us" value={nearest_us} inText />.
            </p>
          )}
        </DetailSection>
      )}
      {way && (
        <DetailSection title={`Way w${way.number}`}>
          <Way request={request} />
          <p>
            When it was chosen it took <RateText quantity="us" value={way.latency_us} inText />.{' '}
            {pool && (
              <Link to={`/topology?chain=${pool.chain_id}&way=w${way.number}`}>Show the way in the topology</Link>
            )}
          </p>
        </DetailSection>
      )}
      {rejected.length > 0 && <Others rejected={rejected} bound_us={latency_us} />}
      {holds && (
        <Reason of={refusal}>
          <ConfirmButton
            disabled={refusal !== null}
            loading={release.isPending}
            message="What it has booked is free at once; its entries leave the switches with the next operation."
            confirmLabel="Release"
            onConfirm={() => release.mutate()}
          >
            Release
          </ConfirmButton>
        </Reason>
      )}
      {state === 'refused' && (
        <Reason of={refusal}>
          <Button
            variant="default"
            disabled={refusal !== null}
            loading={dismiss.isPending}
            onClick={() => dismiss.mutate()}
          >
            Dismiss
          </Button>
        </Reason>
      )}
      {request.operation_id !== null && (
        <p>
          <Link to={`/operations?op=${encodeURIComponent(request.operation_id)}`}>Open its operation</Link>
        </p>
      )}
    </DetailPanel>
  );
}

/** Hosts, instances with their places, and the exit, from left to right. */
function Way({ request: { from, way } }: Pick<RequestDetailProps, 'request'>) {
  return (
    <ol className={classes.way} aria-label="Stages">
      <li className={classes.end}>{from.join(', ')}</li>
      {way!.stages.map(({ instance, place, transit_us, processing_us, measured }) => (
        <li key={instance} className={classes.stage}>
          <strong>{instance}</strong>
          <span className="muted">{place}</span>
          <span>
            + <RateText quantity="us" value={transit_us} inText /> on the way
          </span>
          <span>
            + <RateText quantity="us" value={processing_us} inText /> {measured ? 'measured' : 'predicted'}
          </span>
        </li>
      ))}
      <li className={classes.end}>exit</li>
    </ol>
  );
}

/** A latency above the bound rules an instance out. Below it, the way that was chosen is faster, or just as fast. */
function spokeAgainst({ constraint }: RejectedInstance, bound_us: number): string {
  const { needed, available, unit } = constraint;
  if (constraint.constraint !== 'latency') return constraintText(constraint);
  const isLate = needed > bound_us;
  const figures = apart(needed, available, unit);
  if (figures === null && !isLate)
    return `Would do as well: the fastest way through it takes ${amount(needed, unit)}, too`;
  const [through, other] = figures ?? [amount(needed, unit), amount(available, unit)];
  return `The fastest way through it takes ${through}, ${isLate ? 'and the bound is' : 'the chosen one'} ${other}`;
}

interface OthersProps {
  readonly rejected: readonly RejectedInstance[];
  readonly bound_us: number;
}

function Others({ rejected, bound_us }: OthersProps) {
  return (
    <DetailSection title="Why not the others">
      <table className={classes.others}>
        <thead>
          <tr>
            <th>Instance</th>
            <th>What spoke against it</th>
          </tr>
        </thead>
        <tbody>
          {rejected.map((other) => (
            <tr key={other.instance}>
              <td>{other.instance}</td>
              <td>{spokeAgainst(other, bound_us)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </DetailSection>
  );
}
