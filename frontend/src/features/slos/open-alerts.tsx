import { useSloAlerts } from '../../shared/api/queries.js';
import { Panel } from '../../shared/page/page-header.js';
import { ErrorState } from '../../shared/ui/states.js';
import { AlertList } from './alert-list.js';

/** Alerts that are open, the worst first; nothing where there is none. */
export function OpenAlerts() {
  const { data, error, refetch } = useSloAlerts();
  const open = (data ?? []).filter(({ state }) => state === 'open');
  if (error && !data)
    return (
      <Panel title="Open alerts">
        <ErrorState error={error} retry={() => refetch()} title="The alerts could not be read" />
      </Panel>
    );
  if (open.length === 0) return null;
  return (
    <Panel title="Open alerts">
      <AlertList label="Open alerts" alerts={open} named />
    </Panel>
  );
}
