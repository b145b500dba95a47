import { Button, MultiSelect, NumberInput } from '@mantine/core';
import type { P4Entries, P4Reading } from '@orrery/contract';
import { useState } from 'react';
import { FormTrouble } from '../../../shared/ui/form-trouble.js';
import { useChangeEntries } from './entries.js';
import classes from './p4.module.css';

interface GroupsProps {
  readonly switchId: string;
  readonly ports: readonly string[];
  readonly kept: P4Entries | undefined;
  readonly reading: P4Reading | undefined;
  readonly refusal: string | null;
}

/** Multicast groups: to which ports a packet is copied. */
export function Groups({ switchId, ports, kept, reading, refusal }: GroupsProps) {
  const [id, setId] = useState<number | string>(1);
  const [members, setMembers] = useState<string[]>([]);
  const change = useChangeEntries(switchId);
  const foreign = reading?.groups.filter(({ own }) => !own) ?? [];
  const without = (before: P4Entries, which: number) => before.groups.filter((group) => group.id !== which);
  return (
    <section className={classes.table} aria-label="Multicast groups">
      <h3 className={classes.title}>Multicast groups</h3>
      <ul>
        {kept?.groups.map((group) => (
          <li key={group.id}>
            {group.id}: {group.ports.join(', ')}{' '}
            <Button
              size="compact-xs"
              variant="default"
              disabled={refusal !== null}
              aria-label={`Remove group ${group.id}`}
              onClick={() => change.mutate((before) => ({ ...before, groups: without(before, group.id) }))}
            >
              Remove
            </Button>
          </li>
        ))}
        {foreign.map((group) => (
          <li key={`other ${group.id}`}>
            {group.id}: {group.ports.join(', ')} <span className="muted">of another controller</span>
          </li>
        ))}
      </ul>
      <div className={classes.cells}>
        <NumberInput label="Group" size="xs" w={90} min={1} max={65535} value={id} onChange={setId} />
        <MultiSelect label="Ports" size="xs" w={260} data={[...ports]} value={members} onChange={setMembers} />
        <Button
          size="xs"
          variant="default"
          loading={change.isPending}
          disabled={refusal !== null || typeof id !== 'number' || members.length === 0}
          onClick={() =>
            change.mutate((before) => ({
              ...before,
              groups: [...without(before, Number(id)), { id: Number(id), ports: members }],
            }))
          }
        >
          Set group
        </Button>
      </div>
      <FormTrouble error={change.error} shown={[]} />
    </section>
  );
}
