import type { ScheduleForm, SloStatus } from '@orrery/contract';
import { SloState } from '../../shared/chain/slo-state.js';
import { errorText } from '../../shared/format/prediction.js';
import { quantityOfUnit } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { useSloRows } from '../../shared/stream/slo-rows.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { MeasuredText } from '../../shared/ui/rate-text.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { objectiveOf, plannedObjectiveText } from './class-objective-text.js';
import classes from './plan.module.css';
import type { ScheduleFormProps } from './schedule-props.js';

type Objective = ScheduleForm['objectives'][number];

/** Met despite a different ratio: both classes get everything they offer, so there is nothing to share. */
function nothingScarce({ wanted, predicted }: Objective): boolean {
  return predicted !== null && Math.abs(predicted / wanted - 1) > 0.011;
}

function predictionText(objective: Objective): string {
  if (!objective.met) return 'will be missed';
  return nothingScarce(objective) ? 'no contention: both get what they offer' : 'will be met';
}

interface MeasuredProps {
  readonly slo: SloStatus | undefined;
  readonly wanted: number;
}

/** What is measured of an objective between classes, and of a ratio how far it is from its target. */
function MeasuredObjective({ slo, wanted }: MeasuredProps) {
  if (!slo || slo.measured === null) return <span className="muted">–</span>;
  const quantity = quantityOfUnit(slo.unit);
  const error = quantity === 'count' && wanted > 0 ? errorText(slo.measured / wanted - 1) : null;
  return (
    <>
      <MeasuredText quantity={quantity} value={slo.measured} stale={slo.state === 'stale'} />
      {error && <div className="muted">{error}</div>}
    </>
  );
}

/** The objectives that one traffic class has relative to another. */
export function ClassObjectives({ plan, schedule: { chain_id, objectives } }: ScheduleFormProps) {
  const { rows: judged } = useSloRows();
  const statusOf = (id: string) => judged.find((slo) => slo.chain_id === chain_id && slo.slo_id === id);
  const ratio = (id: string, value: number | null) => {
    if (objectiveOf(plan, chain_id, id).slo?.kind === 'priority') return value === 1 ? 'first' : 'not first';
    return value === null ? '–' : String(Number(value.toPrecision(3)));
  };
  const isJudged = objectives.some(({ slo_id }) => statusOf(slo_id));
  const measured: readonly Column<Objective>[] = [
    {
      id: 'measured',
      title: 'Measured',
      number: true,
      cell: ({ slo_id, wanted }) => <MeasuredObjective slo={statusOf(slo_id)} wanted={wanted} />,
    },
    {
      id: 'state',
      title: 'State',
      cell: ({ slo_id }) => (
        <SloState slo={statusOf(slo_id)} definition={objectiveOf(plan, chain_id, slo_id).definition} />
      ),
    },
  ];
  const columns: readonly Column<Objective>[] = [
    {
      id: 'objective',
      title: 'Objective',
      className: classes.words,
      value: ({ slo_id }) => plannedObjectiveText(plan, chain_id, slo_id),
      cell: ({ slo_id }) => (
        <>
          {plannedObjectiveText(plan, chain_id, slo_id)}
          <div className="muted">
            <code>{slo_id}</code>
          </div>
        </>
      ),
    },
    {
      id: 'wanted',
      title: 'Target',
      number: true,
      value: ({ wanted }) => wanted,
      cell: ({ slo_id, wanted }) => ratio(slo_id, wanted),
    },
    {
      id: 'predicted',
      title: 'Predicted',
      number: true,
      value: ({ predicted }) => predicted,
      cell: ({ slo_id, predicted }) => ratio(slo_id, predicted),
    },
    {
      id: 'prediction',
      title: 'Prediction',
      value: predictionText,
      cell: (objective) => (
        <StatusBadge lasting state={objective.met ? 'met' : 'violated'} label={predictionText(objective)} />
      ),
    },
    ...(isJudged ? measured : []),
  ];
  return (
    <Panel title="Objectives between classes">
      <DataTable
        label="Objectives between classes"
        columns={columns}
        rows={objectives}
        rowKey={({ slo_id }) => slo_id}
        empty={
          <EmptyState title="No objectives between classes">
            Set one in the chain’s settings: CPU time, throughput or priority of one class over another.
          </EmptyState>
        }
      />
    </Panel>
  );
}
