import type { Plan, ScheduleForm } from '@orrery/contract';
import { quantityText } from '../format/quantity.js';
import { copiesOf, jointsOf } from '../parallel/joints.js';
import { isParallel, whySequential } from '../parallel/why-sequential.js';
import { coresText, metText } from '../plan/plan-text.js';
import { gainOf, predictedLatency } from '../plan/predicted-latency.js';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import { runOptionsOf } from './run-options.js';
import classes from './switch-run.module.css';

interface RunEffectProps {
  readonly plan: Plan;
  /** The chain as it runs. */
  readonly base: Plan;
  readonly chainId: string;
}

interface Figure {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

const COLUMNS: readonly Column<Figure>[] = [
  { id: 'figure', title: 'Predicted', value: ({ name }) => name },
  { id: 'before', title: 'Now', number: true, value: ({ before }) => before },
  { id: 'after', title: 'Then', number: true, value: ({ after }) => after },
];

/** What another way to run changes for the chain, as predicted; and why nothing of it runs in parallel, if so. */
export function RunEffect({ plan, base, chainId }: RunEffectProps) {
  const [now, then] = [runOptionsOf(base, chainId), runOptionsOf(plan, chainId)];
  const forms = plan.parallel.filter(({ chain_id }) => chain_id === chainId);
  const isUseless = then.execution === 'parallel' && !forms.some(isParallel);
  return (
    <>
      <div className={classes.effect}>
        <DataTable
          label="Predicted change"
          columns={COLUMNS}
          rows={figuresOf(base, plan, chainId, now.schedule !== then.schedule)}
          rowKey={({ name }) => name}
        />
      </div>
      {isUseless &&
        forms.map((form) => (
          <p key={form.id} className={classes.warning} role="status">
            {whySequential(form)}
          </p>
        ))}
    </>
  );
}

export function figuresOf(base: Plan, plan: Plan, chainId: string, withSchedule: boolean): Figure[] {
  const figure = (name: string, text: (of: Plan) => string): Figure => ({
    name,
    before: text(base),
    after: text(plan),
  });
  const [now, then] = [predictedLatency(base, chainId), predictedLatency(plan, chainId)];
  const saved = gainOf(now?.mean_us, then?.mean_us);
  const copies = (of: Plan) =>
    runOptionsOf(of, chainId).execution === 'parallel'
      ? copiesOf(of.parallel.filter(({ chain_id }) => chain_id === chainId))
      : 0;
  const cores = (of: Plan) => jointsOf(of, chainId).reduce((sum, { core_share }) => sum + core_share, 0);
  const schedule = (text: (form: ScheduleForm) => string) => (of: Plan) => {
    const form = of.schedules.find(({ chain_id }) => chain_id === chainId);
    if (runOptionsOf(of, chainId).schedule === 'round-robin') return 'served in turn';
    return form?.feasible ? text(form) : '–';
  };
  return [
    figure('Latency, mean', (of) => quantityText('us', predictedLatency(of, chainId)?.mean_us)),
    figure('Latency, 99th percentile', (of) => quantityText('us', predictedLatency(of, chainId)?.p99_us)),
    ...(saved === null
      ? []
      : [{ name: saved < 0 ? 'Longer by' : 'Shorter by', before: '', after: quantityText('share', Math.abs(saved)) }]),
    figure('Copies of each packet', (of) => String(copies(of))),
    figure('Cores for mirrors and merges', (of) => coresText(cores(of))),
    ...(withSchedule
      ? [
          figure(
            'Class objectives met',
            schedule(({ objectives }) => metText(objectives)),
          ),
          figure(
            'CPU spent on empty queues',
            schedule(({ idle_share }) => quantityText('share', idle_share)),
          ),
        ]
      : []),
  ];
}
