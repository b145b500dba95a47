import { Button, Select } from '@mantine/core';
import type { SwitchNode } from '@orrery/contract';
import { IconArrowBackUp } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { Link } from 'react-router';
import { useCapabilities, useOperations } from '../../../shared/api/queries.js';
import { useNeeds } from '../../../shared/api/session.js';
import { DRIVER_TITLES } from '../../../shared/switches/switch-text.js';
import { OperationBadge } from '../../../shared/ui/operation-badge.js';
import { RelativeTime } from '../../../shared/ui/relative-time.js';
import { type ChangeOfDriver, changeUnderWay, lastChange } from './driver-changes.js';
import classes from './driver-choice.module.css';
import type { DriverRequest } from './driver-dialog.js';

const DriverDialog = lazy(() => import('./driver-dialog.js'));

type Driver = SwitchNode['driver'];

/** What tells whether the twin can run a driver; Open vSwitch it always can. */
const CAPABILITY_OF: Partial<Record<Driver, string>> = { p4: 'p4-switch', bmv2: 'bmv2' };

interface DriverChoiceProps {
  readonly id: string;
  readonly title: string;
  readonly driver: Driver;
}

/** What a switch of the twin runs; the change to another by a plan that is shown first, its progress, and the way back. */
export function DriverChoice({ id, title, driver }: DriverChoiceProps) {
  const [request, setRequest] = useState<DriverRequest | null>(null);
  const refusal = useNeeds('admin');
  const missing = useMissingDrivers();
  const operations = useOperations().data?.items ?? [];
  const now = changeUnderWay(operations, id);
  const last = now ? null : lastChange(operations, id, driver);
  const obstacle = refusal ?? (now ? `${title} is being changed` : null);
  return (
    <div className={classes.choice}>
      <Select
        className={classes.select}
        size="xs"
        aria-label={`Driver of ${title}`}
        title={obstacle ?? undefined}
        disabled={obstacle !== null}
        allowDeselect={false}
        data={Object.entries(DRIVER_TITLES).map(([value, label]) => ({
          value,
          label: missing.has(value) ? `${label} (not available)` : label,
          disabled: missing.has(value),
        }))}
        value={driver}
        onChange={(value) => value && value !== driver && setRequest({ driver: value as Driver, isUndo: false })}
      />
      {now && <UnderWay change={now} />}
      {last && (
        <>
          <span className="muted">
            since <RelativeTime t_ms={last.operation.updated_ms} />, by {last.operation.by}
          </span>
          {refusal === null && (
            <Button
              variant="subtle"
              size="compact-xs"
              leftSection={<IconArrowBackUp size={14} aria-hidden />}
              title={`Change ${title} back to ${DRIVER_TITLES[last.from]}`}
              onClick={() => setRequest({ driver: last.from, isUndo: true })}
            >
              Undo
            </Button>
          )}
        </>
      )}
      {request && (
        <Suspense fallback={null}>
          <DriverDialog id={id} title={title} request={request} onClose={() => setRequest(null)} />
        </Suspense>
      )}
    </div>
  );
}

function UnderWay({ change: { from, to, operation } }: { readonly change: ChangeOfDriver }) {
  const isBack = operation.state === 'ROLLING_BACK';
  return (
    <span role="status">
      {isBack ? 'back' : 'changes'} to {DRIVER_TITLES[isBack ? from : to]}:{' '}
      <Link to={`/operations?op=${encodeURIComponent(operation.id)}`}>
        <OperationBadge operation={{ state: operation.state, cancelled_by: null }} />
      </Link>
    </span>
  );
}

function useMissingDrivers(): ReadonlySet<string> {
  const capabilities = useCapabilities().data ?? [];
  const isMissing = (name: string | undefined) => capabilities.some(({ id, available }) => id === name && !available);
  return new Set(Object.entries(CAPABILITY_OF).flatMap(([driver, name]) => (isMissing(name) ? [driver] : [])));
}
