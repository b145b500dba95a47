import type { SloStatus } from '@orrery/contract';
import { useSloAlerts } from '../../shared/api/queries.js';
import { countText } from '../../shared/format/number.js';
import { durationText } from '../../shared/format/time.js';
import { DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { ErrorState } from '../../shared/ui/states.js';
import { AlertList } from './alert-list.js';
import { burnText, complianceText, goalText, windowText } from './budget.js';
import { BudgetBar } from './budget-bar.js';

const MOST_ALERTS = 10;

/** The budget of an objective in figures. */
export function ObjectiveBudget({ budget }: Pick<SloStatus, 'budget'>) {
  if (!budget) return <p className="muted">Its seconds are not counted yet.</p>;
  const { goal, period_s, compliance, good_s, bad_s, unknown_s, burn } = budget;
  const duration = (seconds: number) => durationText(1000 * seconds);
  return (
    <DetailSection title={`Budget of ${windowText(period_s)}`}>
      <LastKnown>
        <BudgetBar budget={budget} />
      </LastKnown>
      <Facts
        items={[
          ['Compliance', `${complianceText(compliance)} of the judged time, goal ${goalText(goal)}`],
          ['Met', duration(good_s)],
          ['Missed', duration(bad_s)],
          ['Unknown', duration(unknown_s)],
          ...burn.map(({ window_s, rate }) => [`Burn rate, ${windowText(window_s)}`, burnText(rate)] as const),
        ]}
      />
    </DetailSection>
  );
}

/** The latest alerts of an objective. */
export function ObjectiveAlerts({ chain_id, slo_id }: Pick<SloStatus, 'chain_id' | 'slo_id'>) {
  const { data, error, refetch } = useSloAlerts();
  const own = (data ?? []).filter((alert) => alert.chain_id === chain_id && alert.slo_id === slo_id);
  return (
    <DetailSection title="Alerts">
      {error && !data ? (
        <ErrorState error={error} retry={() => refetch()} title="The alerts could not be read" />
      ) : own.length === 0 ? (
        <p className="muted">{data ? 'None.' : 'Loading…'}</p>
      ) : (
        <AlertList label={`Alerts of ${slo_id}`} alerts={own.slice(0, MOST_ALERTS)} />
      )}
      {own.length > MOST_ALERTS && <p className="muted">{countText(own.length - MOST_ALERTS)} earlier.</p>}
    </DetailSection>
  );
}
