import { sampleKey } from '@orrery/contract';

/** Packets, by the samples that add up to them. */
export interface Count {
  readonly plus: readonly string[];
  readonly minus: readonly string[];
}

/** A place that a class passes: a queue of a planned schedule, or an NF with all of its instances. */
export interface Point {
  readonly id: string;
  readonly kind: 'nf' | 'queue';
  /** Packets may wait in front of it, and be lost there. */
  readonly hasQueue: boolean;
  /** It tells packets of the chain from others: replies that pass it are not among them. */
  readonly counts: boolean;
  /** Of the chain's classes, those that pass it. */
  readonly classes: ReadonlySet<string>;
  /** That reached it, also those for which there was no room. */
  readonly taken: Count;
  /** For which there was room. */
  readonly served: Count;
  readonly passed: Count;
}

/** Where packets of a task wait. */
export interface TaskQueue {
  readonly id: string;
  /** As shown: `queue p.e1.queue`. */
  readonly title: string;
  readonly server: string;
  readonly core: number;
  readonly classes: ReadonlySet<string>;
  readonly waiting: string;
  readonly drops: string;
  readonly taken: Count;
  readonly served: Count;
}

/** What runs from one queue to the next ones: a task of a planned schedule, or an instance that is served in turn. */
export interface Task {
  readonly queue: TaskQueue;
  readonly nfs: readonly { readonly point: Point; readonly cpu: string }[];
  /** Share of its core that it used. */
  readonly cpu: string;
  /** Why that is not known; `null`: it is. */
  readonly unknownCpu: string | null;
}

/** The way of one class of packets through the tasks of a chain. */
export interface ClassWay {
  readonly id: string;
  readonly points: readonly Point[];
  readonly tasks: readonly Task[];
}

/** Of the instance's queue or of the queue itself; packets that an NF drops are served. */
export function packetsAt(kind: Point['kind'], ids: readonly string[]): Pick<Point, 'taken' | 'served' | 'passed'> {
  const keys = (metric: 'pps' | 'out_pps') =>
    ids.map((id) => (kind === 'nf' ? sampleKey('instance', id, metric) : sampleKey('module', id, metric)));
  const taken = { plus: keys('pps'), minus: [] };
  const passed = { plus: keys('out_pps'), minus: [] };
  if (kind === 'queue') return { taken, served: passed, passed };
  const full = ids.map((id) => sampleKey('instance', id, 'full_pps'));
  return { taken, served: { plus: taken.plus, minus: full }, passed };
}
