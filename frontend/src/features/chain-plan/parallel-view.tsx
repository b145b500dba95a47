import type { ParallelForm, Plan } from '@orrery/contract';
import { useMemo } from 'react';
import { useChainTitle } from '../../shared/api/chains.js';
import { useDeployments, usePlan } from '../../shared/api/queries.js';
import { RUN_WORDS, runOptionsOf } from '../../shared/chain/run-options.js';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { isParallel } from '../../shared/parallel/why-sequential.js';
import { edgesOfClass } from '../../shared/plan/plan-text.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { quantityColumn } from '../../shared/table/quantity-column.js';
import { EmptyState } from '../../shared/ui/states.js';
import type { PlanAddress } from './address.js';
import { LeftOut, leftOutOf } from './left-out.js';
import { ownFirst } from './own-first.js';
import { FormDetail } from './parallel-form.js';
import classes from './plan.module.css';

interface ParallelProps {
  readonly plan: Plan;
  readonly chainId: string;
  readonly address: PlanAddress;
}

/** The parallel form of each line or path of NFs; for the selected one also its graph, conflicts and rejected alternatives. */
export function ParallelView({ plan, chainId, address }: ParallelProps) {
  const titleOf = useChainTitle();
  const forms = useMemo(() => ownFirst(plan.parallel, chainId), [plan, chainId]);
  const [first] = forms;
  const leftOut = <LeftOut plan={plan} part="parallelization" chainId={chainId} />;
  if (!first)
    return leftOutOf(plan, 'parallelization', chainId).length > 0 ? (
      leftOut
    ) : (
      <EmptyState title="Nothing to run in parallel">A chain needs a path with at least two NFs for it.</EmptyState>
    );
  const columns = formColumns(titleOf, plan);
  const form = forms.find(({ id }) => id === address.selected('form')) ?? first;
  return (
    <div className={classes.groups}>
      <p className={classes.honest}>
        <span className={classes.label}>predicted</span> A chain runs in this form if its execution is parallel;
        otherwise it could. <RunsNow chainId={chainId} />
      </p>
      {leftOut}
      <Panel title="Paths">
        <DataTable
          label="Parallel forms"
          columns={columns}
          rows={forms}
          rowKey={({ id }) => id}
          selectedKey={form.id}
          onSelect={({ id }) => address.select('form', id)}
        />
      </Panel>
      <FormDetail key={form.id} form={form} />
    </div>
  );
}

/** How the chain runs at present, whatever is planned; nothing of one that does not run. */
function RunsNow({ chainId }: Pick<ParallelProps, 'chainId'>) {
  const { data: deployments } = useDeployments();
  const deployment = deployments?.find(({ chain_id }) => chain_id === chainId);
  const { data: plan } = usePlan(deployment?.plan_id);
  if (!deployment || !plan) return null;
  return <>Now the chain runs {RUN_WORDS.execution[runOptionsOf(plan, chainId).execution]?.runs}.</>;
}

function savedShare({ sequential_us, latency_us }: ParallelForm): number {
  return sequential_us > 0 ? Math.max(0, 1 - latency_us / sequential_us) : 0;
}

function formColumns(titleOf: (id: string) => string, { chains }: Plan): readonly Column<ParallelForm>[] {
  const formed = new Set(chains.flatMap(({ chain_id, execution }) => (execution === 'parallel' ? [chain_id] : [])));
  const statusOf = (form: ParallelForm) =>
    isParallel(form) ? (formed.has(form.chain_id) ? 'planned' : 'possible') : 'in sequence';
  return [
    {
      id: 'path',
      title: 'Path',
      value: ({ chain_id }) => titleOf(chain_id),
      note: ({ id }) => <code className="muted"> {edgesOfClass(id)}</code>,
    },
    { id: 'form', title: 'Form', className: classes.words, value: ({ text }) => text },
    { id: 'status', title: 'Status', value: statusOf },
    quantityColumn({ id: 'sequential', title: 'Sequential', quantity: 'us', value: (form) => form.sequential_us }),
    quantityColumn({ id: 'parallel', title: 'Parallel', quantity: 'us', value: (form) => form.latency_us }),
    {
      id: 'saves',
      title: 'Saves',
      number: true,
      value: (form) => (form.reverted ? null : savedShare(form)),
      cell: (form) => (form.reverted ? '–' : quantityText('share', savedShare(form))),
    },
    { id: 'copies', title: 'Copies', number: true, value: ({ copies }) => copies },
  ];
}
