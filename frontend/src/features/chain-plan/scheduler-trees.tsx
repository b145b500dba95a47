import type { ScheduleForm, SchedulerVertex } from '@orrery/contract';
import { IconArrowsSplit2, IconGauge, IconPlayerPlay, IconScale } from '@tabler/icons-react';
import { useMemo } from 'react';
import { quantityText } from '../../shared/format/quantity.js';
import tree from './schedule.module.css';
import { type SchedulerBranch, workerTrees } from './schedule-tree.js';

const ICONS: Record<SchedulerVertex['kind'], typeof IconScale> = {
  priority: IconArrowsSplit2,
  'weighted-fair': IconScale,
  'rate-limit': IconGauge,
  task: IconPlayerPlay,
};

function workerText(worker: number, everywhere: number | null, cores: ScheduleForm['cores'] = []): string {
  const at = cores[worker];
  if (at) return `${at.server}, core ${at.core}`;
  if (everywhere === null) return `worker ${worker}`;
  return everywhere === 1 ? 'the only worker' : `each of ${everywhere} workers, for its share of the flows`;
}

interface TreesProps {
  readonly vertices: readonly SchedulerVertex[];
  /** Number of workers with the same tree, each for its share of the flows; null: each has its own tree. */
  readonly everywhere: number | null;
  /** Of each worker; empty or absent if they are equal. */
  readonly cores?: ScheduleForm['cores'];
}

/** The scheduler tree of each worker. */
export function SchedulerTrees({ vertices, everywhere, cores }: TreesProps) {
  const workers = useMemo(() => workerTrees(vertices), [vertices]);
  return (
    <div className={tree.workers}>
      {workers.map(({ worker, roots }) => (
        <section key={worker} aria-label={`Scheduler of ${workerText(worker, everywhere, cores)}`}>
          <h3 className={tree.worker}>{workerText(worker, everywhere, cores)}</h3>
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
