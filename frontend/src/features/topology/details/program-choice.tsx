import { Select } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { callFull } from '../../../shared/api/client.js';
import { useP4Programs } from '../../../shared/api/queries.js';
import { useNeeds } from '../../../shared/api/session.js';
import { ConfirmButton } from '../../../shared/ui/confirm-button.js';
import { notifyDone, notifyError } from '../../../shared/ui/notify.js';
import classes from './driver-choice.module.css';

/** Of the list, for the program of the fabric; no name of a program. */
const FABRIC = '';

interface ProgramChoiceProps {
  readonly id: string;
  readonly title: string;
  /** Null: that of the fabric. */
  readonly program: string | null;
}

/** What program a P4 switch of the twin runs, and the change to another. */
export function ProgramChoice({ id, title, program }: ProgramChoiceProps) {
  const [wanted, setWanted] = useState(program);
  const programs = useP4Programs().data ?? [];
  const queries = useQueryClient();
  const refusal = useNeeds('admin');
  const titleOf = (name: string | null) =>
    name === null ? 'the program of the fabric' : (programs.find((one) => one.name === name)?.title ?? name);
  const change = useMutation({
    mutationFn: (to: string | null) => changeProgram(id, to),
    onSuccess: (_, to) => notifyDone(`${title} changes to ${titleOf(to)}`),
    onError: (error) => {
      setWanted(program);
      notifyError(`${title} still runs ${titleOf(program)}`, error);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['infrastructure'] }),
  });
  return (
    <div className={classes.choice}>
      <Select
        className={classes.select}
        size="xs"
        aria-label={`P4 program of ${title}`}
        title={refusal ?? undefined}
        disabled={refusal !== null || change.isPending}
        allowDeselect={false}
        data={[
          { value: FABRIC, label: 'Fabric (carries chains)' },
          ...programs.map(({ name, title: label }) => ({ value: name, label: `${label} (${name})` })),
        ]}
        value={wanted ?? FABRIC}
        onChange={(value) => value !== null && setWanted(value === FABRIC ? null : value)}
      />
      {wanted !== program && (
        <ConfirmButton
          size="compact-xs"
          loading={change.isPending}
          message={
            wanted === null
              ? `${title} forwards for hosts and chains again, by the entries of the fabric.`
              : `${title} carries no chain and forwards only by the entries that you give it on Switches.`
          }
          confirmLabel={`Change to ${titleOf(wanted)}`}
          onConfirm={() => change.mutate(wanted)}
        >
          Change…
        </ConfirmButton>
      )}
    </div>
  );
}

/** Of the infrastructure as it is now: nothing else that somebody changed meanwhile is lost. */
async function changeProgram(id: string, to: string | null): Promise<void> {
  const { data, etag } = await callFull('getInfrastructure', {});
  const switches = data.switches.map((one) => {
    if (one.id !== id) return one;
    const { program: _, ...rest } = one;
    return to === null ? rest : { ...rest, program: to };
  });
  await callFull('putInfrastructure', { body: { ...data, switches } }, etag ? { ifMatch: etag } : {});
}
