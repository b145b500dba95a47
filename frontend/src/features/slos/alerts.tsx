import { Button, SegmentedControl } from '@mantine/core';
import type { SloAlert } from '@orrery/contract';
import { useState } from 'react';
import { useSloAlerts } from '../../shared/api/queries.js';
import { countText } from '../../shared/format/number.js';
import { Panel } from '../../shared/page/page-header.js';
import { ErrorState } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { AlertList } from './alert-list.js';

const RESOLVED = 'resolved';
/** Resolved alerts that are listed until more are asked for. */
const MOST_AT_FIRST = 20;

interface AlertsProps {
  /** What each objective that runs asks for, by `<chain id>/<objective id>`. */
  readonly running: ReadonlyMap<string, string>;
}

/** Alerts, also of objectives that run no more: open ones, the worst first, or those that are over; nothing if there are none. */
export function Alerts({ running }: AlertsProps) {
  const { data, error, refetch } = useSloAlerts();
  const [state, setState] = useUrlParam('alerts');
  const [all, showAll] = useState(false);
  if (error && !data)
    return (
      <Panel title="Alerts">
        <ErrorState error={error} retry={() => refetch()} title="The alerts could not be read" />
      </Panel>
    );
  if (!data || data.length === 0) return null;
  const open = data.filter((alert) => alert.state === 'open');
  const resolved = data.filter((alert) => alert.state === RESOLVED).toSorted(lastFirst);
  const listed = state === RESOLVED ? resolved : open;
  const shown = state === RESOLVED && !all ? resolved.slice(0, MOST_AT_FIRST) : listed;
  const left = listed.length - shown.length;
  return (
    <Panel
      title="Alerts"
      actions={
        <SegmentedControl
          aria-label="Alerts that are shown"
          value={state === RESOLVED ? RESOLVED : ''}
          onChange={setState}
          data={[
            { value: '', label: `Open (${countText(open.length)})` },
            { value: RESOLVED, label: `Resolved (${countText(resolved.length)})` },
          ]}
        />
      }
    >
      {shown.length === 0 ? (
        <p className="muted">{state === RESOLVED ? 'No alert is over.' : 'No alert is open.'}</p>
      ) : (
        <AlertList label={state === RESOLVED ? 'Resolved alerts' : 'Open alerts'} alerts={shown} running={running} />
      )}
      {left > 0 && (
        <Button variant="subtle" size="compact-sm" mt="xs" onClick={() => showAll(true)}>
          Show {countText(left)} earlier
        </Button>
      )}
    </Panel>
  );
}

function lastFirst(a: SloAlert, b: SloAlert): number {
  return (b.resolved_ms ?? 0) - (a.resolved_ms ?? 0);
}
