import { Select } from '@mantine/core';
import type { Infrastructure, SwitchNode } from '@orrery/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { callFull } from '../../../shared/api/client.js';
import { useCapabilities } from '../../../shared/api/queries.js';
import { useNeeds } from '../../../shared/api/session.js';
import { DRIVER_TITLES } from '../../../shared/switches/switch-text.js';
import { ConfirmButton } from '../../../shared/ui/confirm-button.js';
import { notifyDone, notifyError } from '../../../shared/ui/notify.js';
import classes from './driver-choice.module.css';

type Driver = SwitchNode['driver'];

/** What tells whether the twin can run a driver; Open vSwitch it always can. */
const CAPABILITY_OF: Partial<Record<Driver, string>> = { p4: 'p4-switch', bmv2: 'bmv2' };

interface DriverChoiceProps {
  readonly id: string;
  readonly title: string;
  readonly driver: Driver;
}

/** What a switch of the twin runs, and the change to another. */
export function DriverChoice({ id, title, driver }: DriverChoiceProps) {
  const [wanted, setWanted] = useState<Driver>(driver);
  const queries = useQueryClient();
  const refusal = useNeeds('admin');
  const missing = useMissingDrivers();
  const change = useMutation({
    mutationFn: (to: Driver) => changeDriver(id, to),
    onSuccess: (_, to) => notifyDone(`${title} changes to ${DRIVER_TITLES[to]}`),
    onError: (error) => {
      setWanted(driver);
      notifyError(`${title} still runs ${DRIVER_TITLES[driver]}`, error);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['infrastructure'] }),
  });
  return (
    <div className={classes.choice}>
      <Select
        className={classes.select}
        size="xs"
        aria-label={`Driver of ${title}`}
        title={refusal ?? undefined}
        disabled={refusal !== null || change.isPending}
        allowDeselect={false}
        data={Object.entries(DRIVER_TITLES).map(([value, label]) => ({
          value,
          label: missing.has(value) ? `${label} (not available)` : label,
          disabled: missing.has(value),
        }))}
        value={wanted}
        onChange={(value) => value && setWanted(value as Driver)}
      />
      {wanted !== driver && (
        <ConfirmButton
          size="compact-xs"
          loading={change.isPending}
          message={`The links of ${title} are down while it changes to ${DRIVER_TITLES[wanted]}. Chains over it lose packets until their rules are there again, in a few seconds.`}
          confirmLabel={`Change to ${DRIVER_TITLES[wanted]}`}
          onConfirm={() => change.mutate(wanted)}
        >
          Change…
        </ConfirmButton>
      )}
    </div>
  );
}

function useMissingDrivers(): ReadonlySet<string> {
  const capabilities = useCapabilities().data ?? [];
  const isMissing = (name: string | undefined) => capabilities.some(({ id, available }) => id === name && !available);
  return new Set(Object.entries(CAPABILITY_OF).flatMap(([driver, name]) => (isMissing(name) ? [driver] : [])));
}

/** Of the infrastructure as it is now: nothing else that somebody changed meanwhile is lost. */
async function changeDriver(id: string, driver: Driver): Promise<void> {
  const { data, etag } = await callFull('getInfrastructure', {});
  const infrastructure: Infrastructure = data;
  const switches = infrastructure.switches.map((one) => (one.id === id ? { ...one, driver } : one));
  await callFull('putInfrastructure', { body: { ...infrastructure, switches } }, etag ? { ifMatch: etag } : {});
}
