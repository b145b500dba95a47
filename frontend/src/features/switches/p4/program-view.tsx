import type { SwitchState } from '@orrery/contract';
import { useP4Programs } from '../../../shared/api/queries.js';
import { useNeeds } from '../../../shared/api/session.js';
import { switchHealth } from '../../../shared/switches/switch-text.js';
import { ConfirmButton } from '../../../shared/ui/confirm-button.js';
import { notifyDone, notifyError } from '../../../shared/ui/notify.js';
import { EmptyState, ErrorState } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { Cells } from './cells.js';
import { exampleEntries, useChangeEntries, useP4Entries, useP4Tables } from './entries.js';
import { Groups } from './groups.js';
import classes from './p4.module.css';
import { TableView } from './table-view.js';

interface ProgramViewProps {
  readonly state: SwitchState;
  /** Of the program. */
  readonly name: string;
}

/** A switch with a P4 program of its own: whether it runs, and what its tables, groups, counters and registers hold. */
export function ProgramView({ state, name }: ProgramViewProps) {
  const { id, connected, observed } = state;
  const programs = useP4Programs();
  const program = programs.data?.find((one) => one.name === name);
  const kept = useP4Entries(id);
  const tables = useP4Tables(id, connected);
  const refusal = useNeeds('operator');
  const change = useChangeEntries(id);
  if (programs.isError) return <ErrorState error={programs.error} />;
  if (!program)
    return programs.isPending ? null : (
      <EmptyState title={`There is no P4 program ${name}`}>Choose another one for the switch on Topology.</EmptyState>
    );
  const { content, hash } = program;
  const { status, text } = switchHealth(state);
  const runs = tables.data?.hash === hash;
  const fill = async () => {
    try {
      const example = await exampleEntries(id);
      await change.mutateAsync(() => example);
      notifyDone(`${id} has the example entries of ${program.title}`);
    } catch (error) {
      notifyError('The entries are unchanged', error);
    }
  };
  return (
    <>
      <div className={classes.facts}>
        <StatusBadge state={runs ? 'running' : text} status={runs ? 'healthy' : status} />
        <span>
          {program.title} (<span className={classes.code}>{name}</span>)
        </span>
        <span className="muted">
          hash <span className={classes.code}>{hash.slice(0, 16)}</span>
        </span>
        {program.example && (
          <ConfirmButton
            size="compact-xs"
            loading={change.isPending}
            disabled={refusal !== null}
            message="Entries for the hosts at the ports of the switch take the place of those that are there."
            confirmLabel="Use example entries"
            onConfirm={fill}
          >
            Example entries…
          </ConfirmButton>
        )}
      </div>
      {observed?.error && <p role="alert">{observed.error}</p>}
      {tables.isError && <ErrorState error={tables.error} />}
      {content.tables.map((table) => (
        <TableView
          key={table.id}
          switchId={id}
          program={program}
          table={table}
          kept={kept.data}
          reading={tables.data}
          query={kept}
          refusal={refusal}
        />
      ))}
      <Groups
        switchId={id}
        ports={observed?.ports.map((port) => port.name) ?? []}
        kept={kept.data}
        reading={tables.data}
        refusal={refusal}
      />
      {content.arrays.length > 0 && runs && <Cells switchId={id} arrays={content.arrays} />}
    </>
  );
}
