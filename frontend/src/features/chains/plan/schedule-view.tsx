import type { ClassSlo, Plan, ScheduleForm, SchedulerVertex } from '@orrery/contract';
import { IconArrowsSplit2, IconGauge, IconPlayerPlay, IconScale } from '@tabler/icons-react';
import { useMemo } from 'react';
import { edgeLabel } from '../../../editor-model/diff.js';
import { edgeOf } from '../../../editor-model/graph.js';
import { useChainTitle } from '../../../shared/api/chains.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { classText, constraintText, cyclesText, expectedPps } from '../../../shared/plan/plan-text.js';
import { Panel } from '../../../shared/ui/page-header.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import type { PlanAddress } from './address.js';
import { BarTable } from './bar-table.js';
import { LeftOut, leftOutOf } from './left-out.js';
import { choiceLabel } from './options.js';
import { ownFirst } from './own-first.js';
import classes from './plan.module.css';
import tree from './schedule.module.css';
import { type SchedulerBranch, workerTrees } from './schedule-tree.js';

interface ScheduleProps {
  readonly plan: Plan;
  readonly pipelineId: string;
  readonly address: PlanAddress;
}

/** Tasks and scheduler of each chain, and how far they keep the objectives between its traffic classes. */
export function ScheduleView({ plan, pipelineId, address }: ScheduleProps) {
  const titleOf = useChainTitle();
  const schedules = useMemo(() => ownFirst(plan.schedules, pipelineId), [plan, pipelineId]);
  const [first] = schedules;
  const leftOut = <LeftOut plan={plan} part="scheduling" pipelineId={pipelineId} />;
  if (!first)
    return leftOutOf(plan, 'scheduling', pipelineId).length > 0 ? (
      leftOut
    ) : (
      <EmptyState title="Nothing to schedule">No traffic class is expected to carry packets.</EmptyState>
    );
  const chosen = schedules.find((each) => each.pipeline_id === address.selected('chain')) ?? first;
  return (
    <div className={classes.groups}>
      <p className={classes.honest}>
        <span className={classes.label}>planned</span> The engine serves its modules in turn so far.
      </p>
      {leftOut}
      {schedules.length > 1 && (
        <Panel title="Chains" flush>
          <table className="table" aria-label="Schedules">
            <thead>
              <tr>
                <th>Chain</th>
                <th>Schedule</th>
                <th className="number">Workers</th>
                <th className="number">Tasks</th>
                <th className="number">Idle share</th>
                <th className="number">Carries</th>
              </tr>
            </thead>
            <tbody>
              {schedules.map((each) => (
                <tr key={each.pipeline_id} data-clickable="true" data-selected={each === chosen || undefined}>
                  <td>
                    <button
                      type="button"
                      className="row-link"
                      aria-pressed={each === chosen}
                      onClick={() => address.select('chain', each.pipeline_id)}
                    >
                      {titleOf(each.pipeline_id)}
                    </button>
                  </td>
                  <td>
                    <StatusBadge
                      state={each.feasible ? 'ok' : 'failed'}
                      label={each.feasible ? choiceLabel('scheduling', each.strategy) : 'not feasible'}
                    />
                  </td>
                  <td className="number">{each.workers}</td>
                  <td className="number">{each.feasible ? each.tasks.length : '–'}</td>
                  <td className="number">{each.feasible ? quantityText('share', each.idle_share) : '–'}</td>
                  <td className="number">{each.feasible ? quantityText('pps', each.throughput_pps) : '–'}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Panel>
      )}
      {chosen.feasible ? (
        <Feasible plan={plan} schedule={chosen} />
      ) : (
        <Infeasible plan={plan} schedule={chosen} address={address} />
      )}
    </div>
  );
}

interface FormProps {
  readonly plan: Plan;
  readonly schedule: ScheduleForm;
}

/** Less of the expected packets than this is more than rounding. */
const CARRIED = 0.995;

function Feasible({ plan, schedule }: FormProps) {
  const expected = expectedPps(plan, schedule.pipeline_id);
  const busy = new Set(schedule.tree.map(({ worker }) => worker)).size;
  return (
    <>
      {schedule.throughput_pps < expected * CARRIED && (
        <p className={classes.warning} role="status">
          This schedule would carry {quantityText('share', schedule.throughput_pps / expected)} of the expected packets
          {schedule.replicated || busy === schedule.workers
            ? ''
            : `: its tasks are on ${busy === 1 ? 'one' : busy} of ${schedule.workers} workers`}
          .
        </p>
      )}
      <Panel
        title={`Scheduler: ${choiceLabel('scheduling', schedule.strategy)}, ${schedule.mode}`}
        actions={
          <span className="muted tabular">
            carries {quantityText('pps', schedule.throughput_pps)} of {quantityText('pps', expected)} expected,{' '}
            {quantityText('share', schedule.idle_share)} idle
          </span>
        }
      >
        <Trees vertices={schedule.tree} everywhere={schedule.replicated ? schedule.workers : null} />
      </Panel>
      <Panel title="Tasks" flush>
        <Tasks plan={plan} schedule={schedule} />
      </Panel>
      <Objectives plan={plan} schedule={schedule} />
    </>
  );
}

const ICONS: Record<SchedulerVertex['kind'], typeof IconScale> = {
  priority: IconArrowsSplit2,
  'weighted-fair': IconScale,
  'rate-limit': IconGauge,
  task: IconPlayerPlay,
};

function workerText(worker: number, everywhere: number | null): string {
  if (everywhere === null) return `worker ${worker}`;
  return everywhere === 1 ? 'the one worker' : `each of ${everywhere} workers, on its part of the flows`;
}

interface TreesProps {
  readonly vertices: readonly SchedulerVertex[];
  /** So many workers have the same tree, each for its part of the flows; null: each has its own. */
  readonly everywhere: number | null;
}

function Trees({ vertices, everywhere }: TreesProps) {
  const workers = useMemo(() => workerTrees(vertices), [vertices]);
  return (
    <div className={tree.workers}>
      {workers.map(({ worker, roots }) => (
        <section key={worker} aria-label={`Scheduler of ${workerText(worker, everywhere)}`}>
          <h3 className={tree.worker}>{workerText(worker, everywhere)}</h3>
          <ul className={tree.tree}>
            {roots.map((branch) => (
              <Branch key={branch.vertex.id} branch={branch} />
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

function Branch({ branch: { vertex, children, share } }: { readonly branch: SchedulerBranch }) {
  const Icon = ICONS[vertex.kind];
  return (
    <li>
      <span className={tree.vertex} data-kind={vertex.kind}>
        <Icon size={14} stroke={1.6} aria-hidden />
        <span>{vertex.label}</span>
        {vertex.level !== null && <span className={tree.badge}>level {vertex.level}</span>}
        {share !== null && (
          <span className={tree.badge}>
            weight {Number(vertex.weight!.toPrecision(3))}, {quantityText('share', share)}
          </span>
        )}
      </span>
      {children.length > 0 && (
        <ul>
          {children.map((child) => (
            <Branch key={child.vertex.id} branch={child} />
          ))}
        </ul>
      )}
    </li>
  );
}

function Tasks({ plan, schedule }: FormProps) {
  const part = (name: string, value: number) => ({ name, value, text: cyclesText(value) });
  return (
    <BarTable
      label="Tasks"
      head="Task"
      rows={schedule.tasks.map((task) => ({
        id: task.id,
        label: (
          <>
            <div>{task.modules.join(', ')}</div>
            <div className="muted">{task.classes.map((id) => classText(plan, id)).join('; ')}</div>
          </>
        ),
        parts: [
          part('Useful', task.useful_cycles_per_second),
          part('Idle', task.idle_cycles_per_second),
          part('Queues', task.overhead_cycles_per_second),
        ],
      }))}
    />
  );
}

const KINDS: Record<ClassSlo['kind'], string> = {
  'cpu-time': 'Processor time',
  throughput: 'Throughput',
  priority: 'Priority',
};

function objectiveOf(plan: Plan, pipelineId: string, sloId: string) {
  const definition = plan.pipelines.find(({ pipeline_id }) => pipeline_id === pipelineId)?.definition;
  return { definition, slo: definition?.class_slos.find(({ id }) => id === sloId) };
}

/** An objective between classes in words: `Processor time of A over B`. */
function objectiveText(plan: Plan, pipelineId: string, sloId: string): string {
  const { definition, slo } = objectiveOf(plan, pipelineId, sloId);
  if (!definition || !slo) return sloId;
  const name = (id: string) => {
    const edge = edgeOf(definition, id);
    return edge ? edgeLabel(definition, edge) : id;
  };
  return slo.kind === 'priority'
    ? `${name(slo.above)} before ${name(slo.below)}`
    : `${KINDS[slo.kind]} of ${name(slo.a)} over ${name(slo.b)}`;
}

/** Met although the ratio is another: both classes get all that they offer, so that there is nothing to divide. */
function nothingScarce({ wanted, predicted }: ScheduleForm['objectives'][number]): boolean {
  return predicted !== null && Math.abs(predicted / wanted - 1) > 0.011;
}

function Objectives({ plan, schedule }: FormProps) {
  const ratio = (id: string, value: number | null) => {
    if (objectiveOf(plan, schedule.pipeline_id, id).slo?.kind === 'priority')
      return value === 1 ? 'first' : 'not first';
    return value === null ? '–' : String(Number(value.toPrecision(3)));
  };
  return (
    <Panel title="Objectives between classes" flush>
      {schedule.objectives.length === 0 ? (
        <EmptyState title="No objectives between classes">
          Set one in the chain’s settings: processor time, throughput or priority of one class over another.
        </EmptyState>
      ) : (
        <table className="table" aria-label="Objectives between classes">
          <thead>
            <tr>
              <th>Objective</th>
              <th className="number">Wanted</th>
              <th className="number">Predicted</th>
              <th>Prediction</th>
            </tr>
          </thead>
          <tbody>
            {schedule.objectives.map((objective) => (
              <tr key={objective.slo_id}>
                <td className={classes.words}>
                  {objectiveText(plan, schedule.pipeline_id, objective.slo_id)}
                  <div className="muted">
                    <code>{objective.slo_id}</code>
                  </div>
                </td>
                <td className="number">{ratio(objective.slo_id, objective.wanted)}</td>
                <td className="number">{ratio(objective.slo_id, objective.predicted)}</td>
                <td>
                  <StatusBadge
                    state={objective.met ? 'met' : 'violated'}
                    label={
                      objective.met
                        ? nothingScarce(objective)
                          ? 'nothing is scarce: all get what they offer'
                          : 'will be met'
                        : 'will be missed'
                    }
                  />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

function Infeasible({ plan, schedule, address }: FormProps & { readonly address: PlanAddress }) {
  const constrained = schedule.mode === 'constrained';
  return (
    <Panel title="No schedule keeps the objectives between classes">
      {schedule.conflicts.map((conflict) => (
        <div key={`${conflict.constraint}${conflict.where}`} className={classes.conflict} role="alert">
          <p>{constraintText(conflict.classes.length > 0 ? { ...conflict, where: 'the classes below' } : conflict)}.</p>
          <dl>
            <ConflictRow name="Classes" items={conflict.classes.map((id) => classText(plan, id))} />
            <ConflictRow name="Share" items={conflict.modules.length > 0 ? [conflict.modules.join(', ')] : []} />
            <ConflictRow
              name="Objectives"
              items={conflict.slos.map((slo) => objectiveText(plan, schedule.pipeline_id, slo))}
            />
          </dl>
        </div>
      ))}
      <p className={classes.plain}>
        {constrained
          ? 'Choose a ratio nearer to what arrives. The free mode would meet it only by polling empty queues. '
          : 'Choose a ratio nearer to what arrives, or let the classes part at an earlier NF. '}
        {constrained && (
          <button
            type="button"
            className={classes.linkButton}
            onClick={() => address.setOptions({ ...address.options, scheduling_mode: 'free' })}
          >
            Try the free mode
          </button>
        )}
      </p>
    </Panel>
  );
}

function ConflictRow({ name, items }: { readonly name: string; readonly items: readonly string[] }) {
  if (items.length === 0) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {items.map((item) => (
          <div key={item}>{item}</div>
        ))}
      </dd>
    </>
  );
}
